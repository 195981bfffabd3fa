package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/durable"
)

func openWriter(t testing.TB, dir string, o Options) *Writer {
	t.Helper()
	w, err := OpenWriter(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.file.Close() })
	return w
}

func closeWriter(t testing.TB, w *Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func written(t testing.TB, o Options, parts ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "log")
	w := openWriter(t, dir, o)
	for _, p := range parts {
		if n, err := w.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	closeWriter(t, w)
	return dir
}

func copied(t testing.TB, dir string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Copy(&out, dir); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestSecretOverWrites(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	text := "key " + secret + " and c2stMDEyMzQ1Njc4OWFiY2RlZg== end sk-0"
	for step := 1; step < len(text); step++ {
		dir := written(t, Options{Secrets: []string{secret}, Segment: 16}, slices.Collect(pieces(text, step))...)
		if got := copied(t, dir); got != "key **** and **** end sk-0" {
			t.Fatalf("by %d: %q", step, got)
		}
	}
}

// A line of ours between the halves of a secret does not let them through, and cannot hold one itself.
func TestMarkAndSecrets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	var seen bytes.Buffer
	w := openWriter(t, dir, Options{Secrets: []string{"hunter2"}, See: func(p []byte) { seen.Write(p) }})
	fmt.Fprint(w, "password: hun")
	w.Mark("could not start\nwith hunter2")
	fmt.Fprint(w, "ter2\nhunt")
	w.Flush()
	w.Mark("the end")
	closeWriter(t, w)
	if got, want := copied(t, dir), "password: \n[assay: could not start with ****]\n****\nhunt\n[assay: the end]\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := seen.String(); got != "password: ****\nhunt" {
		t.Errorf("seen %q", got)
	}
}

// The writer's bound, the reader's gap, and what Copy says of it, by one text of known lines.
func TestHeadAndTail(t *testing.T) {
	for _, step := range []int{0, 3000, 50_000} { // bytes of a write; 0: by line
		t.Run(fmt.Sprint(step), func(t *testing.T) { headAndTail(t, step) })
	}
}

func headAndTail(t *testing.T, step int) {
	const bound, segment, lines = 64 << 10, 4 << 10, 10_000
	dir := filepath.Join(t.TempDir(), "log")
	w := openWriter(t, dir, Options{Bound: bound, Segment: segment})
	var whole, block []byte
	for i := range lines {
		whole, block = append(whole, numbered(i)...), append(block, numbered(i)...)
		if len(block) >= step || i == lines-1 {
			_, _ = w.Write(block)
			block = block[:0]
		}
		if i%50 == 0 && diskUse(t, dir) > bound+segment {
			t.Fatalf("%d bytes on the disk after %d lines", diskUse(t, dir), i)
		}
	}
	closeWriter(t, w)
	text := copied(t, dir)
	head, rest, _ := strings.Cut(text, "[assay: ")
	cut, tail, _ := strings.Cut(rest, "]\n")
	if !strings.HasPrefix(string(whole), head) || len(head) < bound/2-segment || !strings.HasSuffix(head, "\n") {
		t.Errorf("head of %d bytes: %q", len(head), head[max(0, len(head)-30):])
	}
	if !strings.HasSuffix(string(whole), tail) || len(tail) < bound/2-3*segment || !strings.HasPrefix(tail, "line ") {
		t.Errorf("tail of %d bytes: %.30q", len(tail), tail)
	}
	left := whole[len(head) : len(whole)-len(tail)]
	if want := fmt.Sprintf("%d bytes of output are left out here, %d lines", len(left), bytes.Count(left, newline)); cut != want {
		t.Errorf("%q, want %q", cut, want)
	}
	c, err := Read(dir, int64(len(head)), 1<<10, false)
	if err != nil || c.Gap != int64(len(left)) || !strings.HasPrefix(string(c.Data), fmt.Sprintf("line %d ", c.Line)) {
		t.Errorf("behind the gap: %d left out, line %d: %.40q, %v", c.Gap, c.Line, c.Data, err)
	}
	hits, next, err := Search(t.Context(), dir, "line ", 0, lines)
	if err != nil || next != 0 || len(hits) != strings.Count(head+tail, "\n") {
		t.Fatalf("%d hits, %v", len(hits), err)
	}
	for _, h := range hits {
		if !strings.HasPrefix(h.Text, fmt.Sprintf("line %d ", h.Line-1)) || !bytes.HasPrefix(whole[h.Offset:], []byte(h.Text)) {
			t.Fatalf("%+v", h)
		}
	}
}

// A line longer than the bound, of characters that no segment can hold evenly and that writes split.
func TestOneEndlessLine(t *testing.T) {
	text := strings.Repeat("€", 6402)
	for _, segment := range []int64{997, 998, 999, 1000} {
		for _, step := range []int{1, 2, 1000, 3003, len(text)} {
			endlessLine(t, text, step, segment)
		}
	}
}

func endlessLine(t *testing.T, text string, step int, segment int64) {
	dir := written(t, Options{Bound: 8000, Segment: segment}, slices.Collect(pieces(text, step))...)
	head, rest, _ := strings.Cut(copied(t, dir), "\n[assay: ")
	cut, tail, _ := strings.Cut(rest, "]\n")
	left, _, _ := strings.Cut(cut, " ")
	n, err := strconv.Atoi(left)
	if err != nil || len(head)+n+len(tail) != len(text) || !strings.HasSuffix(cut, ", 0 lines") {
		t.Errorf("%d by %d: %d + %s + %d", segment, step, len(head), cut, len(tail))
	}
	if strings.Trim(tail, "€") != "" || strings.Trim(head, "€") != "€"[:len(head)%3] || tail == "" || head == "" {
		t.Errorf("%d by %d: half characters: %q, %q", segment, step, strings.Trim(head, "€"), strings.Trim(tail, "€"))
	}
	hits, _, err := Search(t.Context(), dir, "€€", 0, 10) // head and tail are not one
	if err != nil || len(hits) != 2 || hits[0].Offset != 0 || hits[1].Offset != int64(len(head)+n) || hits[1].Line != 1 {
		t.Errorf("%d by %d: found %+v, %v", segment, step, hits, err)
	}
}

func pieces(text string, step int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest := text; rest != ""; rest = rest[min(step, len(rest)):] {
			if !yield(rest[:min(step, len(rest))]) {
				return
			}
		}
	}
}

// A line of ours begins a line, whoever wrote before and whatever ended it.
func TestMarkAfterOpening(t *testing.T) {
	for text, want := range map[string]string{"": "", "half": "half\n", "line\n": "line\n"} {
		dir := written(t, Options{}, text)
		if text != "" { // ended between making a segment and writing to it
			next := segment{offset: int64(len(text)), line: int64(strings.Count(text, "\n"))}
			if err := os.WriteFile(filepath.Join(dir, next.name()), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w := openWriter(t, dir, Options{})
		w.Mark("attempt 2")
		closeWriter(t, w)
		if got := copied(t, dir); got != want+"[assay: attempt 2]\n" {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestGoesOnAfterCrash(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	cmd, _ := play(t, "write", dir)
	eventually(t, "a log of some size", func() bool {
		st, err := Size(dir)
		return err == nil && st.Bytes > 300<<10
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	before := copied(t, dir)
	w := openWriter(t, dir, Options{Segment: 64 << 10})
	w.Mark("attempt 2")
	closeWriter(t, w)
	text := copied(t, dir)
	rest, ok := strings.CutPrefix(text, before)
	if !ok || strings.TrimPrefix(rest, "\n") != "[assay: attempt 2]\n" {
		t.Fatalf("after the crash: %q", rest)
	}
	var want strings.Builder
	for i := 0; want.Len() < len(before); i++ {
		want.WriteString(numbered(i))
	}
	if !strings.HasPrefix(want.String(), before) {
		t.Error("what was stored is not what was written")
	}
}

func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	cmd, out := play(t, "full", dir)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var f filled
	if err := json.Unmarshal([]byte(out.String()), &f); err != nil {
		t.Fatal(err)
	}
	if f.Closing != "" || f.Longest > time.Second {
		t.Errorf("%+v", f)
	}
	text := copied(t, dir)
	said, output := int64(0), text
	for _, m := range regexp.MustCompile(`\n?\[assay: (\d+) bytes of output could not be stored here: file too large\]\n`).FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		said += n
		output = strings.Replace(output, m[0], "", 1)
	}
	const all = 20_000*11 + 6
	if said != f.Stat.Missed || said == 0 || strings.Contains(output, "assay") || int64(len(output))+said != all {
		t.Errorf("said %d, missed %d, stored %d of %d", said, f.Stat.Missed, len(output), all)
	}
	if !strings.HasSuffix(text, "]\nafter\n") || !strings.HasPrefix(text, "0123456789\n0123456789\n") {
		t.Errorf("%.30q … %q", text, text[max(0, len(text)-100):])
	}
	if strings.Count(text, "[assay: ") < 2 {
		t.Error("the notice was not cut in the middle once: the test shows less than it should")
	}
}

func TestDiskFullForEver(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	cmd, out := play(t, "full for ever", dir)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var f filled
	if err := json.Unmarshal([]byte(out.String()), &f); err != nil {
		t.Fatal(err)
	}
	const missed = 20_000*11 - 10_000
	if want := fmt.Sprintf("close log: %d bytes of output could not be stored: file too large", missed); f.Closing != want || f.Longest > time.Second {
		t.Errorf("%+v", f)
	}
	text := copied(t, dir)
	if want := fmt.Sprintf("0\n[assay: %d bytes of output could not be stored here: file too large]\n", missed); !strings.HasSuffix(text, want) {
		t.Errorf("%q, want %q at its end", text[max(0, len(text)-150):], want)
	}
	if got, err := Size(dir); err != nil || got.Bytes != f.Stat.Bytes || got.Lines != f.Stat.Lines || diskUse(t, dir) != int64(len(text)) {
		t.Errorf("%+v %v, the writer says %+v; %d bytes are used", got, err, f.Stat, diskUse(t, dir))
	}
}

// What is stored is durable when the log is closed: every segment before its follower's name is told of, the
// last one and all names at the end. Who writes waits for no disk.
func TestALogIsDurable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "above", "log")
	var mu sync.Mutex
	var steps []string
	slow := make(chan struct{})
	w := openWriter(t, dir, Options{Segment: 10, Disk: durable.Disk{Sync: func(f *os.File) error {
		if filepath.Base(f.Name()) == (segment{}).name() {
			<-slow // the disk is busy
		}
		mu.Lock()
		defer mu.Unlock()
		steps = append(steps, filepath.Base(f.Name()))
		return f.Sync()
	}}})
	fmt.Fprint(w, "123456789\n123456789\nend")
	close(slow)
	closeWriter(t, w)
	want := []string{filepath.Base(filepath.Dir(filepath.Dir(dir))), "above", // the folder's own name
		segment{}.name(), "log", segment{offset: 10, line: 1}.name(), "log", segment{offset: 20, line: 2}.name(), "log"}
	if !slices.Equal(steps, want) {
		t.Errorf("%q, want %q", steps, want)
	}
	w = openWriter(t, dir, Options{Segment: 10, Disk: durable.Disk{Sync: func(f *os.File) error {
		if strings.HasPrefix(filepath.Base(f.Name()), "0") {
			return errors.New("the disk is broken")
		}
		return nil
	}}})
	fmt.Fprint(w, "\n123456789\nend")
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "the disk is broken") {
		t.Errorf("%v", err)
	}
}

// The folder goes away under the writer: it goes on when it is back.
func TestNoNewSegment(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	w := openWriter(t, dir, Options{Segment: 10})
	fmt.Fprint(w, "123456789\n")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, "lost\n")
	if got := w.Stat(); got.Missed != 5 || got.Bytes != 10 {
		t.Errorf("%+v", got)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, "back\n")
	closeWriter(t, w)
	if got := copied(t, dir); got != "[assay: 10 bytes of output are left out here, 1 lines]\n[assay: 5 bytes of output could not be stored here: no such file or directory]\nback\n" {
		t.Errorf("%q", got)
	}
}

func TestForeignFilesAreNoSegments(t *testing.T) {
	dir := written(t, Options{}, "text\n")
	for _, name := range []string{"1-2", "+0000000000000000001-000000000000", "notes-a", "00000000000000000005-1", "00000000000000000005-000000000001.tmp", "-"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("no"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := copied(t, dir); got != "text\n" {
		t.Errorf("%q", got)
	}
}

// A gigabyte goes through: memory, disk and time stay bounded and the tail is right.
func TestGigabyte(t *testing.T) {
	const bound, gigabyte = 16 << 20, 1 << 30
	dir := filepath.Join(t.TempDir(), "log")
	w := openWriter(t, dir, Options{Bound: bound, Secrets: manySecrets()})
	block := chatty(256 << 10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, longest := time.Now(), time.Duration(0)
	most := int64(0)
	for i := 0; i < gigabyte; i += len(block) {
		at := time.Now()
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, time.Since(at))
		if i%(64*len(block)) == 0 {
			most = max(most, diskUse(t, dir))
		}
	}
	closeWriter(t, w)
	runtime.ReadMemStats(&after)
	t.Logf("1 GiB in %v, slowest write %v, %d KiB allocated, at most %d MiB stored", time.Since(began), longest, (after.TotalAlloc-before.TotalAlloc)>>10, most>>20)
	if most > bound+bound/8 || after.TotalAlloc-before.TotalAlloc > 16<<20 || longest > time.Second {
		t.Errorf("too much")
	}
	c, err := Tail(dir, 3, 1<<20)
	if err != nil || !bytes.HasSuffix(block, c.Data) || bytes.Count(c.Data, newline) != 3 {
		t.Errorf("tail %q, %v", c.Data, err)
	}
	if st, err := Size(dir); err != nil || st.Bytes != w.Stat().Bytes || st.Dropped != st.Bytes-diskUse(t, dir) {
		t.Errorf("%+v, %v", st, err)
	}
}

func manySecrets() []string {
	return []string{"sk-proj-0123456789abcdefghijklmnop", "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz012345", "postgres://assay:s3cr3t@db/assay", "AKIAIOSFODNN7EXAMPLE", "hunter2hunter2"}
}

// chatty is what a harness prints: lines of about 90 bytes, colours, now and then a secret.
func chatty(size int) (out []byte) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := 0; len(out) < size; i++ {
		out = fmt.Appendf(out, "2026-01-02T03:04:05.%06dZ \x1b[32mINFO\x1b[0m case %d/1000 score=%.3f model=sonnet tokens=%d\n", r.IntN(1e6), i, r.Float64(), r.IntN(4000))
		if i%100 == 0 {
			out = append(out, "Authorization: Bearer sk-proj-0123456789abcdefghijklmnop\n"...)
		}
	}
	return out
}
