//go:build linux

package shim

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
)

// soon is how long after the grace everything is over.
const soon = 2 * time.Second

func TestAStopEndsTheWholeTree(t *testing.T) {
	for _, c := range []struct {
		role   string
		cause  assay.ExitCause
		killed bool
		exit   string
	}{
		{"sleeper", assay.ExitCancel, false, "SIGTERM"},
		{"polite", assay.ExitCancel, false, "3"},
		{"wild", assay.ExitCancel, true, "SIGKILL"},
		{"sleeper", assay.ExitTimeLimit, false, "SIGTERM"},
		{"wild", assay.ExitTimeLimit, true, "SIGKILL"},
	} {
		t.Run(c.role+" "+string(c.cause), func(t *testing.T) {
			t.Parallel()
			a := newLaunch(t, c.role)
			if c.cause == assay.ExitTimeLimit {
				a.order.TimeLimit = time.Second
			}
			a.launch()
			pids := a.said("pids")
			within := a.order.TimeLimit + a.order.Grace + soon
			if c.cause == assay.ExitCancel {
				a.stop(assay.ExitCancel)
			}
			e := a.exit(within)
			nobody(t, pids)
			exit := e.Exit.Signal
			if exit == "" {
				exit = fmt.Sprint(e.Exit.Code)
			}
			if e.Exit.Cause != c.cause || e.Exit.Killed != c.killed || exit != c.exit || len(e.Left) > 0 || e.Harness.PID != pids[0] {
				t.Errorf("%+v", e)
			}
			if text := a.output(); !strings.Contains(text, "told to end]\n") || c.killed != strings.Contains(text, "killed]") || c.role == "polite" && !strings.Contains(text, "bye") {
				t.Errorf("log: %s", text)
			}
		})
	}
}

func TestALeaderThatExitsTakesItsBackgroundWithIt(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "leaver")
	a.launch()
	e := a.exit(5 * time.Second)
	nobody(t, a.said("pids"))
	if e.Exit.Cause != assay.ExitItself || e.Exit.Code != 7 || e.Exit.Signal != "" || e.Exit.Killed {
		t.Errorf("%+v", e)
	}
}

func TestAStrangerThatHoldsTheOutputHoldsNobodyUp(t *testing.T) {
	for name, writes := range map[string]bool{"silent": false, "writing": true} {
		t.Run(name, func(t *testing.T) { t.Parallel(); stranger(t, writes) })
	}
}

func stranger(t *testing.T, writes bool) {
	a := newLaunch(t, "sleeper")
	a.launch()
	pids := a.said("pids")
	// This test is no process of the tree, and may write to its output.
	held, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", pids[0]), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	reports, err := os.OpenFile(a.dir+"/"+reportFile, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reports.Close()
	if writes {
		var writing sync.WaitGroup
		writing.Go(func() {
			for {
				if _, err := held.WriteString("from outside\n"); err != nil {
					return
				}
			}
		})
		defer writing.Wait()
		defer held.Close()
	}
	a.stop(assay.ExitCancel)
	e := a.exit(a.order.Grace + soon)
	nobody(t, pids)
	if e.Exit.Cause != assay.ExitCancel || !strings.Contains(a.output(), "holds the output open") {
		t.Errorf("%+v %.1000s", e, a.output())
	}
}

func TestAStoppedHarnessHearsTerm(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "polite")
	a.order.Grace = 10 * time.Second
	a.launch()
	pid := a.said("pids")[0]
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	a.stop(assay.ExitCancel)
	if e := a.exit(5 * time.Second); e.Exit.Code != 3 || e.Exit.Killed {
		t.Errorf("%+v", e)
	}
}

func TestADaemonIsToldBeforeItIsKilled(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "polite-leaver")
	a.order.Grace = 10 * time.Second
	a.launch()
	pids := a.said("pids")
	a.stop(assay.ExitCancel)
	e := a.exit(5 * time.Second)
	nobody(t, pids)
	if len(pids) != 2 || e.Exit.Killed || e.Exit.Signal != "SIGTERM" || !strings.Contains(a.output(), "the daemon ends\n") {
		t.Errorf("%v %+v %s", pids, e, a.output())
	}
}

func TestAStopIsHeardFromWhoLeavesAtOnce(t *testing.T) {
	t.Parallel()
	for range 10 {
		a := newLaunch(t, "sleeper")
		a.launch()
		a.said("pids")
		c := a.dial()
		if err := c.Stop(assay.ExitCancel); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if e := a.exit(5 * time.Second); e.Exit.Cause != assay.ExitCancel {
			t.Errorf("%+v", e)
		}
	}
}

func TestTheFirstCauseCounts(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "wild")
	a.order.Grace = time.Second
	a.launch()
	a.said("pids")
	c := a.dial()
	a.stop(assay.ExitCancel)
	for {
		s, err := c.Next(time.Now().Add(5 * time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if s.Stopping != "" {
			if s.Stopping != assay.ExitCancel || s.Harness.PID == 0 || s.Shim.PID == 0 || s.Began.IsZero() || s.ActiveAt.IsZero() {
				t.Errorf("%+v", s)
			}
			break
		}
	}
	a.stop(assay.ExitTimeLimit)
	if e := a.exit(a.order.Grace + soon); e.Exit.Cause != assay.ExitCancel {
		t.Errorf("%+v", e)
	}
	if _, err := c.Next(time.Now().Add(5 * time.Second)); err == nil {
		// what was on its way may still come
		if _, err = c.Next(time.Now().Add(5 * time.Second)); err == nil {
			t.Error("the shim has ended and is heard")
		}
	}
}

func TestASignalOfItsOwnIsNamed(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "signalled")
	a.launch()
	if e := a.exit(5 * time.Second); e.Exit.Cause != assay.ExitItself || e.Exit.Signal != "SIGKILL" || e.Exit.Code != -1 || e.Exit.Killed {
		t.Errorf("%+v", e)
	}
	if got := signalName(syscall.Signal(40)); got != "signal 40" {
		t.Error(got)
	}
}
