package process

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Identify reads the identity of a running or not yet reaped process.
func Identify(pid int) (Identity, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	boot, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	start := info.Proc.P_starttime
	return Identity{PID: pid, Start: uint64(start.Sec)*1e6 + uint64(start.Usec), Boot: fmt.Sprint(boot.Sec)}, nil
}

// groupAttributes makes the child the leader of a group of its own.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit returns when the leader has exited and leaves it unreaped.
func awaitExit(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(queue)
	exit := unix.Kevent_t{Filter: unix.EVFILT_PROC, Flags: unix.EV_ADD | unix.EV_ONESHOT, Fflags: unix.NOTE_EXIT}
	unix.SetKevent(&exit, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	for {
		// ESRCH: it has exited already.
		if _, err := unix.Kevent(queue, []unix.Kevent_t{exit}, make([]unix.Kevent_t, 1), nil); err != unix.EINTR {
			return
		}
	}
}

// dead says whether a process has ended and is only not reaped yet.
func dead(pid int) bool {
	const zombie = 5 // SZOMB of sys/proc.h
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err != nil || info.Proc.P_stat == zombie
}
