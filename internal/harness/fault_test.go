package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/harness/shim"
	"assay/internal/store"
)

// A driver that lost its run touches nothing, neither row nor harness.
func TestADriverThatLostItsRun(t *testing.T) {
	w := newWorld(t, script("echo before; read x < gate"))
	open := w.gate("gate")
	run := w.start()
	w.drive()
	w.until(run.ID, func(_ assay.Run, f assay.Harness) bool { return f.PID != 0 })
	stale, _ := w.get(run.ID)
	before := stale
	stale.Epoch = 0
	err := New(Options{Store: w.store, Dir: w.dir, Self: self(), LookupEnv: os.LookupEnv, Now: now, Where: "here"}).Drive(t.Context(), stale)
	if !errors.Is(err, assay.ErrLost) {
		t.Errorf("%v", err)
	}
	if got, facts := w.get(run.ID); got.Phase != before.Phase || got.State != assay.RunRunning || !alive(facts.PID) {
		t.Errorf("%+v", got)
	}
	open()
	w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
}

// away is a store whose facts cannot be written for a while.
type away struct {
	store.Store
	gone    *atomic.Bool
	refused *atomic.Int64
}

func (a away) Harnesses() store.Harnesses { return awayHarnesses{a.Store.Harnesses(), a} }

type awayHarnesses struct {
	store.Harnesses
	away
}

func (a awayHarnesses) Put(ctx context.Context, f store.Fence, facts assay.Harness, advanced bool, now time.Time) (assay.RunControl, error) {
	if a.gone.Load() {
		a.refused.Add(1)
		return assay.RunControl{}, assay.Errorf(assay.CodeUnavailable, "the disk is full")
	}
	return a.Harnesses.Put(ctx, f, facts, advanced, now)
}

// The store is away for longer than the orphan grace: the harness goes on, because somebody watches it.
func TestAStoreThatIsAwayForAWhile(t *testing.T) {
	def := script("echo before; read x < gate; echo after; read x < last")
	def.OrphanGrace = assay.Seconds(200 * time.Millisecond)
	w := newWorld(t, def)
	open, last := w.gate("gate"), w.gate("last")
	run := w.start()
	var gone atomic.Bool
	var refused atomic.Int64
	w.drive(func(o *Options) { o.Store = away{o.Store, &gone, &refused} })
	w.until(run.ID, func(_ assay.Run, f assay.Harness) bool { return f.PID != 0 })
	gone.Store(true)
	before, _ := w.get(run.ID)
	if !within(15*time.Second, func() bool { return refused.Load() >= 3 }) { // longer than the orphan grace
		t.Fatal("nothing was stored")
	}
	open()
	w.said(run.ID, "after\n")
	if got, _ := w.get(run.ID); got.Epoch != before.Epoch || got.State != assay.RunRunning {
		t.Errorf("%+v", got)
	}
	gone.Store(false)
	last()
	w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
	if log := w.log(run.ID); log != "before\nafter\n" {
		t.Error(log)
	}
}

// A run whose folder is not here was launched elsewhere, or its folder is gone: it is lost when its shim has
// surely ended it, and never launched a second time.
func TestARunWhoseFolderIsGone(t *testing.T) {
	def := script("echo $$ >> numbers; read x < gate")
	def.OrphanGrace = assay.Seconds(100 * time.Millisecond)
	w := newWorld(t, def)
	w.gate("gate")
	run := w.start()
	stop := w.drive()
	w.until(run.ID, func(r assay.Run, f assay.Harness) bool { return r.Phase == assay.PhaseExecuting && f.PID != 0 })
	stop()
	folder := RunDir(w.dir, run.ID)
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Rename(folder+".away", folder) }) // the shim tries for a while to leave its exit.json
	d := New(Options{Store: w.store, Dir: w.dir, Self: self(), LookupEnv: os.LookupEnv, Now: now, Where: "there"})
	d.limits.ends, d.limits.notice = 500*time.Millisecond, 0
	taken, err := w.store.Runs().TakeUp(t.Context(), run.ID, 1, false, now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Cancel(t.Context(), run.ID, false); err != nil {
		t.Fatal(err)
	}
	if err := d.Drive(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	w.ended(run.ID, assay.RunCancelled, assay.ReasonAsked)
	if n := w.numbers("numbers"); len(n) != 1 || alive(n[0]) {
		t.Errorf("%v", n)
	}
}

// A shim that is stopped answers nobody: after a cancel it is not waited for without end.
func TestACancelWhoseShimIsStuck(t *testing.T) {
	w := newWorld(t, script("echo $$ > numbers; echo before; read x < gate"))
	w.gate("gate")
	run := w.start()
	w.drive()
	w.said(run.ID, "before\n")
	w.until(run.ID, func(_ assay.Run, f assay.Harness) bool { return f.PID != 0 })
	if err := syscall.Kill(w.shimOf(run.ID, 1), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Cancel(t.Context(), run.ID, false); err != nil {
		t.Fatal(err)
	}
	w.ended(run.ID, assay.RunCancelled, assay.ReasonAsked)
	if n := w.numbers("numbers"); len(n) != 1 || alive(n[0]) {
		t.Errorf("%v", n)
	}
}

// The shim holds the time limit, with a server or without one.
func TestATimeLimitWithoutAServer(t *testing.T) {
	def := assay.SuiteDefinition{Command: []string{self(), "stubborn", "numbers"}, TimeLimit: assay.Seconds(time.Second)}
	w := newWorld(t, def)
	run := w.start()
	kill := w.owned()
	w.said(run.ID, "here\nhere\n")
	kill()
	dir := launchDir(w.dir, run.ID, 1)
	if !within(15*time.Second, func() bool { s, _ := shim.Look(dir); return s == shim.Finished }) {
		t.Fatal("its limit did not end it")
	}
	for _, pid := range w.numbers("numbers") {
		if alive(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
	w.drive()
	_, facts := w.ended(run.ID, assay.RunFailed, assay.ReasonTimeLimit)
	if !facts.Exit.Killed || facts.Exit.At.Sub(*facts.LaunchedAt) > def.TimeLimit.Duration()+300*time.Millisecond+2*time.Second {
		t.Errorf("%+v launched %s", facts.Exit, facts.LaunchedAt)
	}
}

// asked counts how often a store is asked what people want of a run.
type asked struct {
	store.Store
	n *atomic.Int64
}

func (a asked) Runs() store.Runs { return askedRuns{a.Store.Runs(), a.n} }

type askedRuns struct {
	store.Runs
	n *atomic.Int64
}

func (a askedRuns) Control(ctx context.Context, f store.Fence) (assay.RunControl, error) {
	a.n.Add(1)
	return a.Runs.Control(ctx, f)
}

// A shim that cannot be reached, or does not say yet how its launch went, is looked at often, and the store is
// not asked as often.
func TestAShimThatDoesNotAnswerIsEasyOnTheStore(t *testing.T) {
	for name, file := range map[string]string{"unreachable": "sock", "starting": "shim.json"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, script("echo here; read x < gate"))
			open := w.gate("gate")
			run := w.start()
			kill := w.owned()
			w.said(run.ID, "here")
			w.until(run.ID, func(_ assay.Run, f assay.Harness) bool { return f.PID != 0 })
			kill()
			path := filepath.Join(launchDir(w.dir, run.ID, 1), file)
			if err := os.Rename(path, path+".away"); err != nil {
				t.Fatal(err)
			}
			var n atomic.Int64
			stop := w.drive(func(o *Options) { o.Store = asked{o.Store, &n} })
			w.until(run.ID, func(r assay.Run, _ assay.Harness) bool { return r.Epoch == 2 })
			begin := time.Now()
			within(2*time.Second, func() bool { return time.Since(begin) > time.Second })
			if got := n.Load(); got > 25 {
				t.Errorf("it was asked %d times in %s", got, time.Since(begin))
			}
			stop()
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
			open()
			w.drive()
			w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
		})
	}
}
