package llm

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// letters are the letters and digits of a text, in lower case, those that look alike made one, with
// what JSON's escapes stand for.
func letters(text string) []byte {
	w := folding{out: make([]byte, 0, len(text))}
	w.write(text)
	return w.out
}

// transcriptLetters are those of a transcript: what was said stands in one piece and our own lines, which
// hold names of the session, after it; and what looks like base64 is read as well.
func transcriptLetters(text string) []byte {
	w := folding{out: make([]byte, 0, len(text)+1), decodes: true}
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
	w.decodes = false
	w.out = append(w.out, ' ')
	for _, code := range w.codes {
		w.write(code)
	}
	return w.out
}

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
	codes   []string // what base64 stood for
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
		case c == '\\', c >= utf8.RuneSelf:
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
	for i := 0; i < len(s); {
		i += w.plainly(s[i:])
		switch {
		case i == len(s):
		case s[i] == '\\':
			var r rune
			if i, r = unescape(s, i); r > 0 {
				w.rune(r)
			}
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

// unescape reads the backslash at i and what follows it: the escapes of JSON, also within JSON. r is the
// character that it stands for, 0 where that is none of interest.
func unescape(s string, i int) (end int, r rune) {
	for i < len(s) && s[i] == '\\' {
		i++
	}
	if i < len(s) && strings.IndexByte("nrtbf", s[i]) >= 0 {
		return i + 1, 0
	}
	r, ok := fourDigits(s, i)
	if !ok {
		return i, 0
	}
	end = i + 5
	if !utf16.IsSurrogate(r) {
		return end, r
	}
	next := end
	for next < len(s) && s[next] == '\\' {
		next++
	}
	low, ok := fourDigits(s, next)
	if next == end || !ok {
		return end, 0
	}
	return next + 5, utf16.DecodeRune(r, low)
}

// fourDigits reads u and the four hexadecimal digits of a character.
func fourDigits(s string, i int) (rune, bool) {
	if i+5 > len(s) || s[i] != 'u' {
		return 0, false
	}
	r, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
	return rune(r), err == nil
}

// shortestCode is the length from which a run of characters of base64 may be one.
const shortestCode = 24

// decode keeps what runs of characters stand for that are base64 of a text. It looks at one character of
// 24 until it meets one that could be in a run.
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
		run := toStandard.Replace(s[from:at])
		if raw, err := base64.RawStdEncoding.DecodeString(run[:len(run)/4*4]); err == nil && utf8.Valid(raw) {
			w.codes = append(w.codes, string(raw))
		}
	}
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

// lookalike is the ASCII character that r is a variant of, or merely looks like.
func lookalike(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return r
	case r >= 0xFF01 && r <= 0xFF5E: // fullwidth
		return r - 0xFEE0
	case r >= 0x1D400 && r <= 0x1D6A3: // mathematical alphabets
		return 'a' + (r-0x1D400)%26
	case r >= 0x1D7CE && r <= 0x1D7FF: // mathematical digits
		return '0' + (r-0x1D7CE)%10
	case r >= 0x24B6 && r <= 0x24E9: // circled
		return 'a' + (r-0x24B6)%26
	}
	if r >= firstConfusable && int(r-firstConfusable) < len(confused) && confused[r-firstConfusable] != 0 {
		return rune(confused[r-firstConfusable])
	}
	return r
}

// confused are the Latin letters that letters of other scripts look like, by their distance from the
// first of those scripts.
var confused = func() (t [0x0530 - firstConfusable]byte) {
	const others, latin = "аеорсухіѕјһԁԛԝвкмнт" + "АЕОРСУХІЅЈНВКМТ" + "αεοριυνκτ" + "ΑΕΟΡΙΥΝΚΤΒΗΜΖΧ",
		"aeopcyxisjhdqwbkmht" + "aeopcyxisjhbkmt" + "aeopiuvkt" + "aeopiynktbhmzx"
	n := 0
	for _, r := range others {
		t[r-firstConfusable] = latin[n]
		n++
	}
	return t
}()

const firstConfusable = 0x0370 // Greek, then Cyrillic
