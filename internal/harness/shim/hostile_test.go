//go:build linux

package shim

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/durable"
)

// A process of the harness that holds the lock, to look like a shim that lives, is ended with the rest.
func TestALockThatTheHarnessTookIsTakenBack(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "locker")
	a.launch()
	pids := a.said("pids")
	a.await(Alive)
	shim := a.started().Shim.PID
	if err := syscall.Kill(shim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, 5*time.Second, "the shim is gone", func() bool { return !alive(shim) })
	a.await(Alive) // it looks so
	left, err := Kill(a.dir, 5*time.Second)
	if err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
	a.await(Dead)
	until(t, time.Second, "the last threads are gone", func() bool { return !slices.ContainsFunc(pids, alive) })
}

// A disk that hangs keeps nobody alive: signals wait for nothing that is written.
func TestAHungDiskKeepsNobodyAlive(t *testing.T) {
	for _, cause := range []assay.ExitCause{assay.ExitCancel, assay.ExitTimeLimit} {
		t.Run(string(cause), func(t *testing.T) {
			t.Parallel()
			a := newLaunch(t, "gusher")
			if cause == assay.ExitTimeLimit {
				a.order.TimeLimit = time.Second
			}
			// The log's file is a FIFO that nobody reads.
			if err := os.MkdirAll(a.order.LogDir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(a.order.LogDir, "00000000000000000000-000000000000")
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			disk, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer disk.Close()
			a.launch()
			until(t, 10*time.Second, "the disk hangs", func() bool { return queued(disk) >= 32<<10 })
			a.await(Alive)
			leader := a.started().Tree.Leader.PID
			if cause == assay.ExitCancel {
				a.stop(cause)
			}
			until(t, a.order.TimeLimit+a.order.Grace+soon, "the harness is dead", func() bool { return !alive(leader) })
			if standing, err := Look(a.dir); standing != Alive || err != nil {
				t.Errorf("%s %v: its log is not whole yet", standing, err)
			}
			log := make(chan string)
			go func() { raw, _ := io.ReadAll(disk); log <- string(raw) }() // the disk is back
			e := a.exit(10 * time.Second)
			disk.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			text := strings.ReplaceAll(<-log, "\x00", "") // output may stand between the lines
			if _, after, ok := strings.Cut(text, "told to end]\n"); e.Exit.Cause != cause || !e.Exit.Killed || !ok || !strings.Contains(after, "[assay: not ended after 300ms: killed]\n") {
				t.Errorf("%+v %q", e, text)
			}
		})
	}
}

// A client that is stopped is soon not written to any more: what it has not read is small.
func TestAClientThatReadsNothingIsNoticedSoon(t *testing.T) {
	t.Parallel()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	narrow(c)
	c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	taken := 0
	for status := make([]byte, 500); ; taken++ {
		if _, err := c.Write(status); err != nil {
			break
		}
	}
	if taken > 20 {
		t.Errorf("%d statuses were taken by nobody", taken)
	}
}

// There is room for exit.json from before the harness can fill the disk.
func TestRoomIsKeptForTheExit(t *testing.T) {
	t.Parallel()
	env, open := fifo(t)
	a := newLaunch(t, "waiter", env)
	a.launch()
	a.await(Alive)
	kept, err := os.Stat(filepath.Join(a.dir, exitFile+durable.New))
	if err != nil || kept.Size() < exitRoom {
		t.Fatalf("%v %v", kept, err)
	}
	open()
	e := a.exit(5 * time.Second)
	got, err := os.Stat(filepath.Join(a.dir, exitFile))
	if err != nil || !os.SameFile(kept, got) || got.Size() >= exitRoom || e.Exit.Code != 5 {
		t.Errorf("%+v %v %v", e, got, err)
	}
	until(t, 5*time.Second, "the socket is gone", func() bool {
		_, err := os.Lstat(filepath.Join(a.dir, socketFile))
		return err != nil
	})
}
