package logs

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// model is a log that keeps all in memory and knows where a chunk may end, because it made the text.
type model struct {
	dir     string
	o       Options
	w       *Writer
	whole   []byte
	edges   map[int64]bool
	largest int64 // segment so far
	crashed bool  // the end may lie inside a character
}

var tokens = []string{
	"a", "word ", "\n", "\n", "\n", "ä", "€", "💡", "\x1b[31m", "\x1b[0m", "\x1b(B", "\r", "\x1b]8;;http://x\x1b\\", "\x1b]0;title\x07",
	strings.Repeat("x", 70), "a line\n", "\x1b[38;5;196m",
}

// text draws tokens and remembers their edges as of what is stored already.
func (m *model) text(t *rapid.T) (text []byte) {
	if m.crashed { // what begins anew after a crash begins on a line
		text, m.crashed = append(text, '\n'), false
	}
	for _, s := range rapid.SliceOfN(rapid.SampledFrom(tokens), 1, 40).Draw(t, "tokens") {
		for i := range s { // what is no sequence may be cut before every character
			m.edges[m.end()+int64(len(text)+i)] = i == 0 || s[0] != escape
		}
		text = append(text, s...)
	}
	m.edges[m.end()+int64(len(text))] = true
	return text
}

func (m *model) end() int64 { return int64(len(m.whole)) }

func (m *model) open(t *rapid.T) {
	m.o.Segment = rapid.Int64Range(max(1, m.o.Bound/50), 300).Draw(t, "segment")
	w, err := OpenWriter(m.dir, m.o)
	if err != nil {
		t.Fatal(err)
	}
	m.w = w
	m.largest = max(m.largest, w.o.Segment)
}

// write stores a text by random writes. A chunk may only be asked for between whole texts here: TestFollow
// asks while it grows.
func (m *model) write(t *rapid.T) {
	text := m.text(t)
	m.whole = append(m.whole, text...)
	for len(text) > 0 {
		n := rapid.IntRange(1, len(text)).Draw(t, "write")
		if got, err := m.w.Write(text[:n]); got != n || err != nil {
			t.Fatal(got, err)
		}
		text = text[n:]
		m.check(t)
	}
}

// crash ends the writer with no word, some of a write done.
func (m *model) crash(t *rapid.T) {
	m.w.file.Close()
	text := m.text(t)
	text = text[:rapid.IntRange(0, len(text)).Draw(t, "done")]
	last := m.w.list[len(m.w.list)-1]
	text = text[:min(int64(len(text)), max(0, m.w.o.Segment-last.size))]
	f, err := os.OpenFile(filepath.Join(m.dir, last.name()), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(text); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for i := range int64(len(text)) + 1 {
		m.edges[m.end()+i] = true // a half token is broken for ever: it may be cut anywhere
	}
	m.whole = append(m.whole, text...)
	for at := range m.edges {
		m.edges[at] = m.edges[at] && at <= m.end()
	}
	if rapid.Bool().Draw(t, "in rotate") && last.size+int64(len(text)) > 0 {
		next := segment{offset: m.end(), line: int64(bytes.Count(m.whole, newline))}
		if err := os.WriteFile(filepath.Join(m.dir, next.name()), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m.crashed = true
	m.open(t)
}

// stored reads the folder by itself: which bytes there are.
func (m *model) stored(t *rapid.T) []bool {
	has := make([]bool, m.end())
	files, err := filepath.Glob(filepath.Join(m.dir, "*-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		offset, line, _ := strings.Cut(filepath.Base(name), "-")
		o, _ := strconv.Atoi(offset)
		l, _ := strconv.Atoi(line)
		if o+len(data) > len(m.whole) || !bytes.Equal(data, m.whole[o:o+len(data)]) {
			t.Fatalf("segment %s holds %q", filepath.Base(name), data)
		}
		if want := bytes.Count(m.whole[:o], newline); l != want {
			t.Fatalf("segment %s begins with line %d, want %d", filepath.Base(name), l, want)
		}
		for i := range data {
			if has[o+i] {
				t.Fatalf("byte %d is stored twice", o+i)
			}
			has[o+i] = true
		}
	}
	return has
}

// check is cheap and done after every write: the bound.
func (m *model) check(t *rapid.T) {
	list, err := measured(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for _, s := range list {
		total += s.size
	}
	if total > m.o.Bound+m.largest {
		t.Fatalf("%d bytes stored, the bound is %d and a segment %d", total, m.o.Bound, m.largest)
	}
}

// look compares everything that can be asked with the model.
func (m *model) look(t *rapid.T) {
	has := m.stored(t)
	kept := 0
	for _, h := range has {
		if h {
			kept++
		}
	}
	if i := slices.Index(has, false); i >= 0 { // head and tail
		if int64(i) < m.o.Bound/2-m.largest {
			t.Fatalf("the head is %d bytes of the bound %d, segments are %d", i, m.o.Bound, m.largest)
		}
		tail := slices.Index(has[i:], true)
		if got := m.end() - int64(i+tail); tail < 0 || got < m.o.Bound/2-3*m.largest || slices.Contains(has[i+tail:], false) {
			t.Fatalf("the tail is %d bytes of the bound %d, segments are %d", got, m.o.Bound, m.largest)
		}
	}
	want := Stat{Bytes: m.end(), Lines: int64(bytes.Count(m.whole, newline)), Dropped: m.end() - int64(kept)}
	if got, err := Size(m.dir); err != nil || got != want {
		t.Fatalf("size %+v, want %+v, %v", got, want, err)
	}
	if got := m.w.Stat(); got != want {
		t.Fatalf("stat %+v, want %+v", got, want)
	}
	m.lookAtChunks(t, has)
	m.lookAtTail(t, has)
	m.lookAtLines(t, has)
}

func (m *model) lookAtChunks(t *rapid.T, has []bool) {
	at := rapid.Int64Range(0, m.end()+3).Draw(t, "offset")
	most := rapid.IntRange(1, 200).Draw(t, "most")
	whole := rapid.Bool().Draw(t, "whole")
	goOn := reader{dir: m.dir, at: at, line: -1, reuse: true}
	for {
		c, err := Read(m.dir, at, most, whole)
		if err != nil {
			t.Fatal(err)
		}
		m.same(t, c, at, has, most, whole)
		if next, err := goOn.next(most, whole); err != nil || next.From != c.From || next.To != c.To || next.Line != c.Line || next.Gap != c.Gap || !bytes.Equal(next.Data, c.Data) {
			t.Fatalf("a reader that goes on says %+v, %v; one that begins %+v", next, err, c)
		}
		if len(c.Data) == 0 {
			break
		}
		at = c.To
	}
	if left := m.end() - at; left > 0 && (whole || !m.crashed && m.edges[m.end()]) {
		t.Fatalf("%d bytes at the end are never told", left)
	}
}

// same compares a chunk with the model.
func (m *model) same(t *rapid.T, c Chunk, at int64, has []bool, most int, whole bool) {
	if c.From != at+c.Gap || c.To != c.From+int64(len(c.Data)) {
		t.Fatalf("asked for %d: %+v", at, c)
	}
	if c.To > m.end() {
		if c.From != at || len(c.Data) > 0 {
			t.Fatalf("beyond the end: %+v", c)
		}
		return
	}
	if !bytes.Equal(c.Data, m.whole[c.From:c.To]) {
		t.Fatalf("[%d,%d) is %q, want %q", c.From, c.To, c.Data, m.whole[c.From:c.To])
	}
	if want := int64(bytes.Count(m.whole[:c.From], newline)); c.Line != want {
		t.Fatalf("line of %d is %d, want %d", c.From, c.Line, want)
	}
	if c.Gap > 0 && slices.Contains(has[at:max(at, c.From-3)], true) {
		t.Fatalf("%d of what follows %d was left out, which is there", c.Gap, at)
	}
	if len(c.Data) > max(most, 30) {
		t.Fatalf("%d bytes, asked for %d", len(c.Data), most)
	}
	beforeGap := c.To < m.end() && !has[c.To]
	atEnd := c.To == m.end() && (whole || m.crashed)
	if len(c.Data) > 0 && !m.edges[c.To] && !beforeGap && !atEnd && m.edges[c.From] {
		t.Fatalf("a chunk ends in the middle: %q | %q", m.whole[c.From:c.To], m.whole[c.To:min(c.To+20, m.end())])
	}
}

func (m *model) lookAtTail(t *rapid.T, has []bool) {
	lines, most := rapid.IntRange(0, 30).Draw(t, "lines"), rapid.IntRange(1, 500).Draw(t, "tail")
	c, err := Tail(m.dir, lines, most)
	if err != nil {
		t.Fatal(err)
	}
	to := m.end()
	begin := to
	for n := 0; begin > 0 && has[begin-1] && to-begin < int64(most) && lines > 0; begin-- {
		if m.whole[begin-1] == '\n' && begin < to {
			if n++; n == lines {
				break
			}
		}
	}
	if m.crashed || !m.edges[to] { // half a token is left to Follow
		return
	}
	if c.To != to || c.From < begin || c.From > begin+3 || !bytes.Equal(c.Data, m.whole[c.From:c.To]) {
		t.Fatalf("%d lines, %d bytes: [%d,%d) %q, want from %d to %d", lines, most, c.From, c.To, c.Data, begin, to)
	}
	if want := int64(bytes.Count(m.whole[:c.From], newline)); c.Line != want {
		t.Fatalf("tail's line is %d, want %d", c.Line, want)
	}
}

func (m *model) lookAtLines(t *rapid.T, has []bool) {
	lines := int64(bytes.Count(m.whole, newline))
	no := rapid.Int64Range(-1, lines+3).Draw(t, "line")
	offset, actual, err := FindLine(m.dir, no)
	if err != nil {
		t.Fatal(err)
	}
	begin := int64(0)
	for n := int64(1); n < no && begin < m.end(); n++ {
		next := bytes.IndexByte(m.whole[begin:], '\n') + 1
		if next == 0 {
			begin = m.end()
			break
		}
		begin += int64(next)
	}
	for begin < m.end() && !has[begin] {
		begin++
	}
	if want := int64(bytes.Count(m.whole[:begin], newline)) + 1; offset != begin || actual != want {
		t.Fatalf("line %d is at %d, line %d; want %d, line %d", no, offset, actual, begin, want)
	}
}

func TestOffsetsAreForEver(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		m := &model{dir: dir, edges: map[int64]bool{0: true}, o: Options{Bound: rapid.Int64Range(16, 3000).Draw(t, "bound")}}
		m.open(t)
		defer func() { m.w.file.Close() }()
		t.Repeat(map[string]func(*rapid.T){
			"write": m.write,
			"crash": m.crash,
			"close": func(t *rapid.T) {
				if err := m.w.Close(); err != nil {
					t.Fatal(err)
				}
				m.open(t)
			},
			"": m.look,
		})
	})
}
