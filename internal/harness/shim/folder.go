package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/assay"
	"assay/internal/logs"
	"assay/internal/process"
)

// Files of an attempt's folder.
const (
	lockFile   = "lock"
	launchFile = "launch.json"
	shimFile   = "shim.json"
	eventsFile = "events"
	exitFile   = "exit.json"
	socketFile = "sock"
	reportFile = "report" // a FIFO
	outputFile = "shim.log"
)

// launched is what launch.json holds: what may be known of a launch by whoever reads the folder.
type launched struct {
	Run     string    `json:"run"`
	Attempt int       `json:"attempt"`
	Argv    []string  `json:"argv"`
	Mark    string    `json:"mark"` // stands in the environment of every process of this attempt
	At      time.Time `json:"at"`
}

// born is what shim.json holds.
type born struct {
	Shim process.Identity `json:"shim"`
	Tree process.Remains  `json:"tree"`
	At   time.Time        `json:"at"`
}

// Ended is what exit.json holds.
type Ended struct {
	Exit   assay.Exit `json:"exit"`
	Log    logs.Stat  `json:"log"`
	Events int64      `json:"events"`
	Left   []int      `json:"left,omitempty"` // processes that the kernel would not let go
}

// Standing is what an attempt's folder says.
type Standing string

const (
	Unlaunched Standing = "unlaunched" // nothing was started here
	Starting   Standing = "starting"   // a shim lives and has not said yet how its launch went
	Alive      Standing = "alive"
	Finished   Standing = "finished" // exit.json is there
	Dead       Standing = "dead"     // its shim died without a word
)

// Look reads how an attempt stands.
func Look(dir string) (Standing, error) {
	// The lock comes first: a shim writes exit.json before it lets go.
	held, err := held(dir)
	if err != nil {
		return "", err
	}
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	switch {
	case has(exitFile):
		return Finished, nil
	case held && has(shimFile):
		return Alive, nil
	case held:
		return Starting, nil
	case has(launchFile):
		return Dead, nil
	}
	return Unlaunched, nil
}

// held says whether somebody holds the attempt's lock.
func held(dir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the attempt: %w", err)
	}
	defer f.Close()
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("look at the attempt's lock: %w", err)
	}
	return false, nil
}

// ReadExit reads exit.json.
func ReadExit(dir string) (e Ended, err error) { return e, readJSON(dir, exitFile, &e) }

// Sweep ends what a dead shim left, and lists what would not go within limit. It is called when Look says
// Dead.
func Sweep(dir string, limit time.Duration) (left []int, err error) {
	var l launched
	if err := readJSON(dir, launchFile, &l); err != nil {
		return nil, err
	}
	var b born
	if err := readJSON(dir, shimFile, &b); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	b.Tree.Mark = l.Mark
	return b.Tree.End(limit), nil
}

func readJSON(dir, name string, v any) error {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// writeJSON makes a file appear whole and for good, or not at all.
func writeJSON(dir, name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(append(raw, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
