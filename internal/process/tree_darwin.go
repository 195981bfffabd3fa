package process

import (
	"errors"
	"syscall"
	"time"
)

// BecomeSubreaper is not possible here: descendants that leave the group are found by nobody.
func BecomeSubreaper() error { return errors.ErrUnsupported }

// ReapAdopted has nothing to do where nothing is adopted.
func (t *Tree) ReapAdopted() int { return 0 }

// Alone says whether the leader has exited; what it left in its group is not seen.
func (t *Tree) Alone() bool { return t.hasExited() }

// SignalLeavers has nobody to signal.
func (t *Tree) SignalLeavers(syscall.Signal) {}

func (t *Tree) killAdopted() []int { return nil }

func hasChildren() bool { return false }

// End kills the group of a leader that is alive still.
func (r Remains) End(limit time.Duration) (left []int) {
	deadline := time.Now().Add(limit)
	for {
		if left = r.kill(0); len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Alive is the leader where it lives.
func (r Remains) Alive() []int {
	if r.Leader.Is(r.Leader.PID) {
		return []int{r.Leader.PID}
	}
	return nil
}

// kill has no descriptor of a process to signal by: between the check and the signal lies a moment.
func (r Remains) kill(but int) (found []int) {
	for _, pid := range r.Alive() {
		if pid != but && !dead(pid) {
			syscall.Kill(-pid, syscall.SIGKILL)
			found = append(found, pid)
		}
	}
	return found
}

// CgroupOf is none: there are no control groups here.
func CgroupOf(string) string { return "" }

type cgroup struct{}

func newCgroup(string) *cgroup             { return nil }
func (*cgroup) path() string               { return "" }
func (*cgroup) enter(*syscall.SysProcAttr) {}
func (*cgroup) entered()                   {}
func (*cgroup) kill()                      {}
func (*cgroup) remove()                    {}
