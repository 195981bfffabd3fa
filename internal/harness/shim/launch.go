package shim

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/assay"
)

// Order says what a shim is to run. What is secret of it reaches the shim by its standard input, never by
// a file, an argument or a variable of its own.
type Order struct {
	Run     string   `json:"run"`
	Attempt int      `json:"attempt"`
	LogDir  string   `json:"log_dir"`
	Argv    []string `json:"argv"`
	Cwd     string   `json:"cwd"`
	Env     []string `json:"env"`     // the whole environment; the shim's own variables come on top
	Secrets []string `json:"secrets"` // masked in the output

	TimeLimit   time.Duration   `json:"time_limit"` // 0: none
	Grace       time.Duration   `json:"grace"`
	OrphanGrace time.Duration   `json:"orphan_grace"`
	LogBytes    int64           `json:"log_bytes"`
	Experiment  *assay.LinkRule `json:"experiment,omitempty"`

	Mark string `json:"mark"` // set by Launch
}

// MarkVariable names the variable by which the processes of an attempt are found again.
const MarkVariable = "ASSAY_ATTEMPT"

// The lock is the first descriptor that a shim inherits.
const lockDescriptor = 3

// ErrHeld says that a shim lives in this folder already.
var ErrHeld = errors.New("a shim holds this attempt already")

// Launch starts a shim in the attempt's folder. self is the program that calls Main for the arguments
// "shim DIR". It returns once the shim has its order: whether the harness starts is in the folder later.
// An attempt is launched once; ErrHeld says that it was.
func Launch(self, dir string, o Order) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("launch: make the attempt's folder: %w", err)
	}
	lock, err := takeLock(dir)
	if err != nil {
		return err
	}
	defer lock.Close() // the shim's copy holds it
	if _, err := os.Lstat(filepath.Join(dir, launchFile)); err == nil {
		return ErrHeld
	}
	o.Mark = MarkVariable + "=" + o.Run + "-" + strconv.Itoa(o.Attempt) + "-" + rand.Text()
	if err := writeJSON(dir, launchFile, launched{Run: o.Run, Attempt: o.Attempt, Argv: o.Argv, Mark: o.Mark, At: time.Now().UTC()}); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	return start(self, dir, o, lock)
}

func takeLock(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("launch: open the attempt's lock: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrHeld
		}
		return nil, fmt.Errorf("launch: take the attempt's lock: %w", err)
	}
	return lock, nil
}

// start runs the shim in a session of its own: what ends the server's group or terminal leaves it alone.
func start(self, dir string, o Order, lock *os.File) error {
	order, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	says, err := os.OpenFile(filepath.Join(dir, outputFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	defer says.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	defer r.Close()
	defer w.Close()
	cmd := &exec.Cmd{Path: self, Args: []string{"assay", "shim", dir}, Dir: "/", Stdin: r, Stdout: says, Stderr: says,
		Env: []string{"GOMAXPROCS=2", "GOGC=50", "PATH=" + os.Getenv("PATH")}, ExtraFiles: []*os.File{lock}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("launch: start the shim: %w", err)
	}
	go cmd.Wait() // or it stays a zombie for as long as this process lives
	r.Close()
	// A shim that died at once cannot hold this up: the pipe then breaks.
	if _, err := w.Write(order); err != nil {
		return fmt.Errorf("launch: the shim died at its start (%s tells more): %w", filepath.Join(dir, outputFile), err)
	}
	return nil
}
