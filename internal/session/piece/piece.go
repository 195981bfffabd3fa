// Package piece cuts a file into pieces that hold one session each and reads a piece as people's
// files really are: with invalid UTF-8, lone surrogates, NUL bytes and bare NaN.
//
// It owns where a piece begins and ends, its line number, the bound on its size and what happens to
// broken text. It refuses to know any format's fields. Its invariant: whatever the bytes are, cutting
// goes on to the end of the file, holds at most one piece in memory and never loses a piece silently:
// each ends as a Record, with a session or with a Fault that says where and why.
package piece

import (
	"fmt"
	"unicode/utf8"

	"assay/internal/assay"
)

// MaxBytes bounds one piece: a longer one is rejected and skipped without being held in memory.
const MaxBytes = 256 << 20

// Piece is the raw text that may hold one session.
type Piece struct {
	Line  int64  // of its first byte, from 1
	Where string // inside that line: "/3" for the fourth element of an array, "" for the line itself
	Raw   []byte // its own memory
	Fault *Fault // it could not be cut whole
}

// Cutter yields pieces in order. It ends with io.EOF; another error is the reader's own.
type Cutter interface {
	Next() (Piece, error)
}

// Record is what became of a piece: a session, or a Fault.
type Record struct {
	Line     int64
	Session  *assay.Session
	Labels   []assay.Label // session and content are filled in by whoever stores them
	Repaired bool          // some text was not valid and was replaced
	Fault    *Fault
	Excerpt  string // of a piece with a Fault
}

// Fault says why a piece did not become a session. Where is a JSON pointer inside the piece's line.
type Fault struct {
	Where  string
	Reason string
}

func (f *Fault) Error() string {
	if f.Where == "" {
		return f.Reason
	}
	return f.Where + ": " + f.Reason
}

// Faultf makes a Fault at a place.
func Faultf(where, format string, args ...any) *Fault {
	return &Fault{Where: where, Reason: fmt.Sprintf(format, args...)}
}

// Parse is a format's reading of one piece. It is pure and may run on many goroutines at once.
type Parse func(raw []byte) Record

// Read applies parse to p and fills in place and excerpt.
func (p Piece) Read(parse Parse) Record {
	r := Record{Fault: p.Fault}
	if r.Fault == nil {
		r = parse(p.Raw)
	}
	if r.Fault == nil && r.Session != nil {
		r.Fault = Normalize(r.Session)
	}
	r.Line = p.Line
	if r.Fault != nil {
		r.Session, r.Labels = nil, nil
		r.Fault = &Fault{Where: p.Where + r.Fault.Where, Reason: r.Fault.Reason}
		r.Excerpt = Excerpt(p.Raw)
	}
	return r
}

const excerptBytes = 200

// Excerpt is the beginning of raw as valid text without NUL.
func Excerpt(raw []byte) string {
	cut := len(raw) > excerptBytes
	if cut {
		raw = raw[:excerptBytes]
		for i := 0; i < utf8.UTFMax && len(raw) > 0 && !utf8.Valid(raw[max(0, len(raw)-utf8.UTFMax):]); i++ {
			raw = raw[:len(raw)-1]
		}
	}
	text := []rune(string(raw))
	for i, r := range text {
		if r == 0 {
			text[i] = utf8.RuneError
		}
	}
	if cut {
		return string(text) + "…"
	}
	return string(text)
}
