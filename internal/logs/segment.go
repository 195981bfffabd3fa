package logs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// segment is one file of a log.
type segment struct {
	offset, line int64 // of its first byte; lines before it
	size         int64 // as far as the one who holds it knows
}

func (s segment) end() int64 { return s.offset + s.size }

func (s segment) name() string { return fmt.Sprintf("%020d-%012d", s.offset, s.line) }

// parse reads a segment's name. Anything else in the folder is none of ours.
func parse(name string) (s segment, ok bool) {
	const offset, all = 20, 33
	if len(name) != all || name[offset] != '-' || strings.Trim(name[:offset]+name[offset+1:], "0123456789") != "" {
		return s, false
	}
	var err1, err2 error
	s.offset, err1 = strconv.ParseInt(name[:offset], 10, 64)
	s.line, err2 = strconv.ParseInt(name[offset+1:], 10, 64)
	return s, err1 == nil && err2 == nil
}

// segments lists what is stored in a folder, in the order of the stream and without sizes. A folder that is
// not there holds nothing yet.
func segments(dir string) (list []segment, err error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the folder itself went away
		return nil, err
	}
	for _, name := range names {
		if s, ok := parse(name); ok {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b segment) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.line, b.line))
	})
	return list, nil
}

// measured lists segments with their sizes. One that went away meanwhile is left out, but not the last one:
// the log ends somewhere else by now.
func measured(dir string) ([]segment, error) {
	list, err := segments(dir)
	if err != nil {
		return nil, err
	}
	kept := list[:0]
	for i, s := range list {
		info, err := os.Stat(filepath.Join(dir, s.name()))
		if errors.Is(err, fs.ErrNotExist) && i < len(list)-1 {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.size = info.Size()
		kept = append(kept, s)
	}
	return kept, nil
}

// open opens a segment to read and measures it.
func (s *segment) open(dir string) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, s.name()))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	s.size = info.Size()
	return f, nil
}

// linesBefore counts the lines that ended before offset at of the stream, which lies in s or at its end.
func (s segment) linesBefore(f io.ReaderAt, at int64) (int64, error) {
	lines := s.line
	err := scan(f, at-s.offset, func(_ int64, part []byte) bool {
		lines += int64(bytes.Count(part, newline))
		return true
	})
	return lines, err
}

// scan reads the first bytes of a segment part by part, until see says that it has enough.
func scan(f io.ReaderAt, size int64, see func(at int64, part []byte) (more bool)) error {
	buf := make([]byte, min(size, 256<<10))
	for at := int64(0); at < size; {
		n, err := f.ReadAt(buf[:min(size-at, int64(len(buf)))], at)
		if n > 0 && !see(at, buf[:n]) {
			return nil
		}
		at += int64(n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var newline = []byte{'\n'}

// stable asks again when a segment went away between the moment it was listed and the one it was opened:
// only the writer removes segments, one in many megabytes.
func stable[T any](ask func() (T, error)) (v T, err error) {
	for range 100 {
		if v, err = ask(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("read log: %w", err)
	}
	return v, err
}

// Stat says how much was written, and how much of it is not stored any more.
type Stat struct {
	Bytes   int64 `json:"bytes"`            // of the stream: the offset at which it goes on
	Lines   int64 `json:"lines"`            // that ended
	Dropped int64 `json:"dropped"`          // bytes between head and tail: they have offsets, and are not stored any more
	Missed  int64 `json:"missed,omitempty"` // bytes that the disk did not take: they never had an offset. Only the writer knows
}

// Size reads how large a log is.
func Size(dir string) (Stat, error) {
	return stable(func() (st Stat, err error) {
		list, err := measured(dir)
		if err != nil || len(list) == 0 {
			return st, err
		}
		last := &list[len(list)-1]
		f, err := last.open(dir)
		if err != nil {
			return st, err
		}
		defer f.Close()
		st.Bytes, st.Dropped = last.end(), dropped(list)
		st.Lines, err = last.linesBefore(f, last.end())
		return st, err
	})
}

// dropped counts the bytes between segments.
func dropped(list []segment) (n int64) {
	at := int64(0)
	for _, s := range list {
		n += max(0, s.offset-at)
		at = s.end()
	}
	return n
}
