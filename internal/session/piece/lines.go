package piece

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Lines cuts at line feeds: one value a line. Blank lines are passed over and counted.
type Lines struct {
	in   *bufio.Reader
	max  int
	line int64
}

// NewLines cuts what in yields; pieces longer than max bytes are faults.
func NewLines(in *bufio.Reader, max int) *Lines { return &Lines{in: in, max: max} }

func (l *Lines) Next() (Piece, error) {
	for {
		raw, long, err := l.read()
		if err != nil {
			return Piece{}, err
		}
		l.line++
		if long {
			return Piece{Line: l.line, Raw: raw, Fault: tooLong(l.max)}, nil
		}
		if raw = bytes.TrimSpace(raw); len(raw) > 0 {
			return Piece{Line: l.line, Raw: raw}, nil
		}
	}
}

// read returns the next line. Of a line that is too long it keeps only the beginning.
func (l *Lines) read() (raw []byte, long bool, err error) {
	for {
		chunk, err := l.in.ReadSlice('\n')
		if len(raw)+len(chunk) > l.max+len("\r\n") {
			raw, long = append([]byte(nil), raw[:min(len(raw), excerptBytes+1)]...), true
			chunk = chunk[:min(len(chunk), excerptBytes+1)]
		}
		if !long || len(raw) <= excerptBytes {
			raw = append(raw, chunk...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if err == io.EOF && len(raw) > 0 {
				err = nil
			}
			return raw, long, err
		}
	}
}

func tooLong(max int) *Fault {
	return Faultf("", "longer than the bound of %d MB for one session", max>>20)
}
