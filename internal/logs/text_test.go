package logs

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSequence(t *testing.T) {
	for text, want := range map[string]int{
		"\x1b": 0, "\x1b[": 0, "\x1b[3": 0, "\x1b[31": 0, "\x1b[31m": 5, "\x1b[31mred": 5, "\x1b[?25l": 6,
		"\x1b(": 0, "\x1b(B": 3, "\x1bM": 2, "\x1b7": 2,
		"\x1b]0;title": 0, "\x1b]0;title\x07": 10, "\x1b]8;;http://x\x1b\\": 15, "\x1b]8;;x\x1b": 0,
		"\x1b]8;;x\x1b[m": 6, "\x1b]never\nends": 7, // broken: they end where something else begins
		"\x1b[3\nx": 3, "\x1b\n": 1, "\x1b\x1b[m": 1, "\x1bä": 1, "\x1b[3ä": 3,
	} {
		if got := sequence([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestEdge(t *testing.T) {
	long := "\x1b]0;" + strings.Repeat("x", maxSequence)
	for text, want := range map[string]string{
		"": "", "a": "a", "aä": "aä", "a\xc3": "a", "a\xe2\x82": "a", "a\xe2\x82\xac": "a€", "a\xf0\x9f\x92": "a",
		"a\xff": "a\xff", "\x80\x80\x80\x80\x80": "\x80\x80\x80\x80\x80", "a\xe2(": "a\xe2(", // never was a character
		"a\x1b": "a", "a\x1b[3": "a", "a\x1b[31m": "a\x1b[31m", "a\x1b[31mb\x1b": "a\x1b[31mb",
		"a\x1b]0;t\x1b": "a", "a\x1b]0;t\xc3": "a", "a\x1b]0;t\x1b\\": "a\x1b]0;t\x1b\\", "\x1b[": "",
		"a\x1b(": "a", "a\x1b(B": "a\x1b(B", long: long,
	} {
		if got := text[:edge([]byte(text))]; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestPlainAndOverwrite(t *testing.T) {
	for text, want := range map[string][2]string{
		"\x1b[1;31mError\x1b[0m: x":        {"Error: x", "Error: x"},
		"\x1b(B\x1b[mtput sgr0":            {"tput sgr0", "tput sgr0"},
		"\x1b]8;;http://x\x07link\x1b]8;;": {"link", "link"},
		"a\x00b\x07c\td\x7f":               {"abc\td", "abc\td"},
		"10%\r20%\r100%":                   {"10%\r20%\r100%", "100%"},
		"done: 9\rok":                      {"done: 9\rok", "okne: 9"},
		"done: 9\r\x1b[Kok":                {"done: 9\rok", "ok"},
		"done: 9\x1b[2K\rok":               {"done: 9\rok", "ok"},
		"abc\x1b[2Kd":                      {"abcd", "   d"},
		"abcdef\b\b\x1b[1Kx":               {"abcdefx", "    xf"},
		"1/3\b\b\b2/3":                     {"1/32/3", "2/3"},
		"größe\rä":                         {"größe\rä", "äröße"},
		"a\u009b31mb\u0085c\u00a0\xc2":     {"a31mbc\u00a0\xc2", "a31mbc\u00a0\uFFFD"},
		"crlf\r":                           {"crlf\r", "crlf"},
		"\x1b[31":                          {"", ""},
		"\x1b\x1b[31mred":                  {"red", "red"},
	} {
		if got := string(Plain([]byte(text))); got != want[0] {
			t.Errorf("plain %q: %q, want %q", text, got, want[0])
		}
		if got := string(Overwrite([]byte(text))); got != want[1] {
			t.Errorf("overwrite %q: %q, want %q", text, got, want[1])
		}
	}
	if got := string(Plain([]byte("\x1b\nb\x1b[3\nc"))); got != "\nb\nc" {
		t.Errorf("a line's end is never part of a sequence: %q", got)
	}
}

func FuzzEdge(f *testing.F) {
	f.Add([]byte("a\x1b]0;t\x1b\\ä\x1b[31mx\xe2\x82"))
	f.Add([]byte("\x1b\x1b\x1b(B\x1b]"))
	f.Add([]byte("0\xf4\x1bX"))
	f.Add([]byte("\x1b[3\xc3"))
	f.Add([]byte("\xf4\xf4"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := edge(b)
		if n < 0 || n > len(b) || len(b)-n > maxSequence {
			t.Fatalf("%d of %d", n, len(b))
		}
		// Read from the front, no character and no sequence goes on over it.
		for at := 0; at < n && len(b) < maxSequence; {
			if b[at] == escape && sequence(b[at:]) == 0 || !utf8.FullRune(b[at:]) || at+first(b[at:]) > n {
				t.Fatalf("%q ends inside %q", b[:n], b[at:])
			}
			at += first(b[at:])
		}
		if s := b; len(s) > 0 && s[0] == escape {
			if n := sequence(s); n > len(s) || bytes.IndexByte(s[:n], '\n') >= 0 {
				t.Fatalf("sequence %d of %q", n, s)
			}
		}
	})
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte("\x1b[1;31mError\x1b[0m: \x1b]0;t\x07x\r\n\x1b(B"))
	f.Add([]byte("\xc2\x1d\x90"))
	f.Add([]byte("\xc2\xc2\x1d\x90\x00\x90"))
	f.Fuzz(func(t *testing.T, b []byte) {
		plain := Plain(b)
		for _, c := range plain {
			if c < 0x20 && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
				t.Fatalf("%q left in %q", c, plain)
			}
		}
		if !bytes.Equal(Plain(plain), plain) {
			t.Fatalf("%q is not plain", plain)
		}
		if whole := b[:edge(b)]; bytes.Count(Plain(whole), newline) != bytes.Count(whole, newline) {
			t.Fatalf("lines of %q went away", b)
		}
	})
}

func FuzzOverwrite(f *testing.F) {
	f.Add([]byte("10%|#  |\r20%|## |\x1b[K\b\bé"))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.ReplaceAll(b, newline, nil)
		whole := Overwrite(b)
		if controls(whole) {
			t.Fatalf("%q", whole)
		}
		if again := Overwrite(whole); !bytes.Equal(again, whole) {
			t.Fatalf("%q, then %q", whole, again)
		}
		// A line is the same whether it is seen at once or in pieces that Read would give.
		var s shown
		if cut := edge(b[:len(b)/2]); controls(b) {
			s.write(b[:cut])
			s.write(b[cut:])
			if got := s.bytes(nil); !bytes.Equal(got, whole) {
				t.Fatalf("at once %q, in pieces %q", whole, got)
			}
		}
	})
}
