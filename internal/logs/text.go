package logs

import (
	"bytes"
	"context"
	"unicode/utf8"
)

const escape = 0x1b

// sequence is the length of the escape sequence with which b begins; 0 where it is not whole yet.
func sequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '[': // CSI: parameters, then one byte from @ to ~
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
			if b[i] < 0x20 || b[i] > 0x7e {
				return i // broken: it ends before what cannot be part of it
			}
		}
		return 0
	case ']', 'P', 'X', '^', '_': // OSC and other strings: until BEL or ESC \
		for i := 2; i < len(b); i++ {
			if b[i] == 0x07 {
				return i + 1
			}
			if b[i] == escape {
				if i+1 == len(b) {
					return 0
				}
				return i + 2
			}
			if b[i] == '\n' {
				return i
			}
		}
		return 0
	}
	return 2
}

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
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// Overwrite is what a terminal shows of a plain line in which \r goes back to its begin.
func Overwrite(line []byte) []byte {
	if bytes.IndexByte(line, '\r') < 0 {
		return line
	}
	var shown []rune
	at := 0
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRune(line[i:])
		i += n
		if r == '\r' {
			at = 0
			continue
		}
		if at < len(shown) {
			shown[at] = r
		} else {
			shown = append(shown, r)
		}
		at++
	}
	return []byte(string(shown))
}

// Hit is a line that holds what was looked for.
type Hit struct {
	Line   int64  `json:"line"`   // from 1
	Offset int64  `json:"offset"` // of the line's first byte
	Text   string `json:"text"`   // plain, at most maxHit bytes of it
}

const (
	maxHit  = 400
	maxLine = 64 << 10 // a longer line is looked at in parts
)

// Search finds lines from an offset on, at most so many, in which text stands as a person sees them; case
// does not matter. next is where to go on, 0 at the end.
func Search(ctx context.Context, dir, text string, from int64, most int) (hits []Hit, next int64, err error) {
	want := bytes.ToLower([]byte(text))
	var line []byte
	begin, no := from, int64(-1)
	look := func() bool {
		shown := Overwrite(bytes.TrimRight(Plain(line), "\r\n"))
		if bytes.Contains(bytes.ToLower(shown), want) {
			hits = append(hits, Hit{Line: no + 1, Offset: begin, Text: string(bytes.ToValidUTF8(shown[:min(len(shown), maxHit)], nil))})
		}
		return len(hits) < most
	}
	for ctx.Err() == nil {
		c, err := Read(dir, from, 1<<20, true)
		if err != nil {
			return hits, 0, err
		}
		if len(c.Data) == 0 {
			if len(line) > 0 {
				look()
			}
			return hits, 0, nil
		}
		if no < 0 || c.Gap > 0 {
			line, begin, no = line[:0], c.From, c.Line
		}
		for rest := c.Data; len(rest) > 0; {
			n := bytes.IndexByte(rest, '\n') + 1
			ends := n > 0
			if !ends {
				n = len(rest)
			}
			line, rest = append(line, rest[:n]...), rest[n:]
			if !ends && len(line) < maxLine {
				break
			}
			more := look()
			begin += int64(len(line))
			line = line[:0]
			if ends {
				no++
			}
			if !more {
				return hits, begin, nil
			}
		}
		from = c.To
	}
	return hits, 0, ctx.Err()
}
