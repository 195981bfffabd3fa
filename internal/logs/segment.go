package logs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
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
	size         int64
}

func (s segment) end() int64 { return s.offset + s.size }

func (s segment) name() string { return fmt.Sprintf("%020d-%012d", s.offset, s.line) }

// segments lists what is stored in a folder, in the order of the stream. A folder that is not there
// holds nothing yet.
func segments(dir string) (list []segment, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	for _, e := range entries {
		offset, line, ok := strings.Cut(e.Name(), "-")
		o, err1 := strconv.ParseInt(offset, 10, 64)
		l, err2 := strconv.ParseInt(line, 10, 64)
		if !ok || err1 != nil || err2 != nil {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was between head and tail, and went away
		}
		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		list = append(list, segment{offset: o, line: l, size: info.Size()})
	}
	slices.SortFunc(list, func(a, b segment) int { return cmp.Compare(a.offset, b.offset) })
	return list, nil
}

// read reads from a segment: up to len(buf) bytes from offset at of the stream.
func (s segment) read(dir string, buf []byte, at int64) (int, error) {
	f, err := os.Open(filepath.Join(dir, s.name()))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := f.ReadAt(buf, at-s.offset)
	if n > 0 {
		err = nil
	}
	return n, err
}

// linesBefore counts the lines that ended before offset at of the stream, which lies in s.
func (s segment) linesBefore(dir string, at int64) (int64, error) {
	f, err := os.Open(filepath.Join(dir, s.name()))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines, left := s.line, at-s.offset
	buf := make([]byte, 64<<10)
	for left > 0 {
		n, err := f.Read(buf[:min(left, int64(len(buf)))])
		lines += int64(bytes.Count(buf[:n], newline))
		left -= int64(n)
		if err != nil || n == 0 {
			break
		}
	}
	return lines, nil
}

var newline = []byte{'\n'}

// Stat says how much was written, and how much of it is not stored any more.
type Stat struct {
	Bytes   int64 `json:"bytes"`
	Lines   int64 `json:"lines"`   // that ended
	Dropped int64 `json:"dropped"` // bytes between head and tail
}

// Size reads how large a log is.
func Size(dir string) (s Stat, err error) {
	list, err := segments(dir)
	if err != nil || len(list) == 0 {
		return s, err
	}
	last := list[len(list)-1]
	if s.Lines, err = last.linesBefore(dir, last.end()); err != nil {
		return s, fmt.Errorf("read log: %w", err)
	}
	s.Bytes, s.Dropped = last.end(), dropped(list)
	return s, nil
}

func dropped(list []segment) (n int64) {
	at := int64(0)
	for _, s := range list {
		n += max(0, s.offset-at)
		at = s.end()
	}
	return n
}
