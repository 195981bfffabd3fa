package logs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"
)

// whole are escape sequences that have an end; what else holds an ESC is a half one.
var sequences = regexp.MustCompile("\x1b(?:\\[[0-9;?]*[@-~]|\\([AB]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\))")

func checkWhole(t *testing.T, data []byte) {
	t.Helper()
	if !utf8.Valid(data) {
		t.Errorf("half a character in %q", data)
	}
	if rest := sequences.ReplaceAll(data, nil); bytes.IndexByte(rest, escape) >= 0 {
		t.Errorf("half a sequence in %q", data)
	}
}

// While it is being written, each byte comes once and in order, and a character or a sequence that two
// writes share comes whole.
func TestFollow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	w := openWriter(t, dir, Options{Segment: 5000})
	want := make(chan []byte)
	var ended atomic.Bool
	go func() {
		defer close(want)
		r := rand.New(rand.NewPCG(3, 4))
		var text []byte
		for range 3000 {
			text = append(text, tokens[r.IntN(len(tokens))]...)
		}
		text = append(text, "the end without a newline"...)
		for rest := text; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(12))
			_, _ = w.Write(rest[:n])
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		ended.Store(true)
		want <- text
	}()
	var got []byte
	done := make(chan error)
	go func() {
		done <- Follow(t.Context(), dir, 0, ended.Load, func(c Chunk) error {
			if c.From != int64(len(got)) || c.Gap != 0 || c.Line != int64(bytes.Count(got, newline)) {
				return fmt.Errorf("after %d bytes: [%d,%d) line %d gap %d", len(got), c.From, c.To, c.Line, c.Gap)
			}
			checkWhole(t, c.Data)
			got = append(got, c.Data...)
			return nil
		})
	}()
	text := <-want
	if err := <-done; err != nil || !bytes.Equal(got, text) {
		t.Fatalf("%d of %d bytes, %v", len(got), len(text), err)
	}
}

func TestSplitCharacterAndSequence(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	w := openWriter(t, dir, Options{})
	var at int64
	for _, step := range []struct{ write, read string }{
		{"a\xe2", "a"}, {"\x82", ""}, {"\xac b", "€ b"}, {"\x1b", ""}, {"[3", ""}, {"1mred\x1b]0;ti", "\x1b[31mred"}, {"tle\x1b", ""}, {"\\x", "\x1b]0;title\x1b\\x"},
		{"\xf0\x9f", ""},
	} {
		fmt.Fprint(w, step.write)
		c, err := Read(dir, at, 1<<10, false)
		if err != nil || string(c.Data) != step.read {
			t.Errorf("%q: %q, want %q, %v", step.write, c.Data, step.read, err)
		}
		at = c.To
	}
	if c, err := Read(dir, at, 1<<10, true); err != nil || string(c.Data) != "\xf0\x9f" {
		t.Errorf("at the end: %q, %v", c.Data, err)
	}
	fmt.Fprint(w, "\x1b]0;"+strings.Repeat("x", maxSequence-4))
	if c, err := Read(dir, at+2, 1<<20, false); err != nil || len(c.Data) != 0 {
		t.Errorf("%d bytes of a sequence that has not ended, %v", len(c.Data), err)
	}
	fmt.Fprint(w, "x")
	if c, err := Read(dir, at+2, 1<<20, false); err != nil || len(c.Data) != maxSequence+1 {
		t.Errorf("%d bytes of one that is too long to be one, %v", len(c.Data), err)
	}
}

func TestReadLittle(t *testing.T) {
	dir := written(t, Options{}, "€\x1b[38;5;196mé\x1b]0;"+strings.Repeat("x", 100)+"\x07z")
	var got []string
	for at := int64(0); ; {
		c, err := Read(dir, at, 1, false)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Data) == 0 {
			break
		}
		got = append(got, string(c.Data))
		at = c.To
	}
	if want := []string{"€", "\x1b[38;5;196m", "é", "\x1b]0;" + strings.Repeat("x", 100) + "\x07", "z"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q", got)
	}
}

// A sequence that never ends holds nobody up, however little is asked for.
func TestReadGetsOn(t *testing.T) {
	text := "a\x1b]0;" + strings.Repeat("x", 2*maxSequence) + strings.Repeat("\xf4", 20)
	dir := written(t, Options{}, text)
	for _, most := range []int{1, 100, maxSequence, maxSequence + 1, 1 << 20} {
		var got []byte
		for {
			c, err := Read(dir, int64(len(got)), most, true)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Data) == 0 {
				break
			}
			got = append(got, c.Data...)
		}
		if string(got) != text {
			t.Errorf("by %d: %d bytes of %d", most, len(got), len(text))
		}
	}
}

// A follower that is slower than the bound is told what it missed, and its line numbers are right behind it.
func TestSlowFollowerIsToldTheGap(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	w := openWriter(t, dir, Options{Bound: 32 << 10, Segment: 2 << 10})
	var whole []byte
	write := func(from, to int) {
		for i := from; i < to; i++ {
			whole = append(whole, numbered(i)...)
			fmt.Fprint(w, numbered(i))
		}
	}
	write(0, 600)
	var bytesSeen, gaps int64
	ended := false
	err := Follow(t.Context(), dir, 0, func() bool { return ended }, func(c Chunk) error {
		if !ended {
			write(600, 5000)
			closeWriter(t, w)
			ended = true
		}
		if !bytes.Equal(c.Data, whole[c.From:c.To]) || c.Line != int64(bytes.Count(whole[:c.From], newline)) {
			t.Errorf("[%d,%d) line %d", c.From, c.To, c.Line)
		}
		bytesSeen += int64(len(c.Data))
		gaps += c.Gap
		return nil
	})
	if err != nil || gaps == 0 || bytesSeen+gaps != int64(len(whole)) {
		t.Errorf("%d seen, %d left out, %d written, %v", bytesSeen, gaps, len(whole), err)
	}
}

// What was written before ended said so is told, though it said so while nobody looked; half a character too.
func TestFollowTellsTheLastWords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	w := openWriter(t, dir, Options{})
	var got []byte
	ended := false
	err := Follow(t.Context(), dir, 0, func() bool {
		if !ended {
			fmt.Fprint(w, "last words\xe2")
			ended = true
		}
		return ended
	}, func(c Chunk) error {
		got = append(got, c.Data...)
		return nil
	})
	if err != nil || string(got) != "last words\xe2" {
		t.Errorf("%q, %v", got, err)
	}
}

// Segments go away while they are being read: nobody gets an error, and all that is said is of the text.
func TestReadersWhileSegmentsGoAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	w := openWriter(t, dir, Options{Bound: 8 << 10, Segment: 256})
	var whole []byte
	for i := range 15_000 {
		whole = append(whole, numbered(i)...)
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for seed := range uint64(3) {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(seed, 7))
			for {
				select {
				case <-stop:
					return
				default:
				}
				st, err := Size(dir)
				if err != nil {
					t.Error(err)
					return
				}
				c, err := Read(dir, r.Int64N(st.Bytes+1), 1+r.IntN(2000), false)
				if err != nil || !bytes.Equal(c.Data, whole[c.From:c.To]) || len(c.Data) > 0 && c.Line != int64(bytes.Count(whole[:c.From], newline)) {
					t.Errorf("[%d,%d) line %d, %v", c.From, c.To, c.Line, err)
				}
				if c, err = Tail(dir, 3, 500); err != nil || !bytes.Equal(c.Data, whole[c.From:c.To]) || c.To < st.Bytes-4 {
					t.Errorf("tail [%d,%d) of %d, %v", c.From, c.To, st.Bytes, err)
				}
				if _, _, err := FindLine(dir, r.Int64N(st.Lines+1)); err != nil {
					t.Error(err)
				}
				if _, _, err := Search(t.Context(), dir, "line 7", 0, 10); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for rest := whole; len(rest) > 0 && !t.Failed(); rest = rest[min(100, len(rest)):] {
		_, _ = w.Write(rest[:min(100, len(rest))])
	}
	close(stop)
	readers.Wait()
}

func TestFollowEnds(t *testing.T) {
	dir := written(t, Options{}, "text")
	never := func() bool { return false }
	ctx, stop := context.WithCancel(t.Context())
	if err := Follow(ctx, dir, 0, never, func(Chunk) error { stop(); return nil }); err != nil {
		t.Errorf("the context ended: %v", err)
	}
	if err := Follow(ctx, dir, 0, never, func(Chunk) error { t.Error("told after the end"); return nil }); err != nil {
		t.Error(err)
	}
	broken := errors.New("broken")
	if err := Follow(t.Context(), dir, 0, never, func(Chunk) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("the error of who listens: %v", err)
	}
	always := func() bool { return true }
	for _, from := range []int64{-5, 4, 99} {
		n := 0
		if err := Follow(t.Context(), dir, from, always, func(Chunk) error { n++; return nil }); err != nil || n > 1 || n == 1 && from > 0 {
			t.Errorf("from %d: %d chunks, %v", from, n, err)
		}
	}
	if err := Follow(t.Context(), filepath.Join(dir, "none"), 0, always, func(Chunk) error { return broken }); err != nil {
		t.Errorf("a log that never was: %v", err)
	}
}

func TestReadersInOtherProcesses(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "log")
	one, first := play(t, "read", dir)
	w := openWriter(t, dir, Options{Segment: 100 << 10})
	sum, all := sha256.New(), int64(0)
	write := func(from, to int) {
		for i := from; i < to; i++ {
			sum.Write([]byte(numbered(i)))
			all += int64(len(numbered(i)))
			fmt.Fprint(w, numbered(i))
		}
	}
	write(0, 10_000)
	two, second := play(t, "read", dir)
	write(10_000, 60_000)
	closeWriter(t, w)
	if err := os.WriteFile(filepath.Join(root, "done"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, err := range []error{one.Wait(), two.Wait()} {
		if err != nil {
			t.Fatalf("reader %d: %v", i, err)
		}
	}
	for _, out := range []string{first.String(), second.String()} {
		var got told
		if err := json.Unmarshal([]byte(out), &got); err != nil || got.Bytes != all || got.Gap != 0 || got.Sum != fmt.Sprintf("%x", sum.Sum(nil)) {
			t.Errorf("told %+v of %d, %v", got, all, err)
		}
	}
}

func TestTail(t *testing.T) {
	for _, c := range []struct {
		text        string
		lines, most int
		want        string
		line        int64
	}{
		{"a\nb\nc\n", 2, 100, "b\nc\n", 1},
		{"a\nb\nc", 2, 100, "b\nc", 1},
		{"a\nb\nc", 0, 100, "", 2},
		{"a\nb\n", 0, 100, "", 2},
		{"a\nb\n", -1, 100, "", 2},
		{"a\nb\n", 9, 100, "a\nb\n", 0},
		{"a\n\n\n", 2, 100, "\n\n", 1},
		{"", 2, 100, "", 0},
		{"a\n", 2, 0, "", 1},
		{"line one\nline two", 5, 10, "e\nline two", 0},
		{"€€€", 1, 4, "€", 0},
		{"a\nbc\xe2", 1, 100, "bc", 1},
	} {
		got, err := Tail(written(t, Options{Segment: 4}, c.text), c.lines, c.most)
		if err != nil || string(got.Data) != c.want || got.Line != c.line || got.To != got.From+int64(len(got.Data)) || got.Gap != 0 {
			t.Errorf("%d lines, %d bytes of %q: %q, line %d, want %q, line %d, %v", c.lines, c.most, c.text, got.Data, got.Line, c.want, c.line, err)
		}
	}
}

func TestNothingThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	if c, err := Read(dir, 7, 10, true); err != nil || c.From != 7 || c.To != 7 || c.Data != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if st, err := Size(dir); err != nil || st != (Stat{}) {
		t.Errorf("%+v, %v", st, err)
	}
	if c, err := Tail(dir, 5, 10); err != nil || c.To != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	if hits, next, err := Search(t.Context(), dir, "x", 0, 5); err != nil || next != 0 || len(hits) != 0 {
		t.Errorf("%+v, %v", hits, err)
	}
	if at, line, err := FindLine(dir, 5); err != nil || at != 0 || line != 1 {
		t.Errorf("%d, %d, %v", at, line, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file, 0, 10, true); err == nil || !strings.Contains(err.Error(), "read log: ") || !strings.Contains(err.Error(), file) {
		t.Errorf("a log that is no folder: %v", err)
	}
}
