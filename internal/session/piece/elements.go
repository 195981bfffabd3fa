package piece

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
)

// Elements cuts the elements of JSON arrays without reading an array whole. With an empty name the
// arrays stand at top level; with a name they are that member of objects at top level, such as
// resourceSpans. Several such values may follow each other, as files that were joined have them.
type Elements struct {
	in    *bufio.Reader
	name  string
	max   int
	line  int64
	depth int // 0 between values, 1 inside an object that may hold name, 2 inside the array
	n     int // elements seen of this array
}

// NewElements cuts what in yields; pieces longer than max bytes are faults.
func NewElements(in *bufio.Reader, name string, max int) *Elements {
	return &Elements{in: in, name: name, max: max, line: 1}
}

func (e *Elements) Next() (Piece, error) {
	for {
		c, err := e.peek()
		if err == io.EOF && e.depth > 0 {
			p := Piece{Line: e.line, Where: e.place(), Fault: Faultf("", "the file ends inside the %s", e.what())}
			e.depth = 0
			return p, nil
		}
		if err != nil {
			return Piece{}, err
		}
		var p Piece
		var ok bool
		switch e.depth {
		case 0:
			p, ok, err = e.open(c)
		case 1:
			p, ok, err = e.member(c)
		default:
			p, ok, err = e.element(c)
		}
		if err != nil || ok {
			return p, err
		}
	}
}

func (e *Elements) what() string {
	if e.depth == 2 {
		return "array"
	}
	return "object"
}

// open begins a top-level value, or rejects the line that is none.
func (e *Elements) open(c byte) (Piece, bool, error) {
	switch {
	case c == '[' && e.name == "":
		e.take()
		e.depth, e.n = 2, 0
		return Piece{}, false, nil
	case c == '{' && e.name != "":
		e.take()
		e.depth = 1
		return Piece{}, false, nil
	}
	line := e.line
	raw, err := e.restOfLine()
	return Piece{Line: line, Raw: raw, Fault: Faultf("", "not part of a JSON %s", map[bool]string{true: "array", false: "object"}[e.name == ""])}, true, err
}

// member reads one member of a top-level object: it goes into the array that is looked for and
// passes over everything else.
func (e *Elements) member(c byte) (Piece, bool, error) {
	switch c {
	case '}':
		e.take()
		e.depth = 0
		return Piece{}, false, nil
	case ',', ':':
		e.take()
		return Piece{}, false, nil
	}
	key, _, err := e.value(c, 1<<16)
	if err != nil {
		return Piece{}, false, ignoreEOF(err)
	}
	if c != '"' || string(key) != strconv.Quote(e.name) {
		return Piece{}, false, nil
	}
	if next, err := e.peek(); err != nil || next != ':' {
		return Piece{}, false, ignoreEOF(err)
	}
	e.take()
	if next, err := e.peek(); err != nil || next != '[' {
		return Piece{}, false, ignoreEOF(err)
	}
	e.take()
	e.depth, e.n = 2, 0
	return Piece{}, false, nil
}

func (e *Elements) element(c byte) (Piece, bool, error) {
	switch c {
	case ']':
		e.take()
		e.depth = 1
		if e.name == "" {
			e.depth = 0
		}
		return Piece{}, false, nil
	case ',':
		e.take()
		return Piece{}, false, nil
	}
	p := Piece{Line: e.line, Where: e.place()}
	e.n++
	raw, long, err := e.value(c, e.max)
	p.Raw = raw
	switch {
	case err == io.EOF:
		e.depth = 0
		p.Fault = Faultf("", "the file ends inside this element")
	case err != nil:
		return Piece{}, false, err
	case long:
		p.Fault = tooLong(e.max)
	}
	return p, true, nil
}

func (e *Elements) place() string {
	if e.depth < 2 {
		return ""
	}
	at := "/" + strconv.Itoa(e.n)
	if e.name != "" {
		return "/" + e.name + at
	}
	return at
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil // Next meets it again and says what was open
	}
	return err
}

// peek returns the next byte that is not white space.
func (e *Elements) peek() (byte, error) {
	for {
		b, err := e.in.Peek(1)
		if len(b) == 0 {
			return 0, err
		}
		switch b[0] {
		case '\n':
			e.line++
		case ' ', '\t', '\r':
		default:
			return b[0], nil
		}
		e.take()
	}
}

func (e *Elements) take() { _, _ = e.in.Discard(1) }

func (e *Elements) restOfLine() ([]byte, error) {
	var raw []byte
	for {
		chunk, err := e.in.ReadSlice('\n')
		if len(raw) <= excerptBytes {
			raw = append(raw, chunk[:min(len(chunk), excerptBytes+1)]...)
		}
		switch err {
		case nil:
			e.line++
			return bytes.TrimSpace(raw), nil
		case io.EOF:
			return bytes.TrimSpace(raw), nil
		case bufio.ErrBufferFull:
		default:
			return nil, err
		}
	}
}

// value reads the value that begins with c, brackets balanced. Of one that is too long it keeps only
// the beginning.
func (e *Elements) value(c byte, max int) (raw []byte, long bool, err error) {
	s := balance{scalar: c != '{' && c != '[' && c != '"'}
	for {
		if _, err := e.in.Peek(1); err != nil {
			if err == io.EOF && s.scalar {
				return raw, long, nil
			}
			return raw, long, err
		}
		chunk, _ := e.in.Peek(e.in.Buffered())
		n, done := s.scan(chunk)
		e.line += int64(bytes.Count(chunk[:n], []byte{'\n'}))
		switch {
		case long:
		case len(raw)+n > max:
			long = true
			raw = append([]byte(nil), append(raw, chunk[:n]...)[:min(len(raw)+n, excerptBytes+1)]...)
		default:
			raw = append(raw, chunk[:n]...)
		}
		_, _ = e.in.Discard(n)
		if done {
			return raw, long, nil
		}
	}
}

// balance finds the end of one JSON value over several chunks.
type balance struct {
	scalar  bool
	begun   bool // of a scalar: its first byte was seen
	depth   int
	text    bool // inside a string
	escaped bool // the next byte is escaped
}

// scan returns how many bytes of chunk belong to the value and whether it ends there.
func (s *balance) scan(chunk []byte) (n int, done bool) {
	if s.scalar {
		from := 0
		if !s.begun {
			from, s.begun = 1, true // it may be a stray delimiter itself
		}
		if i := bytes.IndexAny(chunk[from:], ",]}: \t\r\n"); i >= 0 {
			return from + i, true
		}
		return len(chunk), false
	}
	for n < len(chunk) {
		if s.text {
			if n = s.scanText(chunk, n); s.text {
				return n, false
			}
			if s.depth == 0 {
				return n, true
			}
			continue
		}
		switch chunk[n] {
		case '"':
			s.text = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth == 0 {
				return n + 1, true
			}
		}
		n++
	}
	return n, false
}

// scanText goes on inside a string and returns the place after its end or the end of chunk.
func (s *balance) scanText(chunk []byte, n int) int {
	if s.escaped && n < len(chunk) {
		s.escaped = false
		n++
	}
	for ; n < len(chunk); n++ {
		switch chunk[n] {
		case '"':
			s.text = false
			return n + 1
		case '\\':
			n++
			if n == len(chunk) {
				s.escaped = true
				return n
			}
		}
	}
	return n
}
