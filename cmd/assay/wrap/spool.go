package wrap

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/assay"
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
func newSpool(root string, s Start) (*spool, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("make folder for reports: %w", err)
	}
	dir, err := os.MkdirTemp(root, s.At.UTC().Format("20060102T150405Z-")+"*")
	if err != nil {
		return nil, fmt.Errorf("make folder for reports: %w", err)
	}
	sp := &spool{dir: dir, start: s}
	if sp.lock, err = takeLock(dir); err != nil {
		return nil, err
	}
	if err := writeJSON(dir, startFile, s); err != nil {
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
	if err := readJSON(dir, startFile, &sp.start); err != nil { // first: nothing is written into a folder that is none
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
	err = readJSON(s.dir, sentFile, &b)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	return b, err
}

// finished returns how the command ended. A spool without it is that of a wrap that was killed: what became
// of its command is not known.
func (s *spool) finished() (f *engine.Finish, err error) {
	f = &engine.Finish{}
	if err := readJSON(s.dir, finishFile, f); err != nil {
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

func readJSON(dir, name string, v any) error {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

// writeJSON makes a file appear whole or not at all.
func writeJSON(dir, name string, v any) error {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	path := filepath.Join(dir, name)
	if err == nil {
		err = os.WriteFile(path+".new", raw.Bytes(), 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// mask takes secrets out of a text that is not output.
func mask(text string, secrets []string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "****")
		}
	}
	return text
}
