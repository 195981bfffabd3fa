package piece

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Mend rewrites what is almost JSON into JSON: invalid UTF-8, lone surrogates and NUL become U+FFFD
// (lossy), raw control characters inside strings are escaped, and NaN, Infinity and -Infinity become
// null. Everything else, broken or not, stays. raw is not changed.
func Mend(raw []byte) (mended []byte, lossy bool) {
	m := mender{in: raw, out: make([]byte, 0, len(raw)+64)}
	for m.pos < len(m.in) {
		if m.text {
			m.inside()
		} else {
			m.outside()
		}
	}
	return m.out, m.lossy
}

const replacement = "\uFFFD"

type mender struct {
	in, out []byte
	pos     int
	text    bool
	lossy   bool
}

func (m *mender) copy(n int) {
	m.out = append(m.out, m.in[m.pos:m.pos+n]...)
	m.pos += n
}

func (m *mender) put(s string, n int) {
	m.out = append(m.out, s...)
	m.pos += n
}

func (m *mender) outside() {
	rest := m.in[m.pos:]
	for _, word := range []string{"NaN", "-NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(rest, []byte(word)) {
			m.put("null", len(word))
			return
		}
	}
	switch c := rest[0]; {
	case c == '"':
		m.text = true
		m.copy(1)
	case c < ' ':
		m.put(" ", 1)
	default:
		m.copy(1)
	}
}

func (m *mender) inside() {
	rest := m.in[m.pos:]
	switch c := rest[0]; {
	case c == '"':
		m.text = false
		m.copy(1)
	case c == '\\' && len(rest) >= 2 && rest[1] == 'u':
		m.escape(rest)
	case c == '\\':
		m.copy(min(2, len(rest)))
	case c == 0:
		m.replace(1)
	case c < ' ':
		m.put(`\u00`+string("0123456789abcdef"[c>>4])+string("0123456789abcdef"[c&15]), 1)
	case c < utf8.RuneSelf:
		m.copy(1)
	default:
		if r, n := utf8.DecodeRune(rest); r == utf8.RuneError && n == 1 {
			m.replace(1)
		} else {
			m.copy(n)
		}
	}
}

func (m *mender) replace(n int) {
	m.put(replacement, n)
	m.lossy = true
}

// escape handles \uXXXX at the beginning of rest.
func (m *mender) escape(rest []byte) {
	r := hexRune(rest)
	switch {
	case r == 0:
		m.replace(6)
	case r < 0:
		m.copy(2) // left as it is: the parser says where
	case !utf16.IsSurrogate(r):
		m.copy(6)
	case utf16.DecodeRune(r, hexRune(rest[6:])) != utf8.RuneError:
		m.copy(12)
	default:
		m.replace(6)
	}
}

// hexRune reads \uXXXX, or returns -1.
func hexRune(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	if err != nil {
		return -1
	}
	return rune(v)
}
