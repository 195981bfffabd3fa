package llm

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// letters are the letters and digits of a text, in lower case, those that look alike made one, with
// what escapes stand for.
func letters(text string) []byte {
	w := folding{out: make([]byte, 0, len(text))}
	w.write(text)
	return w.out
}

// transcriptLetters are those of a transcript: what was said stands in one piece and our own lines, which
// hold names of the session, after it; and what looks like base64 or hexadecimal is read as well. They
// are written into memory, which may be nil.
func transcriptLetters(text string, memory []byte) []byte {
	w := folding{out: slices.Grow(memory[:0], len(text)+1), decodes: true}
	var ours []string
	for text != "" {
		lines := text[:alike(text)]
		if lines[0] == ' ' {
			w.write(lines)
		} else {
			ours = append(ours, lines)
		}
		text = text[len(lines):]
	}
	for _, lines := range ours {
		w.write(lines)
	}
	for range deepest {
		codes := w.codes
		w.codes = nil
		w.out = append(w.out, ' ')
		for _, code := range codes {
			w.write(code)
		}
	}
	return w.out
}

// deepest is how many codes within each other are read.
const deepest = 3

// alike is the length of the lines that text begins with and that are all indented, or all not.
func alike(text string) int {
	for end := 0; ; {
		next := strings.IndexByte(text[end:], '\n')
		if next < 0 {
			return len(text)
		}
		end += next + 1
		if end == len(text) || (text[end] == ' ') != (text[0] == ' ') {
			return end
		}
	}
}

type folding struct {
	out     []byte
	decodes bool
	codes   []string // what base64 or hexadecimal stood for
}

// kinds says what a byte is: a letter or digit is itself in lower case, and special is what needs a
// closer look.
var kinds = func() (t [256]byte) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			t[c] = byte(c)
		case c >= 'A' && c <= 'Z':
			t[c] = byte(c) + 'a' - 'A'
		case c == '\\', c == '%', c == '&', c >= utf8.RuneSelf:
			t[c] = special
		}
	}
	return t
}()

const special = 0x80

// isLetter is 1 for what kinds says of a letter or a digit, 0 for the rest.
func isLetter(kind byte) int { return int(kind >> 5 & 1) }

func (w *folding) write(s string) {
	if w.decodes {
		w.decode(s)
	}
	w.letters(s)
}

func (w *folding) letters(s string) {
	for i := 0; i < len(s); {
		i += w.plainly(s[i:])
		switch {
		case i == len(s):
		case s[i] == '\\':
			var r rune
			if i, r = unescape(s, i); r > 0 {
				w.rune(r)
			}
		case s[i] == '%':
			end, stands := percent(s, i)
			w.letters(stands)
			i = max(i+1, end)
		case s[i] == '&':
			end, stands := entity(s, i)
			w.letters(stands)
			i = end
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			w.rune(r)
			i += size
		}
	}
}

// plainly writes the letters up to the first byte that needs a closer look and says where that is. Each
// byte is written, and what is no letter is written over: words are short, and a branch at each of their
// ends costs more than all the rest.
func (w *folding) plainly(s string) int {
	w.out = slices.Grow(w.out, len(s))
	out, n := w.out[len(w.out):len(w.out)+len(s)], 0
	for i := range len(s) {
		k := kinds[s[i]]
		if k == special {
			w.out = w.out[:len(w.out)+n]
			return i
		}
		out[n] = k
		n += isLetter(k)
	}
	w.out = w.out[:len(w.out)+n]
	return len(s)
}

// shortestCode is the length from which a run of characters of base64 may be one.
const shortestCode = 24

// decode keeps what runs of characters stand for that are base64 of a text, or hexadecimal. It looks at
// one character of 24 until it meets one that could be in a run.
func (w *folding) decode(s string) {
	for at := shortestCode - 1; at < len(s); at += shortestCode {
		if !inCode(s[at]) {
			continue
		}
		from := at
		for from > 0 && inCode(s[from-1]) {
			from--
		}
		for at < len(s) && inCode(s[at]) {
			at++
		}
		if from > 0 && s[from-1] == '\\' {
			from, _ = unescape(s, from-1)
		}
		if at-from < shortestCode {
			continue
		}
		w.codes = append(w.codes, decoded(s[from:at])...)
	}
}

// decoded are the texts that a run may stand for.
func decoded(run string) (texts []string) {
	add := func(raw []byte, err error) {
		if err == nil && utf8.Valid(raw) {
			texts = append(texts, string(raw))
		}
	}
	add(hex.DecodeString(run))
	run = toStandard.Replace(run)
	add(base64.RawStdEncoding.DecodeString(run[:len(run)/4*4]))
	return texts
}

var toStandard = strings.NewReplacer("-", "+", "_", "/")

func inCode(c byte) bool {
	return isLetter(kinds[c]) == 1 || c == '+' || c == '/' || c == '-' || c == '_'
}

// rune writes one character that is not ASCII, or that was escaped.
func (w *folding) rune(r rune) {
	switch r = lookalike(r); {
	case r < utf8.RuneSelf:
		if k := kinds[max(r, 0)]; isLetter(k) == 1 {
			w.out = append(w.out, k)
		}
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		w.out = utf8.AppendRune(w.out, unicode.ToLower(r))
	}
}
