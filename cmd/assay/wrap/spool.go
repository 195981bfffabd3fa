package wrap

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/assay"
	"assay/internal/durable"
	"assay/internal/engine"
	"assay/internal/harness/report"
)

// Start is what wrap.json holds: all that the server must know before the first report.
type Start struct {
	Project string `json:"project"`
	Key     string `json:"key"` // Idempotency-Key of the start
	Place
	Ask engine.ExternalRequest `json:"start"`
	At  time.Time              `json:"at"`
}

// Place is where a run is told. A server's address, or what is served on this machine: a data folder, or a
// database.
type Place struct {
	Server   string `json:"server,omitempty"`
	Data     string `json:"data,omitempty"`     // absolute
	Database string `json:"database,omitempty"` // a hash of its URL, which may hold a password
}

// spool is the folder of one wrapped command.
type spool struct {
	dir   string
	disk  durable.Disk
	lock  *os.File
	start Start

	mu     sync.Mutex
	events *os.File // appended
}

// Files of a spool.
const (
	startFile  = "wrap.json"
	eventsFile = "events"
	finishFile = "finish.json"
	sentFile   = "sent.json"
	lockFile   = "lock"
	logDir     = "log"
	fifoFile   = "report"
)

// sent is what the server is known to have.
type sent struct {
	Run    assay.RunID `json:"run"`
	Log    int64       `json:"log"`    // offset
	Events int64       `json:"events"` // offset in the file
}

// errBusy says that another process writes or sends a spool.
var errBusy = errors.New("another process uses it")

// newSpool makes a folder below root that only this user can read.
func newSpool(root string, s Start, disk durable.Disk) (*spool, error) {
	if err := disk.MakeFolder(root); err != nil {
		return nil, fmt.Errorf("make folder for reports: %w", err)
	}
	dir, err := os.MkdirTemp(root, s.At.UTC().Format("20060102T150405Z-")+"*")
	if err == nil {
		err = disk.SyncPath(root)
	}
	if err != nil {
		return nil, fmt.Errorf("make folder for reports: %w", err)
	}
	sp := &spool{dir: dir, disk: disk, start: s}
	if sp.lock, err = takeLock(dir); err != nil {
		return nil, err
	}
	if err := sp.write(startFile, s); err != nil {
		return nil, err
	}
	sp.events, err = os.OpenFile(filepath.Join(dir, eventsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep reports: %w", err)
	}
	return sp, nil
}

// openSpool opens one that an earlier process left.
func openSpool(dir string) (sp *spool, err error) {
	sp = &spool{dir: dir}
	if err := durable.ReadJSON(dir, startFile, &sp.start); err != nil { // first: nothing is written into a folder that is none
		return nil, err
	}
	sp.lock, err = takeLock(dir)
	return sp, err
}

func takeLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, errBusy
	}
	return f, nil
}

func (s *spool) close() {
	if s.events != nil {
		s.events.Close()
	}
	s.lock.Close()
}

// drop removes a spool of which everything was told.
func (s *spool) drop() error {
	s.close()
	return os.RemoveAll(s.dir)
}

// write makes a file appear whole and for good, or not at all.
func (s *spool) write(name string, v any) error { return s.disk.WriteJSON(s.dir, name, v) }

// seal makes the events durable: the command has ended.
func (s *spool) seal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.disk.SyncFile(s.events)
}

func (s *spool) path(name string) string { return filepath.Join(s.dir, name) }

// add appends events. One that cannot be kept is lost: nothing may hold the command up.
func (s *spool) add(events ...report.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		if raw, err := json.Marshal(e); err == nil {
			_, _ = s.events.Write(append(raw, '\n'))
		}
	}
}

// Bounds of one report: what a server takes at once.
const (
	mostEvents = 100
	mostLog    = 256 << 10
)

// next reads events from an offset of the file on, and returns where they end. A line that is not whole yet
// is left.
func (s *spool) next(from int64) (events []report.Event, to int64, err error) {
	f, err := os.Open(s.path(eventsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, from, nil
	}
	if err != nil {
		return nil, from, err
	}
	defer f.Close()
	if _, err := f.Seek(from, 0); err != nil {
		return nil, from, err
	}
	to = from
	for lines := bufio.NewReaderSize(f, 2*report.MaxLine); len(events) < mostEvents; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		to += int64(len(line))
		var e report.Event
		if json.Unmarshal(line, &e) == nil { // a line that a crash cut is left out
			events = append(events, e)
		}
	}
	return events, to, nil
}

func (s *spool) sent() (b sent, err error) {
	err = durable.ReadJSON(s.dir, sentFile, &b)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	return b, err
}

// finished returns how the command ended. A spool without it is that of a wrap that was killed: what became
// of its command is not known.
func (s *spool) finished() (f *engine.Finish, err error) {
	f = &engine.Finish{}
	if err := durable.ReadJSON(s.dir, finishFile, f); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	return f, nil
}

// Left lists the spools below root that earlier processes left, oldest first.
func Left(root string) []string {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(root, e.Name(), startFile)); err == nil && e.IsDir() {
			dirs = append(dirs, filepath.Join(root, e.Name()))
		}
	}
	return dirs
}
