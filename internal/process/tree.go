package process

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
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
	// Cgroup asks for a control group of its own where one can be made (Linux, cgroup v2): CgroupOf(Mark).
	Cgroup bool
}

// Tree is a process that leads a group of its own, with all its descendants. In a subreaper
// (BecomeSubreaper) it is whole: every child of this process but the leader is then taken for a descendant
// that lost its parent, so a subreaper starts one tree and nothing else. In another process descendants
// that left the group are found by control group and mark only.
type Tree struct {
	spec     TreeSpec
	cmd      *exec.Cmd
	identity Identity
	cgroup   *cgroup
	exited   chan struct{}

	mu     sync.Mutex // no signal goes out while the leader is reaped, nor after
	reaped bool
	told   []Identity // leavers that were signalled
}

// ExitFacts is how a leader ended: its exit code, or -1 and the signal that ended it.
type ExitFacts struct {
	Code   int
	Signal syscall.Signal
}

// StartTree starts the leader. The error says what could not be started and why.
func StartTree(s TreeSpec) (*Tree, error) {
	defer closeFiles(append([]*os.File{s.Stdin, s.Stdout, s.Stderr}, s.Extra...))
	if len(s.Argv) == 0 {
		return nil, errors.New("start process: no command given")
	}
	if err := Enterable(s.Dir); err != nil {
		return nil, err
	}
	path, err := Find(s.Argv[0], s.Dir, s.Env)
	if err != nil {
		return nil, err
	}
	t := &Tree{spec: s, exited: make(chan struct{})}
	if s.Cgroup {
		t.cgroup = newCgroup(s.Mark)
	}
	started := make(chan error, 1)
	go t.live(path, started)
	if err := <-started; err != nil {
		t.cgroup.remove()
		return nil, explain(path, err)
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
	t.cgroup.entered()
	if err == nil {
		// It is not reaped yet, so its number is its own whatever it does.
		if t.identity, err = Identify(t.cmd.Process.Pid); err != nil {
			t.cmd.Process.Kill() // without an identity nobody could end it later
			t.cmd.Wait()
		}
	}
	started <- err
	if err == nil {
		awaitExit(t.cmd.Process.Pid)
		close(t.exited)
	}
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

// Signal signals the whole group. After End it does nothing.
func (t *Tree) Signal(sig syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.reaped {
		syscall.Kill(-t.cmd.Process.Pid, sig)
	}
}

// Remains are what has to be known to end the tree once this process is dead.
func (t *Tree) Remains() Remains {
	return Remains{Leader: t.identity, Cgroup: t.Cgroup(), Mark: t.spec.Mark}
}

func (t *Tree) hasExited() bool {
	select {
	case <-t.exited:
		return true
	default:
		return false
	}
}

const longestLook = 20 * time.Millisecond

// End kills whatever is left of the tree, again and again until nothing is, and reaps it. left are the
// processes that would not go within limit: those that the kernel holds. It is called once.
func (t *Tree) End(limit time.Duration) (facts ExitFacts, left []int) {
	deadline := time.Now().Add(limit)
	for wait := time.Millisecond; ; wait = min(2*wait, longestLook) {
		left = t.kill()
		if len(left) == 0 {
			if t.hasExited() && !t.isReaped() {
				// Only now: while the leader reserves its number its group can be signalled.
				facts = t.reap()
			}
			if t.isReaped() && !hasChildren() {
				t.cgroup.remove()
				return facts, nil
			}
		}
		if time.Now().After(deadline) {
			break
		}
		time.Sleep(wait)
	}
	if t.hasExited() && !t.isReaped() {
		facts = t.reap()
	} else if !t.isReaped() {
		facts = ExitFacts{Code: -1, Signal: syscall.SIGKILL}
		left = append(left, t.cmd.Process.Pid)
	}
	return facts, compact(left)
}

// kill signals all that is left but the dead leader, and lists it.
func (t *Tree) kill() (left []int) {
	t.Signal(syscall.SIGKILL)
	t.cgroup.kill()
	left = t.killAdopted()
	return compact(append(left, t.Remains().kill(os.Getpid())...))
}

func (t *Tree) isReaped() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reaped
}

func (t *Tree) reap() (f ExitFacts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cmd.Wait()
	t.reaped = true
	f.Code = t.cmd.ProcessState.ExitCode()
	if w, ok := t.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		f.Signal = w.Signal()
	}
	return f
}

func compact(pids []int) []int {
	slices.Sort(pids)
	return slices.Compact(pids)
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
