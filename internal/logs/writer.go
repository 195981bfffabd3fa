package logs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Options of a log. Zero fields take the defaults.
type Options struct {
	Bound   int64 // bytes kept; half of them for the head. Default 256 MiB
	Segment int64 // bytes of a file. Default 4 MiB, at most an eighth of Bound
	Secrets []string
}

const (
	defaultBound   = 256 << 20
	defaultSegment = 4 << 20
)

// Writer stores output. It is safe for concurrent use, and no reader can hold it up.
type Writer struct {
	dir     string
	o       Options
	mu      sync.Mutex
	masker  *Masker
	file    *os.File
	list    []segment // as stored; the last one is written to
	lines   int64
	midline bool // the last byte was no line's end
	missed  int64
	why     error // of missed
	buf     []byte
}

// OpenWriter makes the folder, or goes on at its end.
func OpenWriter(dir string, o Options) (*Writer, error) {
	if o.Bound <= 0 {
		o.Bound = defaultBound
	}
	if o.Segment <= 0 {
		o.Segment = defaultSegment
	}
	o.Segment = max(1, min(o.Segment, o.Bound/8))
	masker, err := NewMasker(o.Secrets)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder for the log: %w", err)
	}
	w := &Writer{dir: dir, o: o, masker: masker}
	if w.list, err = segments(dir); err != nil {
		return nil, err
	}
	if len(w.list) == 0 {
		w.list = []segment{{}}
	}
	last := w.list[len(w.list)-1]
	if last.size > 0 {
		if w.lines, err = last.linesBefore(dir, last.end()); err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		end := make([]byte, 1)
		if _, err := last.read(dir, end, last.end()-1); err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		w.midline = end[0] != '\n'
	} else {
		w.lines = last.line
	}
	return w, w.open()
}

func (w *Writer) open() (err error) {
	name := filepath.Join(w.dir, w.list[len(w.list)-1].name())
	if w.file, err = os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	return nil
}

// Write stores p, masked. It always says that all was written: output that the disk does not take is
// dropped, counted, and the log says so when it can, because whoever writes must never wait for it.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = w.masker.Append(w.buf[:0], p)
	w.store(w.buf)
	return len(p), nil
}

// Mark stores a line of ours on a line of its own.
func (w *Writer) Mark(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.store(w.masker.Rest(nil))
	w.store(w.marked(text))
}

func (w *Writer) marked(text string) []byte {
	line := "[assay: " + text + "]\n"
	if w.midline {
		line = "\n" + line
	}
	return []byte(line)
}

func (w *Writer) store(p []byte) {
	if len(p) == 0 {
		return
	}
	if w.missed > 0 {
		text := fmt.Sprintf("%d bytes of output could not be stored: %v", w.missed, w.why)
		w.missed = 0
		if lost := w.put(w.marked(text)); lost > 0 {
			w.missed += int64(len(p))
			return
		}
	}
	w.missed += int64(w.put(p))
}

// put stores p over as many segments as it takes, and says how many bytes could not be.
func (w *Writer) put(p []byte) (lost int) {
	for len(p) > 0 {
		last := &w.list[len(w.list)-1]
		if last.size >= w.o.Segment {
			if w.why = w.rotate(); w.why != nil {
				return len(p)
			}
			continue
		}
		n, err := w.file.Write(p[:min(int64(len(p)), w.o.Segment-last.size)])
		last.size += int64(n)
		if n > 0 {
			w.lines += int64(bytes.Count(p[:n], newline))
			w.midline = p[n-1] != '\n'
		}
		p = p[n:]
		if err != nil {
			w.why = err
			return len(p)
		}
	}
	return 0
}

// rotate begins a new segment, and drops the oldest ones after the head that are too many.
func (w *Writer) rotate() error {
	old := w.file
	w.list = append(w.list, segment{offset: w.list[len(w.list)-1].end(), line: w.lines})
	if err := w.open(); err != nil {
		w.list, w.file = w.list[:len(w.list)-1], old
		return err
	}
	old.Close()
	head := 0
	var tail int64
	for i, s := range w.list {
		if s.end() <= w.o.Bound/2 && i == head && (i == 0 || w.list[i-1].end() == s.offset) {
			head++
		} else {
			tail += s.size
		}
	}
	for tail > w.o.Bound/2-w.o.Segment && head < len(w.list)-1 {
		if err := os.Remove(filepath.Join(w.dir, w.list[head].name())); err != nil {
			return nil // tried again with the next one
		}
		tail -= w.list[head].size
		w.list = append(w.list[:head], w.list[head+1:]...)
	}
	return nil
}

// Stat says how much was stored so far.
func (w *Writer) Stat() Stat {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Stat{Bytes: w.list[len(w.list)-1].end(), Lines: w.lines, Dropped: dropped(w.list)}
}

// Close stores what was held back and makes all of it durable.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.store(w.masker.Rest(nil))
	err := w.file.Sync()
	if closing := w.file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}
