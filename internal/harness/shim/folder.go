package shim

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/assay"
	"assay/internal/durable"
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

// Protocol is the version of what servers and shims say to each other: the order, the socket, shim.json,
// events and exit.json. A server may be older or newer than a shim that it finds. In every version the same are
// the lock with the shim's identity in it, protocol, mark and control group in launch.json, that exit.json is
// there at the end, what it says of a launch that failed, and that a connection keeps a harness from being an
// orphan: so each version can tell that it does not understand the other, wait for it, and end it.
const Protocol = 1

// launched is what launch.json holds: what may be known of a launch by whoever reads the folder.
type launched struct {
	Protocol int      `json:"protocol"`
	Run      string   `json:"run"`
	Launch   int      `json:"launch"`
	Argv     []string `json:"argv"`
	Mark     string   `json:"mark"` // stands in the environment of every process of this launch
	// Cgroup is the folder of the control group that the harness may get: a shim that dies at once leaves it.
	Cgroup string    `json:"cgroup,omitempty"`
	At     time.Time `json:"at"`
}

// started is what shim.json holds.
type started struct {
	Shim process.Identity `json:"shim"`
	Tree process.Remains  `json:"tree"`
	At   time.Time        `json:"at"`
}

// Ended is what exit.json holds.
type Ended struct {
	Exit       assay.Exit       `json:"exit"`
	Harness    process.Identity `json:"harness,omitzero"`
	Began      time.Time        `json:"began,omitzero"`
	Log        logs.Stat        `json:"log"`
	Events     int64            `json:"events"`
	Left       []int            `json:"left,omitempty"`       // processes that the kernel would not let go
	Terminated bool             `json:"terminated,omitempty"` // ExitOrphaned because the shim was told to end, not for want of a server
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

// Started says whether the shim came so far as to say that its harness runs.
func Started(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, shimFile))
	return err == nil
}

// ReadExit reads exit.json.
func ReadExit(dir string) (e Ended, err error) { return e, durable.ReadJSON(dir, exitFile, &e) }

// Understood is an error where another version of Assay launched what is in the folder, whose shim says what
// this one does not understand.
func Understood(dir string) error {
	var l launched
	err := durable.ReadJSON(dir, launchFile, &l)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && l.Protocol != Protocol {
		err = fmt.Errorf("it was launched by another version of Assay, whose shims speak protocol %d, and this one speaks %d", l.Protocol, Protocol)
	}
	return err
}

// exitRoom is more than exit.json takes.
const exitRoom = 2 << 10

// keepRoom has room for exit.json on the disk, which the harness's output may fill. Without it the file is
// tried for a while.
func keepRoom(dir string) {
	_ = os.WriteFile(filepath.Join(dir, exitFile+durable.New), bytes.Repeat([]byte{' '}, exitRoom), 0o600)
}
