package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// TreeSpec says what to run with all that it will start. Argv is never given to a shell.
type TreeSpec struct {
	Argv []string
	Dir  string
	Env  []string // the whole environment: nothing is inherited
	// The child's ends of its streams; nil is /dev/null. StartTree closes them in this process.
	Stdin, Stdout, Stderr *os.File
	Extra                 []*os.File // from descriptor 3
	// Mark is NAME=value that stands in Env: whoever carries it belongs to the tree.
	Mark string
	// Cgroup asks for a control group of its own where one can be made (Linux, cgroup v2).
	Cgroup bool
}

// Tree is a process that leads a group of its own, with all its descendants. The process that starts
// one should be a subreaper (BecomeSubreaper) and start nothing else: every child but the leader is
// taken for a descendant that lost its parent.
type Tree struct {
	spec     TreeSpec
	cmd      *exec.Cmd
	identity Identity
	cgroup   *cgroup
	exited   chan struct{}
}

// ExitFacts is how a leader ended: its exit code, or -1 and the signal that ended it.
type ExitFacts struct {
	Code   int
	Signal syscall.Signal
}

// Find is where the program argv0 is, as a process with this folder and environment would find it: by
// its PATH where the name has no slash, else relative to its folder. The error says what is missing.
func Find(argv0, dir string, env []string) (string, error) {
	if argv0 == "" {
		return "", errors.New("no program is named")
	}
	if strings.Contains(argv0, "/") {
		path := argv0
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path, executable(path)
	}
	search, set := "", false
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			search, set = value, true
		}
	}
	if !set {
		return "", fmt.Errorf("find %s: the environment has no PATH", argv0)
	}
	for _, folder := range filepath.SplitList(search) {
		if folder == "" {
			folder = "."
		}
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if path := filepath.Join(folder, argv0); executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("find %s: it is in no folder of PATH (%s): %w", argv0, search, os.ErrNotExist)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s may not be executed: %w", path, os.ErrPermission)
	}
	return nil
}

// StartTree starts the leader. The error says what could not be started and why.
func StartTree(s TreeSpec) (*Tree, error) {
	defer closeFiles(append([]*os.File{s.Stdin, s.Stdout, s.Stderr}, s.Extra...))
	if len(s.Argv) == 0 {
		return nil, errors.New("start process: no command given")
	}
	path, err := Find(s.Argv[0], s.Dir, s.Env)
	if err != nil {
		return nil, err
	}
	t := &Tree{spec: s, exited: make(chan struct{})}
	if s.Cgroup {
		t.cgroup = newCgroup()
	}
	started := make(chan error, 1)
	go t.live(path, started)
	if err := <-started; err != nil {
		t.cgroup.remove()
		return nil, fmt.Errorf("start %s: %w", s.Argv[0], err)
	}
	return t, nil
}

// live starts the leader and waits for its exit. The kernel ends a child when the thread that started
// it ends, so this thread is kept for as long as the child lives.
func (t *Tree) live(path string, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := t.start(path, t.cgroup)
	if err != nil && t.cgroup != nil {
		// A control group that may be made but not entered is done without.
		t.cgroup.remove()
		t.cgroup = nil
		err = t.start(path, nil)
	}
	if err != nil {
		started <- err
		return
	}
	// It is not reaped yet, so its number is its own whatever it does.
	t.identity, _ = Identify(t.cmd.Process.Pid)
	started <- nil
	awaitExit(t.cmd.Process.Pid)
	close(t.exited)
}

func (t *Tree) start(path string, c *cgroup) error {
	t.cmd = &exec.Cmd{Path: path, Args: t.spec.Argv, Dir: t.spec.Dir, Env: t.spec.Env, ExtraFiles: t.spec.Extra,
		SysProcAttr: groupAttributes()}
	if t.cmd.Env == nil {
		t.cmd.Env = []string{}
	}
	// A nil *os.File in an interface would not be nil.
	if t.spec.Stdin != nil {
		t.cmd.Stdin = t.spec.Stdin
	}
	if t.spec.Stdout != nil {
		t.cmd.Stdout = t.spec.Stdout
	}
	if t.spec.Stderr != nil {
		t.cmd.Stderr = t.spec.Stderr
	}
	c.enter(t.cmd.SysProcAttr)
	return t.cmd.Start()
}

// Identity is the leader's.
func (t *Tree) Identity() Identity { return t.identity }

// Cgroup is the folder of the tree's control group, "" where it has none.
func (t *Tree) Cgroup() string { return t.cgroup.path() }

// Exited is closed when the leader has exited. It is reaped by End only, so that until then its number
// and that of its group cannot mean anybody else.
func (t *Tree) Exited() <-chan struct{} { return t.exited }

// Signal signals the whole group.
func (t *Tree) Signal(sig syscall.Signal) { syscall.Kill(-t.cmd.Process.Pid, sig) }

// Remains are what is known of a tree whose parent died.
func (t *Tree) Remains() Remains {
	return Remains{Leader: t.identity, Cgroup: t.Cgroup(), Mark: t.spec.Mark}
}

// End kills whatever is left of the tree, again and again until nothing is, and reaps it. left are the
// processes that would not go within limit: those that the kernel holds.
func (t *Tree) End(limit time.Duration) (facts ExitFacts, left []int) {
	deadline := time.Now().Add(limit)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		t.Signal(syscall.SIGKILL)
		t.cgroup.kill()
		left = t.killAdopted()
		left = append(left, t.Remains().kill(os.Getpid())...)
		select {
		case <-t.exited:
			if len(left) == 0 {
				return t.reap(), nil
			}
		default:
			left = append(left, t.cmd.Process.Pid)
		}
		if time.Now().After(deadline) {
			return ExitFacts{Code: -1, Signal: syscall.SIGKILL}, left
		}
		time.Sleep(wait)
	}
}

func (t *Tree) reap() (f ExitFacts) {
	t.cmd.Wait()
	t.cgroup.remove()
	f.Code = t.cmd.ProcessState.ExitCode()
	if w, ok := t.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		f.Signal = w.Signal()
	}
	return f
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
