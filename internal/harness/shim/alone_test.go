//go:build linux

package shim

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/durable"
	"assay/internal/process"
)

func TestAHarnessOutlivesItsServer(t *testing.T) {
	t.Parallel()
	env, open := fifo(t)
	a := newLaunch(t, "waiter", env)
	server := a.served()
	a.said("before")
	c := a.dial()
	server.Process.Kill()
	server.Wait()
	a.await(Alive)
	if _, err := c.Next(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	open()
	e := a.exit(5 * time.Second)
	if e.Exit.Cause != assay.ExitItself || e.Exit.Code != 5 || e.Exit.Signal != "" {
		t.Errorf("%+v", e)
	}
	if text := a.output(); !strings.HasPrefix(text, "before ") || !strings.HasSuffix(text, "\nafter\n") || e.Log.Bytes != int64(len(text)) || e.Log.Lines != 2 {
		t.Errorf("%q %+v", text, e.Log)
	}
}

func TestAnOrphanIsEnded(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "wild")
	a.order.OrphanGrace = 2 * time.Second
	server := a.served()
	pids := a.said("pids")
	c := a.dial()
	server.Process.Kill()
	server.Wait()
	// While somebody is connected it is no orphan, however long ago the last one left.
	for begin := time.Now(); time.Since(begin) < a.order.OrphanGrace+500*time.Millisecond; {
		if s, err := c.Next(time.Now().Add(5 * time.Second)); err != nil || s.Stopping != "" {
			t.Fatalf("%+v %v", s, err)
		}
	}
	c.Close()
	e := a.exit(a.order.OrphanGrace + a.order.Grace + soon)
	nobody(t, pids)
	if e.Exit.Cause != assay.ExitOrphaned || !strings.Contains(a.output(), "no server came back in time") {
		t.Errorf("%+v", e)
	}
}

func TestWhatADeadShimLeftIsSwept(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "wild")
	a.launch()
	pids := a.said("pids")
	a.await(Alive)
	b := a.started()
	before := a.output()
	if err := syscall.Kill(b.Shim.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	a.await(Dead)
	if b.Tree.Cgroup == "" { // nothing would prove whose the one without environment is
		if os.Getenv("CI") != "" {
			t.Error("no control group can be made here")
		}
		syscall.Kill(pids[5], syscall.SIGKILL)
	}
	left, err := Sweep(a.dir, 5*time.Second)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	until(t, time.Second, "the last threads are gone", func() bool { return !slices.ContainsFunc(pids, alive) })
	if text := a.output(); text != before {
		t.Errorf("log: %q", text)
	}
	if err := Launch(program(), a.dir, a.order); !errors.Is(err, ErrHeld) {
		t.Errorf("it was launched again: %v", err)
	}

	// The next launch goes on in the same log.
	next := newLaunch(t, "argv")
	next.order.LogDir, next.order.Launch = a.order.LogDir, 2
	next.launch()
	next.exit(5 * time.Second)
	if text := a.output(); text != before+"[assay: launch 2]\n[] \n" {
		t.Errorf("log: %q", text)
	}
}

func TestASweepHitsNoStranger(t *testing.T) {
	t.Parallel()
	id := bystander(t)
	for name, change := range map[string]func(*process.Identity){
		"an earlier process": func(i *process.Identity) { i.Start-- },
		"a later process":    func(i *process.Identity) { i.Start++ },
		"another boot":       func(i *process.Identity) { i.Boot = "x" },
	} {
		dir := t.TempDir()
		leader := id
		change(&leader)
		for file, v := range map[string]any{launchFile: launched{Protocol: Protocol, Mark: MarkVariable + "=r9-1-x"}, shimFile: started{Shim: leader, Tree: process.Remains{Leader: leader}}, lockFile: leader} {
			if err := (durable.Disk{}).WriteJSON(dir, file, v); err != nil {
				t.Fatal(err)
			}
		}
		if standing, err := Look(dir); standing != Dead || err != nil {
			t.Fatal(standing, err)
		}
		for _, end := range []func(string, time.Duration) ([]int, error){Sweep, Kill} {
			if left, err := end(dir, time.Second); err != nil || len(left) > 0 {
				t.Errorf("%s: %v %v", name, left, err)
			}
			if !alive(id.PID) {
				t.Fatalf("%s: a process was ended that has only the number", name)
			}
		}
	}
}

func TestAShimThatHangsIsKilled(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "wild")
	a.launch()
	pids := a.said("pids")
	a.await(Alive)
	b := a.started()
	if err := syscall.Kill(b.Shim.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	left, err := Kill(a.dir, 5*time.Second)
	if err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
	a.await(Dead)
	if b.Tree.Cgroup == "" {
		syscall.Kill(pids[5], syscall.SIGKILL)
	}
	until(t, time.Second, "the last threads are gone", func() bool { return !slices.ContainsFunc(pids, alive) && !alive(b.Shim.PID) })
}

func TestALaunchIsStartedOnce(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "sleeper")
	var mu sync.Mutex
	launched := 0
	var all, lookers sync.WaitGroup
	done := make(chan struct{})
	for range 4 { // who only looks takes nobody's place
		lookers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if standing, err := Look(a.dir); err != nil || standing == Dead || standing == Finished {
					t.Error(standing, err)
				}
			}
		})
	}
	for range 20 {
		all.Go(func() {
			err := Launch(program(), a.dir, a.order)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				launched++
			} else if !errors.Is(err, ErrHeld) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	close(done)
	lookers.Wait()
	if launched != 1 {
		t.Errorf("launched %d times", launched)
	}
	if len(a.said("pids")) != 1 {
		t.Error("more than one harness")
	}
}

func TestWhoOnlyLooksTakesNobodysPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	looked, err := os.Create(filepath.Join(dir, lockFile))
	if err == nil {
		err = syscall.Flock(int(looked.Fd()), syscall.LOCK_SH)
	}
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(lockWait/5, func() { looked.Close() })
	lock, err := takeLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := takeLock(dir); !errors.Is(err, ErrHeld) {
		t.Error(err)
	}
}

// Between the look for launch.json and that for the lock both may come.
func TestALaunchIsNeverTakenForADeadShim(t *testing.T) {
	t.Parallel()
	for range 2000 {
		dir := t.TempDir()
		done := make(chan struct{})
		var looker sync.WaitGroup
		looker.Go(func() {
			for {
				if standing, err := Look(dir); err != nil || standing == Dead {
					t.Error(standing, err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
		lock, err := takeLock(dir)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, launchFile), nil, 0o600)
		}
		close(done)
		looker.Wait()
		lock.Close()
		if err != nil || t.Failed() {
			t.Fatal(err)
		}
	}
}

func TestAStandingIsReadFromTheFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files []string
		held  bool
		want  Standing
	}{
		{nil, false, Unlaunched},
		{nil, true, Starting},
		{[]string{launchFile}, true, Starting},
		{[]string{launchFile}, false, Dead},
		{[]string{launchFile, shimFile}, true, Alive},
		{[]string{launchFile, shimFile}, false, Dead},
		{[]string{launchFile, shimFile, exitFile}, true, Finished},
		{[]string{launchFile, shimFile, exitFile}, false, Finished},
		{[]string{launchFile, exitFile}, false, Finished},
	} {
		dir := t.TempDir()
		for _, f := range c.files {
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if c.held {
			f, err := os.Create(filepath.Join(dir, lockFile))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := Look(dir); got != c.want || err != nil {
			t.Errorf("%v held %v: %v %v, want %v", c.files, c.held, got, err, c.want)
		}
	}
	if got, err := Look("/no/such/folder"); got != Unlaunched || err != nil {
		t.Error(got, err)
	}
}

func TestExitIsWrittenOnceTheDiskTakesIt(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "argv")
	block := filepath.Join(a.dir, exitFile+durable.New)
	if err := os.MkdirAll(block, 0o700); err != nil {
		t.Fatal(err)
	}
	a.launch()
	until(t, 5*time.Second, "a try fails", func() bool {
		raw, _ := os.ReadFile(filepath.Join(a.dir, outputFile))
		return strings.Contains(string(raw), exitFile)
	})
	a.await(Alive)
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	if e := a.exit(5 * time.Second); e.Exit.Cause != assay.ExitItself || e.Exit.Code != 0 {
		t.Errorf("%+v", e)
	}
}
