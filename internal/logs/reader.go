package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"
	"unicode/utf8"
)

// Chunk is a part of a log.
type Chunk struct {
	From int64  `json:"from"` // offset of its first byte
	To   int64  `json:"to"`   // offset behind its last one: where to go on
	Line int64  `json:"line"` // lines before it
	Gap  int64  `json:"gap"`  // bytes before From that are not stored any more
	Data []byte `json:"data"`
}

// maxSequence is how long an escape sequence may be before it is taken for broken.
const maxSequence = 4 << 10

// Read reads up to most bytes from an offset on. A chunk ends neither inside a character nor inside an
// escape sequence, unless whole says that nothing will follow. From an offset that is not stored any more
// it goes to the next one that is.
func Read(dir string, offset int64, most int, whole bool) (Chunk, error) {
	for {
		c, err := read(dir, offset, most, whole)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a segment went away after it was listed
		}
		if err != nil {
			return c, fmt.Errorf("read log: %w", err)
		}
		return c, nil
	}
}

func read(dir string, offset int64, most int, whole bool) (c Chunk, err error) {
	list, err := segments(dir)
	if err != nil {
		return c, err
	}
	offset = max(0, offset)
	i := slices.IndexFunc(list, func(s segment) bool { return s.end() > offset })
	if i < 0 { // at the end, or beyond it
		c.From, c.To = offset, offset
		return c, nil
	}
	c.From = max(offset, list[i].offset)
	c.Gap = c.From - offset
	if c.Line, err = list[i].linesBefore(dir, c.From); err != nil {
		return c, err
	}
	most = max(most, utf8.UTFMax)
	for ; i < len(list) && len(c.Data) < most; i++ {
		at := c.From + int64(len(c.Data))
		if list[i].offset != at && len(c.Data) > 0 {
			break // a gap
		}
		buf := make([]byte, min(int64(most-len(c.Data)), list[i].end()-at))
		n, err := list[i].read(dir, buf, at)
		if err != nil {
			return c, err
		}
		c.Data = append(c.Data, buf[:n]...)
		if n < len(buf) {
			break
		}
	}
	atEnd := i >= len(list) || list[i-1].end() == c.From+int64(len(c.Data)) && i == len(list)
	if !whole || !atEnd {
		c.Data = c.Data[:edge(c.Data)]
	}
	c.To = c.From + int64(len(c.Data))
	return c, nil
}

// edge is the longest beginning of b that ends neither inside a character nor inside an escape sequence;
// all of it where that would be nothing and more of the same would not help.
func edge(b []byte) int {
	n := len(b)
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if r := b[len(b)-i]; utf8.RuneStart(r) {
			if !utf8.FullRune(b[len(b)-i:]) {
				n = len(b) - i
			}
			break
		}
	}
	if esc := bytes.LastIndexByte(b[max(0, n-maxSequence):n], escape); esc >= 0 {
		esc += max(0, n-maxSequence)
		if sequence(b[esc:n]) == 0 && esc > 0 {
			n = esc
		} else if sequence(b[esc:n]) == 0 && n < maxSequence {
			n = 0
		}
	}
	return n
}

// Tail reads the last lines, at most so many bytes of them.
func Tail(dir string, lines, most int) (Chunk, error) {
	list, err := segments(dir)
	if err != nil || len(list) == 0 {
		return Chunk{}, err
	}
	end := list[len(list)-1].end()
	from := max(0, end-int64(most))
	c, err := Read(dir, from, most, true)
	for err == nil && c.To < end { // a gap came in between
		c, err = Read(dir, c.To, most, true)
	}
	if err != nil {
		return c, err
	}
	at := len(c.Data)
	if at > 0 && c.Data[at-1] == '\n' {
		at--
	}
	for range lines {
		if at = bytes.LastIndexByte(c.Data[:at], '\n'); at < 0 {
			break
		}
	}
	cut := at + 1
	if at < 0 && c.From > 0 && c.Gap == 0 { // the first line is cut: begin at a character at least
		for cut = 0; cut < len(c.Data) && !utf8.RuneStart(c.Data[cut]); cut++ {
		}
	}
	c.Line += int64(bytes.Count(c.Data[:cut], newline))
	c.From, c.Data, c.Gap = c.From+int64(cut), c.Data[cut:], 0
	return c, nil
}

// How often a growing log is looked at: soon while it grows, seldom while it does not.
const (
	followSoon   = 15 * time.Millisecond
	followSeldom = 100 * time.Millisecond
	followBytes  = 256 << 10
)

// Follow calls f with what there is from an offset on and with what comes, until ended says that nothing
// will come and all was told, ctx ends (nil), or f fails.
func Follow(ctx context.Context, dir string, offset int64, ended func() bool, f func(Chunk) error) error {
	wait := followSoon
	for ctx.Err() == nil {
		last := ended() // before the read: what was written before the end is told
		c, err := Read(dir, offset, followBytes, last)
		if err != nil {
			return err
		}
		if len(c.Data) > 0 {
			if err := f(c); err != nil {
				return err
			}
			offset, wait = c.To, followSoon
			continue
		}
		if last {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
		wait = min(2*wait, followSeldom)
	}
	return nil
}

// Copy writes all that is stored, with a line where a part is left out.
func Copy(w io.Writer, dir string) error {
	for at := int64(0); ; {
		c, err := Read(dir, at, 1<<20, true)
		if err != nil || len(c.Data) == 0 {
			return err
		}
		if c.Gap > 0 {
			if _, err := fmt.Fprintf(w, "\n[assay: %d bytes of output are left out here]\n", c.Gap); err != nil {
				return err
			}
		}
		if _, err := w.Write(c.Data); err != nil {
			return err
		}
		at = c.To
	}
}
