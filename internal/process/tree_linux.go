package process

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// BecomeSubreaper makes this process the parent of every descendant whose own parent dies.
func BecomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// ReapAdopted reaps dead descendants that lost their parent, and says how many. The leader is left to End.
func (t *Tree) ReapAdopted() (reaped int) {
	for _, pid := range children() {
		if pid != t.cmd.Process.Pid && reap(pid) {
			reaped++
		}
	}
	return reaped
}

// killAdopted kills and reaps the children of this process other than the leader, and lists those that
// are alive still. They cannot be somebody else: they are not reaped.
func (t *Tree) killAdopted() (left []int) {
	for _, pid := range children() {
		if pid == t.cmd.Process.Pid {
			continue
		}
		syscall.Kill(pid, syscall.SIGKILL)
		if !reap(pid) {
			left = append(left, pid)
		}
	}
	return left
}

func reap(pid int) bool {
	for {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if err != syscall.EINTR {
			return got == pid || err == syscall.ECHILD
		}
	}
}

// children lists the children of this process, dead ones too.
func children() (pids []int) {
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(tasks) == 0 {
		return childrenByScan()
	}
	for _, task := range tasks {
		raw, err := os.ReadFile(task)
		if err != nil {
			continue // a thread that ended
		}
		for _, f := range bytes.Fields(raw) {
			if pid, err := strconv.Atoi(string(f)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// childrenByScan is for kernels that were built without lists of children.
func childrenByScan() (pids []int) {
	self := os.Getpid()
	for _, pid := range processes() {
		if s, err := readStat(pid); err == nil && s.parent == self {
			pids = append(pids, pid)
		}
	}
	return pids
}

func processes() (pids []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stat is what /proc/PID/stat tells of a process.
type stat struct {
	dead   bool // a zombie
	parent int
	group  int
	start  uint64
}

func readStat(pid int) (s stat, err error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, err
	}
	// The name in brackets may hold anything; what follows its last bracket is plain. Fields there begin
	// with number 3 of proc(5).
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) < 20 {
		return s, errors.New("unexpected form of its stat")
	}
	s.dead = fields[0][0] == 'Z' || fields[0][0] == 'X'
	s.parent, _ = strconv.Atoi(string(fields[1]))
	s.group, _ = strconv.Atoi(string(fields[2]))
	s.start, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return s, err
}

// Remains are what is known of a tree whose parent died.
type Remains struct {
	Leader Identity `json:"leader"`
	Cgroup string   `json:"cgroup,omitempty"`
	Mark   string   `json:"mark"`
}

// End kills what is left of the tree, again and again until nothing is. left are the processes that
// would not go within limit.
func (r Remains) End(limit time.Duration) (left []int) {
	deadline := time.Now().Add(limit)
	c := cgroupAt(r.Cgroup)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		c.kill()
		left = r.kill(0)
		if len(left) == 0 {
			c.remove()
			return nil
		}
		if time.Now().After(deadline) {
			return left
		}
		time.Sleep(wait)
	}
}

// Alive lists the living processes of the tree. The dead that nobody reaped do not count.
func (r Remains) Alive() (pids []int) {
	in := cgroupAt(r.Cgroup).processes()
	for _, pid := range processes() {
		if r.holds(pid, in) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill signals every living process of the tree but the one given, and lists them.
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
	if !r.holds(pid, in) {
		return false
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false // it is gone
	}
	defer unix.Close(fd)
	if !r.holds(pid, cgroupAt(r.Cgroup).processes()) {
		return false
	}
	unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	return true
}

// holds says whether a living process is proven to be of the tree: it is the leader, or in a group that
// the leader leads still, or in the tree's control group, or it carries the mark.
func (r Remains) holds(pid int, in []int) bool {
	s, err := readStat(pid)
	if err != nil || s.dead {
		return false
	}
	if slices.Contains(in, pid) {
		return true
	}
	if r.Leader.PID != 0 && s.group == r.Leader.PID && r.Leader.Is(r.Leader.PID) {
		return true
	}
	return r.Mark != "" && marked(pid, r.Mark)
}

// marked says whether a process was started with mark in its environment.
func marked(pid int, mark string) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(raw, []byte{0}) {
		if string(entry) == mark {
			return true
		}
	}
	return false
}
