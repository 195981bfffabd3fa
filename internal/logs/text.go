package logs

import (
	"bytes"
	"unicode/utf8"
)

const escape = 0x1b

// maxSequence is how long an escape sequence may be before it is taken for broken.
const maxSequence = 4 << 10

// sequence is the length of the escape sequence with which b begins; 0 where it is not whole yet. One that
// is broken ends before the byte that cannot be part of it: a line's end is never inside.
func sequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch c := b[1]; {
	case c == '[': // CSI: parameters, then one byte from @ to ~
		return until(b, 0x20, 0x40)
	case c >= 0x20 && c < 0x30: // a character set and the like: ESC ( B
		return until(b, 0x20, 0x30)
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_': // OSC and other strings: until BEL or ESC \
		return text(b)
	case c > 0x20 && c < 0x7f:
		return 2
	}
	return 1
}

// until is the length of a sequence of bytes from least on that ends with one from last to ~.
func until(b []byte, least, last byte) int {
	for i := 2; i < len(b); i++ {
		if b[i] < least || b[i] > 0x7e {
			return i
		}
		if b[i] >= last {
			return i + 1
		}
	}
	return 0
}

// text is the length of a sequence that holds a text.
func text(b []byte) int {
	for i := 2; i < len(b); i++ {
		switch b[i] {
		case 0x07:
			return i + 1
		case '\n':
			return i
		case escape:
			if i+1 == len(b) {
				return 0
			}
			if b[i+1] == '\\' {
				return i + 2
			}
			return i // another sequence begins
		}
	}
	return 0
}

// edge is the longest beginning of b that ends neither inside a character nor inside an escape sequence. A
// sequence that is longer than maxSequence does not count as one.
func edge(b []byte) int {
	window := max(0, len(b)-maxSequence)
	for n := len(b); ; {
		n -= half(b[:n])
		esc := bytes.LastIndexByte(b[min(window, n):n], escape)
		if esc < 0 || sequence(b[window+esc:n]) > 0 {
			return n
		}
		n = window + esc // and before it: a single ESC may end the text of another sequence
	}
}

// half is the length of the character that has begun at the end of b.
func half(b []byte) int {
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if utf8.FullRune(b[len(b)-i:]) {
				break
			}
			return i
		}
	}
	return 0
}

// c1 says that b begins with one of the control characters from U+0080 to U+009F: some terminals take U+009B
// for ESC [.
func c1(b []byte) bool { return len(b) > 1 && b[0] == 0xC2 && b[1] >= 0x80 && b[1] < 0xA0 }

// Plain is a text without escape sequences and without control characters other than \n, \r and \t.
func Plain(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == escape:
			n := sequence(b[i:])
			if n == 0 {
				return out
			}
			i += n
		case c < 0x20 && c != '\n' && c != '\r' && c != '\t' || c == 0x7f:
			i++
		case c1(b[i:]):
			i += 2
		case len(out) > 0 && c1([]byte{out[len(out)-1], c}): // two halves that had something between them
			out = out[:len(out)-1]
			i++
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// Overwrite is what a terminal shows of a line, as plain text: \r goes back to its begin, \b one character,
// and a sequence may erase (ESC [ K).
func Overwrite(line []byte) []byte {
	if !controls(line) {
		return line
	}
	var s shown
	s.write(line)
	return s.bytes(nil)
}

// shown is a line of a terminal: what stands there, and where the next character goes.
type shown struct {
	cells []rune
	at    int
}

func (s *shown) bytes(dst []byte) []byte {
	for _, r := range s.cells {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func (s *shown) write(b []byte) {
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == escape:
			n := sequence(b[i:])
			if n == 0 {
				return
			}
			s.erase(b[i : i+n])
			i += n
		case c == '\r':
			s.at = 0
			i++
		case c == '\b':
			s.at = max(0, s.at-1)
			i++
		case c < 0x20 && c != '\t' || c == 0x7f:
			i++
		case c1(b[i:]):
			i += 2
		default:
			r, n := utf8.DecodeRune(b[i:])
			s.put(r)
			i += n
		}
	}
}

func (s *shown) put(r rune) {
	for len(s.cells) < s.at {
		s.cells = append(s.cells, ' ')
	}
	if s.at < len(s.cells) {
		s.cells[s.at] = r
	} else {
		s.cells = append(s.cells, r)
	}
	s.at++
}

// erase does what a sequence asks for where it erases in the line.
func (s *shown) erase(seq []byte) {
	switch string(seq) {
	case "\x1b[K", "\x1b[0K": // from here on
		s.cells = s.cells[:min(s.at, len(s.cells))]
	case "\x1b[1K": // up to here
		for i := range s.cells[:min(s.at+1, len(s.cells))] {
			s.cells[i] = ' '
		}
	case "\x1b[2K":
		s.cells = s.cells[:0]
	}
}
