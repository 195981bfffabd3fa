package results

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"unicode/utf8"

	"crypto/sha256"
)

// maxString bounds a string in a JSON file, in bytes as written. It is more than six times maxText, the
// longest way to write a character: what is cut here is always cut again, and said.
const maxString = 1 << 20

// plain makes what harnesses write into JSON that can be read in bounded memory: bare NaN and Infinity
// become null and are told to notANumber, control characters in strings are escaped, NUL becomes U+FFFD,
// and of a string that is too long a hash takes the place of the rest.
type plain struct {
	src        io.Reader
	notANumber func(line, column int64, word string)

	out  []byte // made and not read yet
	read int    // of out
	buf  []byte
	err  error

	line, start int64 // lines so far; offset of the present one's first byte
	at          int64 // bytes so far

	inString bool
	length   int64     // of the string so far
	escape   int       // characters of an escape that are held
	held     [6]byte   // of an escape
	dropped  hash.Hash // of what was left out of the string
	lost     int64
	word     []byte // outside strings: letters, or a minus, that are held
	blank    bool   // outside strings: white space was passed on
	number   int    // outside strings: characters since the last one that separates
}

// maxNumber bounds what stands outside strings in one piece, in characters.
const maxNumber = 1000

var errNumber = fmt.Errorf("a number is longer than %d characters", maxNumber)

func newPlain(src io.Reader, notANumber func(line, column int64, word string)) *plain {
	return &plain{src: src, notANumber: notANumber, buf: make([]byte, 32<<10), line: 1}
}

func (p *plain) Read(b []byte) (int, error) {
	for p.read == len(p.out) {
		if p.err != nil {
			return 0, p.err
		}
		p.out, p.read = p.out[:0], 0
		n, err := p.src.Read(p.buf)
		chunk := p.buf[:n]
		if p.at == 0 {
			chunk = bytes.TrimPrefix(chunk, []byte("\xEF\xBB\xBF"))
		}
		p.feed(chunk)
		if err != nil && p.err == nil {
			p.endWord()
			p.err = err
		}
	}
	n := copy(b, p.out[p.read:])
	p.read += n
	return n, nil
}

func (p *plain) feed(chunk []byte) {
	for i := 0; i < len(chunk) && p.err == nil; i++ {
		c := chunk[i]
		p.at++
		if c == '\n' {
			p.line, p.start = p.line+1, p.at
		}
		switch {
		case !p.inString:
			p.outside(c)
		case p.escape > 0:
			p.escaped(c)
		case c == '"':
			p.endString()
		case c == '\\':
			p.held[0], p.escape = c, 1
		case c < ' ':
			p.put(fmt.Appendf(nil, `\u%04x`, c)...)
		default:
			n := 1 + plainRun(chunk[i+1:], p.room()-1) // characters that need nothing go together
			p.at += int64(n - 1)
			p.put(chunk[i : i+n]...)
			i += n - 1
		}
	}
}

// plainRun is how many bytes of b, at most most, are characters of a string that need nothing.
func plainRun(b []byte, most int64) (n int) {
	for n < len(b) && int64(n) < most && b[n] >= ' ' && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}

// room is how much of the string is still kept; of what is left out any length may go together.
func (p *plain) room() int64 {
	if p.dropped != nil {
		return 1 << 40
	}
	return maxString - p.length
}

// outside takes a character between strings.
func (p *plain) outside(c byte) {
	blank := p.blank
	p.blank = false
	switch c {
	case ' ', '\t', '\r', '\n': // one of them does; the decoder would hold them all
		p.number, p.blank = 0, true
		if blank {
			return
		}
	case ',', ':', '[', ']', '{', '}', '"':
		p.number = 0
	default:
		if p.number++; p.number > maxNumber {
			p.err = errNumber
			return
		}
	}
	held := len(p.word) > 0
	switch {
	case c == '-' && !held, c == 'N' && !held, c == 'I' && (!held || string(p.word) == "-"):
		p.word = append(p.word, c)
		return
	case held && p.word[0] != '-' || held && len(p.word) > 1:
		if (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') && len(p.word) < 16 {
			p.word = append(p.word, c)
			return
		}
	}
	p.endWord()
	p.out = append(p.out, c)
	if c == '"' {
		p.inString, p.length = true, 0
	}
}

// endWord gives away what was held outside strings.
func (p *plain) endWord() {
	if len(p.word) == 0 {
		return
	}
	switch w := string(p.word); w {
	case "NaN", "Infinity", "-Infinity":
		p.notANumber(p.line, max(1, p.at-p.start-int64(len(w))), w)
		p.out = append(p.out, "null"...)
	default:
		p.out = append(p.out, w...)
	}
	p.word = p.word[:0]
}

// escaped takes a character of an escape, which is passed on whole.
func (p *plain) escaped(c byte) {
	p.held[p.escape] = c
	p.escape++
	if p.held[1] == 'u' && p.escape < 6 && c != '"' {
		return
	}
	e := p.held[:p.escape]
	p.escape = 0
	if string(e) == `\u0000` {
		e = []byte(`\ufffd`)
	}
	p.put(e...)
}

// put adds to the string, or to what is left out of it.
func (p *plain) put(b ...byte) {
	p.length += int64(len(b))
	if p.dropped == nil && (p.length <= maxString || p.length < maxString+utf8.UTFMax && b[0]&0xC0 == 0x80) { // no cut within a character
		p.out = append(p.out, b...)
		return
	}
	if p.dropped == nil {
		p.dropped, p.lost = sha256.New(), 0
	}
	p.dropped.Write(b)
	p.lost += int64(len(b))
}

func (p *plain) endString() {
	if p.dropped != nil {
		p.out = fmt.Appendf(p.out, "… [%d bytes left out, %s]", p.lost, hex.EncodeToString(p.dropped.Sum(nil)[:8]))
		p.dropped = nil
	}
	p.out = append(p.out, '"')
	p.inString = false
}
