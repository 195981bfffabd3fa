package process

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// processes lists every process that this one can see.
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

// children lists the children of this process, dead ones too. One that dies meanwhile may make the
// kernel skip another: only hasChildren is exact.
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

// reap takes a dead child's number back, and says whether it is gone.
func reap(pid int) bool {
	for {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if err != syscall.EINTR {
			return got == pid || err == syscall.ECHILD
		}
	}
}

// stat is what /proc/PID/stat tells of a process.
type stat struct {
	dead   bool // a zombie
	bare   bool // without an environment for now: between two programs, or ending. Also where we may not know
	parent int
	group  int
	start  uint64
}

func readStat(pid int) (s stat, err error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, err
	}
	return parseStat(raw)
}

// The places of fields behind the name, which proc(5) numbers from 3.
const (
	statState   = 3 - 3
	statParent  = 4 - 3
	statGroup   = 5 - 3
	statFlags   = 9 - 3
	statThreads = 20 - 3
	statStart   = 22 - 3
	statEnvEnd  = 51 - 3
)

const kernelThread = 0x200000 // PF_KTHREAD

func parseStat(raw []byte) (s stat, err error) {
	// The name in brackets may hold anything; what follows its last bracket is plain.
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) <= statStart {
		return s, errors.New("unexpected form of its stat")
	}
	threads, _ := strconv.Atoi(string(fields[statThreads]))
	// The state is that of the first thread: a zombie with others behind it runs still.
	s.dead = fields[statState][0] == 'X' || fields[statState][0] == 'Z' && threads <= 1
	flags, _ := strconv.ParseUint(string(fields[statFlags]), 10, 64)
	s.bare = len(fields) > statEnvEnd && string(fields[statEnvEnd]) == "0" && flags&kernelThread == 0
	s.parent, _ = strconv.Atoi(string(fields[statParent]))
	s.group, _ = strconv.Atoi(string(fields[statGroup]))
	s.start, err = strconv.ParseUint(string(fields[statStart]), 10, 64)
	return s, err
}

// marked says whether a process was started with mark in its environment. An error says that the
// environment cannot be read by us.
func marked(pid int, mark string) (bool, error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false, err
	}
	for entry := range bytes.SplitSeq(raw, []byte{0}) {
		if string(entry) == mark {
			return true, nil
		}
	}
	return false, nil
}
