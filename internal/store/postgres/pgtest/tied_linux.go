package pgtest

import (
	"os/exec"
	"runtime"
	"syscall"
)

const tied = true

// startTied starts cmd so that the kernel stops it (SIGQUIT: PostgreSQL's immediate shutdown) when
// this process dies, however it dies. The kernel watches the thread that forked, so that thread is
// kept until the command has exited.
func startTied(cmd *exec.Cmd, exited <-chan struct{}) error {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			<-exited
		}
	}()
	return <-started
}
