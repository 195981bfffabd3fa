package shim

import (
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

// Files of a launch's folder.
const (
	lockFile   = "lock" // holds the shim's identity, once it lives
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
	Run    string    `json:"run"`
	Launch int       `json:"launch"`
	Argv   []string  `json:"argv"`
	Mark   string    `json:"mark"` // stands in the environment of every process of this launch
	At     time.Time `json:"at"`
}

// born is what shim.json holds.
type born struct {
	Shim process.Identity `json:"shim"`
	Tree process.Remains  `json:"tree"`
	At   time.Time        `json:"at"`
}

// Ended is what exit.json holds.
type Ended struct {
	Exit    assay.Exit       `json:"exit"`
	Harness process.Identity `json:"harness,omitzero"`
	Began   time.Time        `json:"began,omitzero"`
	Log     logs.Stat        `json:"log"`
	Events  int64            `json:"events"`
	Left    []int            `json:"left,omitempty"` // processes that the kernel would not let go
	Told    bool             `json:"told,omitempty"` // ExitOrphaned because the shim was told to end, not for want of a server
}

// Standing is what a launch's folder says.
type Standing string

const (
	Unlaunched Standing = "unlaunched" // nothing was started here
	Starting   Standing = "starting"   // a shim lives, or is being launched, and has not said yet how that went
	Alive      Standing = "alive"
	Finished   Standing = "finished" // exit.json is there
	Dead       Standing = "dead"     // its shim died without a word
)

// Look reads how a launch stands.
func Look(dir string) (Standing, error) {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	// The order of the looks matters: the lock is held from before launch.json is there until after
	// exit.json is there.
	launch := has(launchFile)
	held, err := held(dir)
	switch {
	case err != nil:
		return "", err
	case has(exitFile):
		return Finished, nil
	case held && has(shimFile):
		return Alive, nil
	case held:
		return Starting, nil
	case launch:
		return Dead, nil
	}
	return Unlaunched, nil
}

// held says whether somebody holds the launch's lock.
func held(dir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the launch: %w", err)
	}
	defer f.Close()
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("look at the launch's lock: %w", err)
	}
	return false, nil
}

// Born says whether the shim came so far as to say that its harness runs.
func Born(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, shimFile))
	return err == nil
}

// ReadExit reads exit.json.
func ReadExit(dir string) (e Ended, err error) { return e, readJSON(dir, exitFile, &e) }
