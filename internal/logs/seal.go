package logs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"assay/internal/durable"
)

// sealer makes segments durable that are not written to any more, behind the back of who writes: it must not
// wait for a disk.
type sealer struct {
	disk durable.Disk
	dir  string

	mu      sync.Mutex
	waiting []string
	busy    bool
	err     error // the first one
	work    sync.WaitGroup
}

// add is not called beside wait.
func (s *sealer) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, name)
	if !s.busy {
		s.busy = true
		s.work.Go(s.run)
	}
}

func (s *sealer) run() {
	for name, ok := s.next(); ok; name, ok = s.next() {
		err := s.disk.SyncPath(filepath.Join(s.dir, name))
		if err == nil {
			err = s.disk.SyncPath(s.dir) // the name of the one that follows it
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it was dropped, as others between head and tail
			s.mu.Lock()
			s.err = errors.Join(s.err, err)
			s.mu.Unlock()
		}
	}
}

func (s *sealer) next() (name string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || len(s.waiting) == 0 {
		s.busy = false
		return "", false
	}
	name, s.waiting = s.waiting[0], s.waiting[1:]
	return name, true
}

func (s *sealer) wait() error {
	s.work.Wait()
	return s.err
}

// The room is a file beside the segments. On a full disk it becomes the last segment: to write over it takes
// no new space.
const (
	roomFile = "room"
	roomSize = 1 << 10
)

func keepRoom(dir string) {
	_ = os.WriteFile(filepath.Join(dir, roomFile), bytes.Repeat([]byte{' '}, roomSize), 0o600) // without it the end says less
}

// lastWord stores what there is to say of bytes that were missed, in the room that was kept for it.
func (w *Writer) lastWord() error {
	t := &w.trouble
	text := t.notice
	if t.unsaid > 0 {
		w.midline = w.midline && len(text) == 0 // a notice ends its line
		text = append(text, w.missed()...)
	}
	room := filepath.Join(w.dir, roomFile)
	f, err := os.OpenFile(room, os.O_WRONLY, 0)
	if err != nil {
		return nil // none was kept
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Truncate(int64(len(text)))
	}
	if err == nil {
		err = w.o.Disk.SyncFile(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	last := segment{offset: w.list[len(w.list)-1].end(), line: w.lines}
	if err := os.Rename(room, filepath.Join(w.dir, last.name())); err != nil {
		return err
	}
	if end := len(w.list) - 1; w.list[end].size == 0 { // it had the same name
		w.list = w.list[:end]
	}
	last.size = int64(len(text))
	w.list, w.lines = append(w.list, last), w.lines+int64(bytes.Count(text, newline))
	return nil
}
