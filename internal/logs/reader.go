package logs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"unicode/utf8"
)

// Chunk is a part of a log.
type Chunk struct {
	From int64  `json:"from"` // offset of its first byte
	To   int64  `json:"to"`   // offset behind its last one: where to go on
	Line int64  `json:"line"` // lines before it
	Gap  int64  `json:"gap"`  // bytes before From that were asked for and are not stored any more
	Data []byte `json:"data"`
}

// Read reads up to most bytes from an offset on, and more where one character or one escape sequence is
// longer. A chunk ends neither inside a character nor inside an escape sequence, except before a gap, in one
// longer than 4 KiB, or at the end where whole says that nothing will follow. From an offset that is not
// stored any more it goes to the next one that is. Without Data there is nothing to read now.
func Read(dir string, offset int64, most int, whole bool) (Chunk, error) {
	r := reader{dir: dir, at: max(0, offset), line: -1}
	return r.next(most, whole)
}

// reader reads chunk after chunk.
type reader struct {
	dir   string
	at    int64
	line  int64  // lines before at; -1: not known
	reuse bool   // a chunk may go into the memory of the one before it
	buf   []byte // that memory
	ends  end    // why the last chunk ends where it does
}

func (r *reader) next(most int, whole bool) (Chunk, error) {
	c, err := stable(func() (Chunk, error) { return r.read(max(1, most), whole) })
	if err != nil {
		return c, err
	}
	r.at, r.line = c.To, c.Line+int64(bytes.Count(c.Data, newline))
	return c, nil
}

func (r *reader) read(most int, whole bool) (Chunk, error) {
	list, err := segments(r.dir)
	if err != nil {
		return Chunk{}, err
	}
	c, list, f, err := r.begin(list)
	if err != nil || f == nil {
		return c, err
	}
	c.Data = r.buf[:0]
	if r.ends, err = c.fill(r.dir, list, f, most); err != nil {
		return c, err
	}
	n := edge(c.Data)
	const longest = maxSequence + utf8.UTFMax
	if n == 0 && r.ends == full && most < longest { // one character or sequence, which is longer
		c, err = r.read(longest, whole)
		c.Data = c.Data[:first(c.Data)]
		c.To = c.From + int64(len(c.Data))
		return c, err
	}
	if r.ends == atGap || r.ends == atEnd && whole {
		n = len(c.Data)
	}
	c.Data = c.Data[:n]
	if r.reuse {
		r.buf = c.Data
	}
	c.skip()
	c.To = c.From + int64(len(c.Data))
	return c, nil
}

// begin finds the segment in which the next chunk begins, opened and first in the rest of the list, and what
// the chunk says of its place; no segment where nothing is stored from there on.
func (r *reader) begin(list []segment) (c Chunk, rest []segment, f *os.File, err error) {
	c.From, c.To, c.Line = r.at, r.at, max(0, r.line)
	i, _ := slices.BinarySearchFunc(list, r.at+1, func(s segment, at int64) int {
		if s.offset < at {
			return -1
		}
		return 1
	})
	for i = max(0, i-1); i < len(list); i++ {
		s := &list[i]
		f, err = s.open(r.dir)
		if errors.Is(err, fs.ErrNotExist) && i < len(list)-1 {
			continue // it went away: the gap is larger than when it was listed
		}
		if err != nil {
			return c, nil, nil, err
		}
		from := max(r.at, s.offset)
		switch {
		case from == s.offset:
			c.Line = s.line
		case r.line < 0:
			c.Line, err = s.linesBefore(f, min(from, s.end()))
		}
		if err == nil && s.end() > r.at {
			c.From, c.Gap = from, from-r.at
			return c, list[i:], f, nil
		}
		f.Close()
		if err != nil {
			return c, nil, nil, err
		}
	}
	return c, nil, nil, nil
}

// end is why a chunk ends.
type end int

const (
	full  end = iota // most was reached
	atGap            // what follows is not stored any more
	atEnd            // nothing follows yet
)

// fill reads up to most bytes from the segments of list, of which f is the first, in one piece.
func (c *Chunk) fill(dir string, list []segment, f *os.File, most int) (ends end, err error) {
	for i := range list {
		s, at := &list[i], c.From+int64(len(c.Data))
		if i > 0 {
			if s.offset > at {
				return atGap, nil
			}
			if len(c.Data) == most {
				return full, nil
			}
			if f, err = s.open(dir); errors.Is(err, fs.ErrNotExist) {
				return atGap, nil
			}
			if err != nil {
				return 0, err
			}
		}
		have, more := len(c.Data), int(min(int64(most-len(c.Data)), max(0, s.end()-at)))
		c.Data = slices.Grow(c.Data, more)
		n, err := f.ReadAt(c.Data[have:have+more], at-s.offset)
		f.Close()
		c.Data = c.Data[:have+n]
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if at+int64(n) < s.end() {
			return full, nil
		}
	}
	return atEnd, nil
}

// skip leaves out the rest of a character that began in a gap.
func (c *Chunk) skip() {
	n := 0
	for c.Gap > 0 && n < min(utf8.UTFMax, len(c.Data))-1 && !utf8.RuneStart(c.Data[n]) {
		n++
	}
	if n < len(c.Data) {
		c.From, c.Gap, c.Data = c.From+int64(n), c.Gap+int64(n), c.Data[n:]
	}
}

// first is the length of the character or sequence with which b begins, or of its half.
func first(b []byte) int {
	n := len(b)
	if n > 0 && b[0] == escape {
		n = sequence(b)
	} else if utf8.FullRune(b) {
		_, n = utf8.DecodeRune(b)
	}
	if n == 0 {
		n = len(b)
	}
	return n
}
