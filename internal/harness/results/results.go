// Package results reads what evaluation harnesses leave behind: result files become cases.
//
// It is pure: bytes in, cases out; it opens no file, asks no network and expands no XML entity. Its
// invariant: what a harness did not judge is never a verdict. A case that broke is errored, one without a
// score is ungradable, and a file of which a part cannot be read yields its other cases and an error that
// says where the bad part is. A case is bounded, and beside one of them only
// what tells their names apart is held in memory.
package results

import (
	"errors"
	"io"

	"assay/internal/assay"
	"assay/internal/logs"
)

// Options of a reading. Zero fields take the defaults.
type Options struct {
	Most int64        // cases that one file may hold. Default 200,000
	Mask *logs.Masker // takes secrets out of every text that is read; nil takes none
}

const defaultMost = 200_000

// Read gives the cases of a result file of size bytes to f, one at a time, in an order that does not change
// from one reading to the next. Run and Seq are not set; Repeat counts from 0, and Key with Repeat is
// there once.
//
// An error of f ends the reading and is returned as it is. What is wrong with the file is an *Error that
// counts everything and keeps the first places, after every case that could be read was given; Whole says
// whether such a file may count as read. name is for errors only.
func Read(format assay.ResultFormat, name string, r io.ReaderAt, size int64, with Options, f func(assay.Case) error) error {
	if with.Most <= 0 {
		with.Most = defaultMost
	}
	o := &out{f: f, most: with.Most, mask: with.Mask, faults: &Error{Name: name, mask: with.Mask}}
	read, known := readers[format]
	if !known {
		return assay.Errorf(assay.CodeInvalid, "result format %.40q is not known", format).
			WithHint("write promptfoo, inspect, junit or assay")
	}
	err := errUTF16
	if !inUTF16(r) {
		err = read(r, size, o)
	}
	var stop *stopped
	if errors.As(err, &stop) {
		return stop.err
	}
	if err != nil && !errors.Is(err, errEnough) {
		o.faults.add("", "%s", err.Error())
	}
	if o.faults.Count == 0 {
		return nil
	}
	return o.faults
}

var readers = map[assay.ResultFormat]func(io.ReaderAt, int64, *out) error{
	assay.ResultPromptfoo: readPromptfoo,
	assay.ResultInspect:   readInspect,
	assay.ResultJUnit:     readJUnit,
	assay.ResultAssay:     readOwn,
}

var errUTF16 = errors.New("it is written in UTF-16; write it in UTF-8")

// inUTF16 looks for what PowerShell writes, and for ASCII that is every other byte.
func inUTF16(r io.ReaderAt) bool {
	var b [2]byte
	n, _ := r.ReadAt(b[:], 0)
	return n == 2 && (b == [2]byte{0xFF, 0xFE} || b == [2]byte{0xFE, 0xFF} || (b[0] == 0) != (b[1] == 0))
}

// out takes the cases of one file and gives them away.
type out struct {
	f      func(assay.Case) error
	most   int64
	mask   *logs.Masker
	given  int64
	names  Names
	faults *Error
}

// stopped wraps an error of the taker, so that nothing mistakes it for one of the file.
type stopped struct{ err error }

func (s *stopped) Error() string { return s.err.Error() }

// errEnough ends the reading at the bound.
var errEnough = errors.New("enough")

// give bounds and names a case and gives it away.
func (o *out) give(c assay.Case) error {
	if o.given >= o.most {
		o.faults.add("", "it holds more than %d cases; the rest was left out", o.most)
		return errEnough
	}
	bound(&c)
	o.names.Place(&c)
	o.given++
	if err := o.f(c); err != nil {
		return &stopped{err}
	}
	return nil
}

// fatal says whether err must end the reading, as opposed to a fault of one part.
func fatal(err error) bool {
	var stop *stopped
	return errors.As(err, &stop) || errors.Is(err, errEnough)
}
