// Package pipe reads pipes of which somebody may hold the other end for ever.
package pipe

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Reader reads a pipe to its end, or to its deadline and then what is in it at that moment: what was written
// before the deadline is never lost, however late it is read, and a writer that stays cannot hold the
// reader.
type Reader struct {
	f    *os.File
	past bool
	room int // after the deadline, for what others write meanwhile
}

// most is more than a pipe holds.
const most = 1 << 20

// NewReader reads a pipe that may have deadlines.
func NewReader(f *os.File) *Reader { return &Reader{f: f} }

func (e *Reader) Read(p []byte) (n int, err error) {
	if !e.past {
		if n, err = e.f.Read(p); !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		e.past, e.room = true, most
		_ = e.f.SetReadDeadline(time.Time{})
	}
	raw, err := e.f.SyscallConn()
	if err != nil || e.room <= 0 {
		return 0, io.EOF
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, failed = ignoringInterrupts(func() (int, error) { return unix.Read(int(fd), p[:min(len(p), e.room)]) })
		return true // nothing is there: it does not wait
	})
	if err != nil || failed != nil || n <= 0 {
		return 0, io.EOF
	}
	e.room -= n
	return n, nil
}

func ignoringInterrupts(f func() (int, error)) (n int, err error) {
	for {
		if n, err = f(); err != unix.EINTR {
			return n, err
		}
	}
}
