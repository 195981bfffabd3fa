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
	"assay/internal/durable"
	"assay/internal/logs"
	"assay/internal/process"
)

// Order says what a shim is to run. What is secret of it reaches the shim by its standard input, never by
// a file, an argument or a variable of its own.
type Order struct {
	Run     string   `json:"run"`
	Launch  int      `json:"launch"`
	LogDir  string   `json:"log_dir"`
	Argv    []string `json:"argv"`
	Cwd     string   `json:"cwd"`
	Env     []string `json:"env"`     // the whole environment; the shim's own variables come on top
	Secrets []string `json:"secrets"` // masked in the output and in reports

	TimeLimit   time.Duration   `json:"time_limit"` // 0: none
	Grace       time.Duration   `json:"grace"`
	OrphanGrace time.Duration   `json:"orphan_grace"`
	LogBytes    int64           `json:"log_bytes"`
	Experiment  *assay.LinkRule `json:"experiment,omitempty"`

	// Set by Launch.
	Protocol int    `json:"protocol"`
	Mark     string `json:"mark"`
}

// MarkVariable names the variable by which the processes of a launch are found again.
const MarkVariable = "ASSAY_LAUNCH"

// The lock is the first descriptor that a shim inherits.
const lockDescriptor = 3

const (
	lockWait  = 250 * time.Millisecond // who only looks at the lock has it for microseconds
	orderWait = 10 * time.Second       // for a shim to take its order
)

// ErrHeld says that this launch was started already.
var ErrHeld = errors.New("this launch was started already")

// Launch starts a shim in the launch's folder. self is the program that calls Main for the arguments
// "shim DIR". It returns once the shim has its order: whether the harness starts is in the folder later.
// A launch is started once; ErrHeld says that it was. With any other error no harness was started.
func Launch(self, dir string, o Order) error {
	dir, err := absolute(dir, &o.LogDir, &o.Cwd)
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	masker, err := logs.NewMasker(o.Secrets)
	if err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	var disk durable.Disk
	if err := disk.MakeFolder(dir); err != nil {
		return fmt.Errorf("launch: make the launch's folder: %w", err)
	}
	lock, err := takeLock(dir)
	if err != nil {
		return err
	}
	defer lock.Close() // the shim's copy holds it
	if isLaunched(dir) {
		return ErrHeld
	}
	o.Protocol, o.Mark = Protocol, MarkVariable+"="+o.Run+"-"+strconv.Itoa(o.Launch)+"-"+rand.Text()
	l := launched{Protocol: Protocol, Run: o.Run, Launch: o.Launch, Mark: o.Mark, Cgroup: process.CgroupOf(o.Mark), At: time.Now().UTC()}
	for _, arg := range o.Argv {
		l.Argv = append(l.Argv, masker.Text(arg))
	}
	if err := disk.WriteJSON(dir, launchFile, l); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	if err := start(self, dir, o, lock); err != nil {
		err = fmt.Errorf("launch: %w", err)
		// Whoever looks at the folder later learns that nothing was lost here.
		return errors.Join(err, disk.WriteJSON(dir, exitFile, Ended{Exit: assay.Exit{Cause: assay.ExitLaunchFailed, Code: -1, Error: err.Error(), At: time.Now().UTC()}}))
	}
	return nil
}

// absolute makes paths mean the same in the shim, which works in the root folder.
func absolute(dir string, others ...*string) (string, error) {
	for _, p := range others {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return "", err
		}
		*p = abs
	}
	return filepath.Abs(dir)
}

func isLaunched(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, launchFile))
	return err == nil
}

func takeLock(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("launch: open the launch's lock: %w", err)
	}
	for deadline := time.Now().Add(lockWait); ; time.Sleep(lockWait / 100) {
		err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return lock, nil
		}
		if errors.Is(err, unix.EWOULDBLOCK) && !isLaunched(dir) && time.Now().Before(deadline) {
			continue
		}
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrHeld
		}
		return nil, fmt.Errorf("launch: take the launch's lock: %w", err)
	}
}

// start runs the shim in a session of its own: what ends the server's group or terminal leaves it alone.
// Its environment is what the Go runtime needs to stay small.
func start(self, dir string, o Order, lock *os.File) error {
	order, err := json.Marshal(o)
	if err != nil {
		return err
	}
	says, err := os.OpenFile(filepath.Join(dir, outputFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer says.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	defer w.Close()
	cmd := &exec.Cmd{Path: self, Args: []string{"assay", "shim", dir}, Dir: "/", Stdin: r, Stdout: says, Stderr: says,
		Env: []string{"GOMAXPROCS=2", "GOGC=50"}, ExtraFiles: []*os.File{lock}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the shim: %w", err)
	}
	r.Close()
	w.SetWriteDeadline(time.Now().Add(orderWait))
	// A shim that died at once cannot hold this up: the pipe then breaks.
	if _, err := w.Write(order); err != nil {
		cmd.Process.Kill() // with half an order it does nothing
		cmd.Wait()
		return fmt.Errorf("the shim died at its start (%s tells more): %w", filepath.Join(dir, outputFile), err)
	}
	go cmd.Wait() // or it stays a zombie for as long as this process lives
	return nil
}
