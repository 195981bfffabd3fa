package process

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// End kills what is left of the tree, again and again until nothing is. left are the processes that
// would not go within limit.
func (r Remains) End(limit time.Duration) (left []int) {
	deadline := time.Now().Add(limit)
	c := cgroupAt(r.Cgroup)
	if r.past() {
		return nil
	}
	empty := 0
	for wait := time.Millisecond; ; wait = min(2*wait, longestLook) {
		c.kill()
		left = r.kill(0)
		// Twice: one may have been started by one that ended, both behind the back of a single look.
		if empty++; len(left) > 0 {
			empty = 0
		} else if empty == 2 {
			c.remove()
			return nil
		}
		if len(left) > 0 && time.Now().After(deadline) {
			return compact(left)
		}
		time.Sleep(wait)
	}
}

// past says that the machine was started again since: nothing is left, and the name of the control group
// proves nothing.
func (r Remains) past() bool {
	boot, err := bootID()
	return err == nil && r.Leader.Boot != "" && r.Leader.Boot != boot
}

// Alive lists the living processes of the tree. The dead that nobody reaped do not count.
func (r Remains) Alive() (pids []int) {
	if r.past() {
		return nil
	}
	in := cgroupAt(r.Cgroup).processes()
	for _, pid := range processes() {
		if r.look(pid, in) == ours {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill signals every living process of the tree but the one given, and lists them, with those that cannot
// be told from others yet.
func (r Remains) kill(but int) (found []int) {
	in := cgroupAt(r.Cgroup).processes()
	for _, pid := range processes() {
		if pid != but && r.killOne(pid, in) {
			found = append(found, pid)
		}
	}
	return found
}

// killOne kills pid if it is of the tree. The check comes after the descriptor was opened: a descriptor
// means one process for ever, so a number that is reused meanwhile cannot be hit.
func (r Remains) killOne(pid int, in []int) bool {
	if seen := r.look(pid, in); seen != ours {
		return seen == unknown
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return false // it is gone
	}
	if err != nil {
		return true // a kernel before 5.3: it is said to be left, and never signalled by its number
	}
	defer unix.Close(fd)
	seen := r.look(pid, cgroupAt(r.Cgroup).processes())
	if seen == ours {
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	return seen != notOurs
}

// belonging is what a look at a process tells.
type belonging int

const (
	notOurs belonging = iota // or dead
	ours
	unknown // it is just being started, or just ending
)

// look says whether a living process is proven to be of the tree.
func (r Remains) look(pid int, in []int) belonging {
	s, err := readStat(pid)
	switch {
	case err != nil || s.dead:
		return notOurs
	case slices.Contains(in, pid):
		return ours
	case s.start < r.Leader.Start:
		return notOurs // older than the leader, so none of its descendants
	case r.Leader.PID != 0 && s.group == r.Leader.PID && r.Leader.Is(r.Leader.PID):
		return ours
	case r.Mark == "":
		return notOurs
	}
	switch has, err := marked(pid, r.Mark); {
	case has:
		return ours
	case s.bare && (err == nil || errors.Is(err, unix.ESRCH)):
		return unknown
	}
	return notOurs
}
