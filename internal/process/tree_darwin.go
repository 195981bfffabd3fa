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

func (t *Tree) killAdopted() []int { return nil }

// Remains are what is known of a tree whose parent died.
type Remains struct {
	Leader Identity `json:"leader"`
	Cgroup string   `json:"cgroup,omitempty"`
	Mark   string   `json:"mark"`
}

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

func (r Remains) kill(int) []int {
	alive := r.Alive()
	for _, pid := range alive {
		syscall.Kill(-pid, syscall.SIGKILL)
	}
	return alive
}

type cgroup struct{}

func newCgroup() *cgroup                   { return nil }
func (*cgroup) path() string               { return "" }
func (*cgroup) enter(*syscall.SysProcAttr) {}
func (*cgroup) kill()                      {}
func (*cgroup) remove()                    {}
