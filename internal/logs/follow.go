package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"time"
	"unicode/utf8"
)

// Tail reads the last lines, at most so many bytes of them. A line that has not ended counts as one. Follow
// goes on at To; a half character or sequence at the end is left to it.
func Tail(dir string, lines, most int) (Chunk, error) {
	c, err := stable(func() (c Chunk, err error) {
		list, err := measured(dir)
		if err != nil || len(list) == 0 {
			return c, err
		}
		i := len(list) - 1
		end := list[i].end()
		for i > 0 && list[i].offset > end-int64(most) && list[i-1].end() == list[i].offset {
			i--
		}
		from := max(list[i].offset, end-int64(most))
		r := reader{dir: dir, at: from, line: -1}
		if from == end { // nothing is asked for, or there is nothing yet
			c, _, f, err := r.begin(list)
			if f != nil {
				f.Close()
			}
			return c, err
		}
		if c, err = r.read(int(end-from), false); err == nil && (c.Gap > 0 || r.ends == atGap) {
			err = fs.ErrNotExist // the end is somewhere else by now
		}
		c.last(lines)
		return c, err
	})
	c.Gap = 0
	return c, err
}

// last leaves the last lines of c.
func (c *Chunk) last(lines int) {
	cut := len(c.Data)
	if lines > 0 {
		cut = len(bytes.TrimSuffix(c.Data, newline))
	}
	for ; lines > 0 && cut >= 0; lines-- {
		cut = bytes.LastIndexByte(c.Data[:cut], '\n')
		if lines == 1 {
			cut++ // behind the newline, or all
		}
	}
	cut = max(0, cut)
	for i := 1; i < utf8.UTFMax && cut < len(c.Data) && !utf8.RuneStart(c.Data[cut]); i++ { // most cut a character
		cut++
	}
	c.Line += int64(bytes.Count(c.Data[:cut], newline))
	c.From, c.Data = c.From+int64(cut), c.Data[cut:]
}

// How often a growing log is looked at: soon while it grows, seldom while it does not.
const (
	followSoon   = 15 * time.Millisecond
	followSeldom = 60 * time.Millisecond
	followBytes  = 256 << 10
)

// Follow calls f with what there is from an offset on and with what comes, until ended says that nothing
// will come and all was told, ctx ends (nil), or f fails.
func Follow(ctx context.Context, dir string, offset int64, ended func() bool, f func(Chunk) error) error {
	r := reader{dir: dir, at: max(0, offset), line: -1}
	for wait := followSoon; ctx.Err() == nil; {
		last := ended() // before the read: what was written before the end is told
		c, err := r.next(followBytes, last)
		if err != nil {
			return err
		}
		if len(c.Data) > 0 {
			if err := f(c); err != nil {
				return err
			}
			wait = followSoon
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
	r := reader{dir: dir, line: -1, reuse: true}
	for midline := false; ; {
		before := max(0, r.line)
		c, err := r.next(1<<20, true)
		if err != nil || len(c.Data) == 0 {
			return err
		}
		if c.Gap > 0 {
			text := fmt.Sprintf("[assay: %d bytes of output are left out here, %d lines]\n", c.Gap, c.Line-before)
			if midline {
				text = "\n" + text
			}
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
		}
		if _, err := w.Write(c.Data); err != nil {
			return err
		}
		midline = c.Data[len(c.Data)-1] != '\n'
	}
}
