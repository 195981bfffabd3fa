package shim

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize lets a harness write on while the shim is not scheduled.
const pipeSize = 1 << 20

// widen makes a pipe as large as is allowed. Neither function may use Fd, which would make the reads of f
// uninterruptible.
func widen(f *os.File) {
	control(f, func(fd int) { unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, pipeSize) })
}

// queued is how many bytes wait in a pipe.
func queued(f *os.File) (n int) {
	control(f, func(fd int) { n, _ = unix.IoctlGetInt(fd, unix.TIOCINQ) })
	return n
}

func control(f *os.File, use func(fd int)) {
	if raw, err := f.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { use(int(fd)) })
	}
}
