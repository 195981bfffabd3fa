package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"assay/internal/durable"
)

// Options of a log. Zero fields take the defaults.
type Options struct {
	Bound   int64 // bytes kept; half of them for the head. Default 256 MiB
	Segment int64 // bytes of a file at most. Default 4 MiB, at most an eighth of Bound
	Secrets []string
	See     func(masked []byte) // is shown all that Write stores or misses, in its order; it may not keep it, nor call the writer
	Room    bool                // keep room for the log to say at its end that the disk stayed full
	Disk    durable.Disk
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
	buf     []byte
	trouble trouble
	sealed  sealer
}

// trouble is what the disk did not take.
type trouble struct {
	all    int64  // bytes
	unsaid int64  // of them, not told in the log yet
	notice []byte // rest of the line that tells it, which was not taken either
	why    error
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
	if err := o.Disk.MakeFolder(dir); err != nil {
		return nil, fmt.Errorf("make folder for the log: %w", err)
	}
	w := &Writer{dir: dir, o: o, masker: masker, sealed: sealer{disk: o.Disk, dir: dir}}
	if err := w.goOn(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if o.Room {
		keepRoom(dir)
	}
	return w, nil
}

// goOn finds the end of what is stored, whatever ended the writer before.
func (w *Writer) goOn() (err error) {
	if w.list, err = measured(w.dir); err != nil {
		return err
	}
	for i := len(w.list) - 1; i >= 0; i-- {
		s := &w.list[i]
		f, err := s.open(w.dir)
		if err != nil {
			return err
		}
		lines, err := s.linesBefore(f, s.end())
		end := []byte{'\n'}
		if s.size > 0 && err == nil {
			_, err = f.ReadAt(end, s.size-1)
		}
		f.Close()
		if err != nil {
			return err
		}
		if i == len(w.list)-1 {
			w.lines = lines
		}
		if w.midline = end[0] != '\n'; s.size > 0 {
			break
		}
	}
	if len(w.list) == 0 {
		w.list = []segment{{}}
	}
	if err := w.open(); err != nil {
		return err
	}
	w.trim()
	return nil
}

func (w *Writer) open() error {
	name := filepath.Join(w.dir, w.list[len(w.list)-1].name())
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		w.file = f
	}
	return err
}

// Write stores p, masked. It always says that all was written: output that the disk does not take is
// dropped, counted, and the log says so when it can, because whoever writes must never wait for it.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = w.masker.Append(w.buf[:0], p)
	w.output(w.buf)
	return len(p), nil
}

// Flush stores what is held back because it may begin a secret: call it when the output has ended. Between
// two writes it would let the halves of a secret through.
func (w *Writer) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.output(w.masker.Rest(nil))
}

func (w *Writer) output(masked []byte) {
	w.store(masked)
	if w.o.See != nil && len(masked) > 0 {
		w.o.See(masked)
	}
}

// Mark stores a line of ours, on a line of its own and masked. Output that is held back comes after it.
func (w *Writer) Mark(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.store(w.marked(w.masker.Text(text)))
}

func (w *Writer) marked(text string) []byte {
	line := "[assay: " + strings.Join(strings.Fields(text), " ") + "]\n"
	if w.midline {
		line = "\n" + line
	}
	return []byte(line)
}

// store puts p, behind what there is to say of bytes that were missed.
func (w *Writer) store(p []byte) {
	t := &w.trouble
	for len(t.notice) > 0 || t.unsaid > 0 {
		begun, said := len(t.notice) > 0, t.unsaid
		if !begun {
			t.notice = w.missed()
		}
		lost := w.put(t.notice)
		if !begun && lost == len(t.notice) { // it counts what is missed meanwhile too
			t.notice, t.unsaid = nil, said
			w.miss(len(p))
			return
		}
		if t.notice = t.notice[len(t.notice)-lost:]; lost > 0 {
			w.miss(len(p))
			return
		}
	}
	w.miss(w.put(p))
}

// missed is the line that tells of bytes of which nothing was said yet.
func (w *Writer) missed() []byte {
	line := w.marked(fmt.Sprintf("%d bytes of output could not be stored here: %v", w.trouble.unsaid, w.trouble.why))
	w.trouble.unsaid = 0
	return line
}

func (w *Writer) miss(n int) {
	w.trouble.all += int64(n)
	w.trouble.unsaid += int64(n)
}

// put stores p over as many segments as it takes, and says how many bytes of its end could not be.
func (w *Writer) put(p []byte) (lost int) {
	for len(p) > 0 {
		last := &w.list[len(w.list)-1]
		n := w.room(last.size, p)
		if n == 0 {
			if err := w.rotate(); err != nil {
				w.trouble.why = reason(err)
				return len(p)
			}
			continue
		}
		n, err := w.file.Write(p[:n])
		last.size += int64(n)
		if n > 0 {
			w.lines += int64(bytes.Count(p[:n], newline))
			w.midline = p[n-1] != '\n'
		}
		p = p[n:]
		if err != nil {
			w.trouble.why = reason(err)
			return len(p)
		}
	}
	return 0
}

// reason is an error without the path, which says nothing to who reads the log.
func reason(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// room is how much of p goes into a segment of that size; 0: it is full. A segment ends with a line where it
// can, else with a character, so that what follows a gap can be read.
func (w *Writer) room(size int64, p []byte) int {
	free := int(max(0, min(w.o.Segment-size, int64(len(p)))))
	if free == len(p) {
		return free
	}
	if i := bytes.LastIndexByte(p[:free], '\n'); i >= 0 {
		return i + 1
	}
	if !w.midline && size >= w.o.Segment/2 && size > 0 {
		return 0
	}
	if n := edge(p[:free]); n > 0 || size > 0 {
		return n
	}
	return free
}

// rotate begins a new segment, and drops those between head and tail that are too many.
func (w *Writer) rotate() error {
	old, full := w.file, w.list[len(w.list)-1]
	w.list = append(w.list, segment{offset: full.end(), line: w.lines})
	if err := w.open(); err != nil {
		w.list = w.list[:len(w.list)-1]
		return err
	}
	w.trim()
	_ = old.Close() // what it has to say came with the writes
	w.sealed.add(full.name())
	return nil
}

// trim drops the oldest segments behind the head until there is room for one more.
func (w *Writer) trim() {
	head, at := 0, int64(0)
	for ; head < len(w.list)-1; head++ { // never the last one
		if s := w.list[head]; s.offset != at || s.end() > w.o.Bound/2 {
			break
		}
		at = w.list[head].end()
	}
	var tail int64
	for _, s := range w.list[head:] {
		tail += s.size
	}
	for tail > w.o.Bound/2-w.o.Segment && head < len(w.list)-1 {
		err := os.Remove(filepath.Join(w.dir, w.list[head].name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return // tried again with the next segment
		}
		tail -= w.list[head].size
		w.list = slices.Delete(w.list, head, head+1)
	}
}

// Stat says how much was stored so far.
func (w *Writer) Stat() Stat {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Stat{Bytes: w.list[len(w.list)-1].end(), Lines: w.lines, Dropped: dropped(w.list), Missed: w.trouble.all}
}

// Close stores what was held back and makes all of it durable: segments, and their names. It fails where the
// end of the output could not be stored; with Room the log says so too.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.output(w.masker.Rest(nil))
	err := errors.Join(w.sealed.wait(), w.o.Disk.SyncFile(w.file), w.file.Close())
	if w.trouble.unsaid > 0 || len(w.trouble.notice) > 0 {
		missing := fmt.Errorf("%d bytes of output could not be stored: %w", w.trouble.all, w.trouble.why)
		err = errors.Join(missing, err, w.lastWord())
	}
	if w.o.Room {
		_ = os.Remove(filepath.Join(w.dir, roomFile)) // it is gone where it was needed
	}
	if err = errors.Join(err, w.o.Disk.SyncPath(w.dir)); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}
