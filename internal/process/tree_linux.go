package process

import (
	"slices"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// subreaper guards everything that takes a child of this process for a descendant of the tree.
var subreaper atomic.Bool

// BecomeSubreaper makes this process the parent of every descendant whose own parent dies.
func BecomeSubreaper() error {
	err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	subreaper.Store(err == nil)
	return err
}

// adopted lists the descendants that were handed to this subreaper, dead ones too.
func (t *Tree) adopted() (pids []int) {
	if !subreaper.Load() {
		return nil
	}
	for _, pid := range children() {
		if pid != t.cmd.Process.Pid {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ReapAdopted reaps dead descendants that lost their parent, and says how many. The leader is left to End.
func (t *Tree) ReapAdopted() (reaped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pid := range t.adopted() {
		if reap(pid) {
			reaped++
		}
	}
	return reaped
}

// Alone says whether the leader has exited and nothing that it started is left to wait for. It is cheap,
// and may say so a moment too early: End makes sure.
func (t *Tree) Alone() bool {
	if !t.hasExited() {
		return false
	}
	if !subreaper.Load() {
		return len(t.Remains().Alive()) == 0
	}
	t.ReapAdopted()
	return len(t.adopted()) == 0 && len(t.cgroup.processes()) == 0
}

// SignalLeavers signals the descendants that left the group and were handed to this subreaper, each once
// and with the group that it leads: call it again for those that come later. They cannot be somebody else:
// they are not reaped.
func (t *Tree) SignalLeavers(sig syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pid := range t.adopted() {
		s, err := readStat(pid)
		it := Identity{PID: pid, Start: s.start}
		if err != nil || s.group == t.cmd.Process.Pid || slices.Contains(t.told, it) {
			continue
		}
		t.told = append(t.told, it)
		if s.group == pid {
			pid = -pid
		}
		syscall.Kill(pid, sig)
	}
}

// killAdopted kills and reaps what was handed to this subreaper, and lists what is alive still.
func (t *Tree) killAdopted() (left []int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, pid := range t.adopted() {
		syscall.Kill(pid, syscall.SIGKILL)
		if !reap(pid) {
			left = append(left, pid)
		}
	}
	return left
}

// hasChildren says whether a subreaper has any child left, and reaps one that is dead. Without any there
// is no descendant either: each would have been handed over when its parent died.
func hasChildren() bool {
	if !subreaper.Load() {
		return false
	}
	for {
		_, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != syscall.EINTR {
			return err != syscall.ECHILD
		}
	}
}
