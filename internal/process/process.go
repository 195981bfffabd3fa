// Package process runs one child process and its whole group.
//
// It owns start, input, bounded output, time limit, the way from TERM over a grace time to KILL,
// reaping, and the proof that a process is the one that was started. It refuses to know what the
// child is for: no domain word, nothing of ours imported. Its invariant: when Run returns, no
// process of the group is left (descendants that left the group on purpose excepted), and a signal
// goes only to a process that is proven to be the one started here.
//
//	start (own group) ── exit ──────────────────────────────► KILL the rest, reap
//	      │ limit or ctx
//	      └─► TERM to the group ── exit within grace ───────► KILL the rest, reap
//	                │ grace is over
//	                └─► KILL to the group ── exit ──────────► reap
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Spec says what to run. Argv is never given to a shell.
type Spec struct {
	Argv      []string
	Dir       string
	Env       []string // the whole environment: nothing is inherited
	Stdin     []byte
	MaxStdout int           // bytes kept; more is read and dropped
	MaxStderr int           // likewise; the last bytes are kept
	Limit     time.Duration // 0 is no limit
	Grace     time.Duration // between TERM and KILL
}

// End says why a process ended.
type End string

const (
	EndExit   End = "exit"   // by itself
	EndLimit  End = "limit"  // its time limit
	EndCancel End = "cancel" // the context
)

// Result are the facts of an ended process.
type Result struct {
	End      End
	Code     int            // exit code, -1 when a signal ended it
	Signal   syscall.Signal // that ended it, else 0
	Killed   bool           // TERM was not enough
	Stdout   []byte
	Stderr   []byte
	Dropped  int64 // bytes of stdout beyond MaxStdout
	Identity Identity
	Began    time.Time
	Ended    time.Time
}

// drainTime is how long output is still read after the group is gone: only a descendant that left
// the group can hold the pipes open that long.
const drainTime = 500 * time.Millisecond

// Run starts the process, waits for its end and cleans up. The error says that it could not be
// started; how it ended is in the Result.
func Run(ctx context.Context, s Spec) (Result, error) {
	if len(s.Argv) == 0 {
		return Result{}, errors.New("start process: no command given")
	}
	if err := ctx.Err(); err != nil {
		return Result{End: EndCancel, Code: -1}, nil
	}
	c, err := newChild(s)
	if err != nil {
		return Result{}, err
	}
	exited := make(chan struct{})
	started := make(chan error, 1)
	go func() {
		// The kernel ends a child when the thread that started it ends, so this thread is kept for as
		// long as the child lives. It would block in wait anyway.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(exited)
		err := c.start()
		started <- err
		if err == nil {
			awaitExit(c.cmd.Process.Pid)
		}
	}()
	if err := <-started; err != nil {
		<-exited
		c.closeAll()
		return Result{}, fmt.Errorf("start %s: %w", s.Argv[0], err)
	}
	c.pump()
	c.result.End, c.result.Killed = c.supervise(ctx, exited)
	c.cleanUp()
	return c.result, nil
}

// child is one process between start and reaping.
type child struct {
	spec           Spec
	cmd            *exec.Cmd
	stdin          *os.File // our ends
	stdout, stderr *os.File
	theirs         []*os.File
	out, errs      *bounded
	pumps          sync.WaitGroup
	result         Result
}

func newChild(s Spec) (*child, error) {
	c := &child{spec: s, out: &bounded{most: s.MaxStdout}, errs: &bounded{most: s.MaxStderr, tail: true}}
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...)
	if cmd.Err != nil && !errors.Is(cmd.Err, exec.ErrDot) {
		return nil, fmt.Errorf("start %s: %w", s.Argv[0], cmd.Err)
	}
	cmd.Dir, cmd.Env = s.Dir, s.Env
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	cmd.SysProcAttr = groupAttributes()
	var err error
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	c.stdin, c.stdout, c.stderr = inW, outR, errR
	c.theirs = []*os.File{inR, outW, errW}
	if err != nil {
		c.closeAll()
		return nil, fmt.Errorf("start %s: %w", s.Argv[0], err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	c.cmd = cmd
	return c, nil
}

func (c *child) start() error {
	c.result.Began = time.Now()
	if err := c.cmd.Start(); err != nil {
		return err
	}
	for _, f := range c.theirs {
		f.Close()
	}
	c.theirs = nil
	// The child is not reaped yet, so its number is its own whatever it does.
	c.result.Identity, _ = Identify(c.cmd.Process.Pid)
	return nil
}

// pump feeds stdin and reads both outputs. A child that does not read its input is no error.
func (c *child) pump() {
	c.pumps.Go(func() {
		c.stdin.Write(c.spec.Stdin)
		c.stdin.Close()
	})
	c.pumps.Go(func() { c.out.readFrom(c.stdout) })
	c.pumps.Go(func() { c.errs.readFrom(c.stderr) })
}

// supervise waits for the exit and, when the limit or ctx comes first, ends the group.
func (c *child) supervise(ctx context.Context, exited <-chan struct{}) (end End, killed bool) {
	var limit <-chan time.Time
	if c.spec.Limit > 0 {
		t := time.NewTimer(c.spec.Limit)
		defer t.Stop()
		limit = t.C
	}
	select {
	case <-exited:
		return EndExit, false
	case <-limit:
		end = EndLimit
	case <-ctx.Done():
		end = EndCancel
	}
	c.signalGroup(syscall.SIGTERM)
	grace := time.NewTimer(c.spec.Grace)
	defer grace.Stop()
	select {
	case <-exited:
	case <-grace.C:
		killed = true
		c.signalGroup(syscall.SIGKILL)
		<-exited
	}
	return end, killed
}

// cleanUp ends what the leader left behind while the leader, dead but not reaped, still reserves
// the group's number; then it reaps.
func (c *child) cleanUp() {
	c.signalGroup(syscall.SIGKILL)
	drained := make(chan struct{})
	go func() { c.pumps.Wait(); close(drained) }()
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-drained:
	case <-timer.C:
		c.closeAll() // pipes of os.Pipe are pollable: closing ends the reads
		<-drained
	}
	c.closeAll()
	c.cmd.Wait()
	c.result.Ended = time.Now()
	c.result.Code = c.cmd.ProcessState.ExitCode()
	if w, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		c.result.Signal = w.Signal()
	}
	c.result.Stdout, c.result.Dropped = c.out.bytes()
	c.result.Stderr, _ = c.errs.bytes()
}

// signalGroup signals the group of a child that is not reaped: its number cannot have been reused.
func (c *child) signalGroup(sig syscall.Signal) {
	if c.result.Identity.Is(c.cmd.Process.Pid) {
		syscall.Kill(-c.cmd.Process.Pid, sig)
	}
}

func (c *child) closeAll() {
	for _, f := range append([]*os.File{c.stdin, c.stdout, c.stderr}, c.theirs...) {
		if f != nil {
			f.Close()
		}
	}
}
