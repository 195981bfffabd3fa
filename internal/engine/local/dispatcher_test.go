package local_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func now() time.Time { return time.Now().UTC() }

// driver calls f for each Drive.
type driver func(ctx context.Context, run assay.Run) error

func (d driver) Drive(ctx context.Context, run assay.Run) error { return d(ctx, run) }

func open(t *testing.T) (store.Store, assay.Run) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	p, err := s.Projects().Create(t.Context(), "p", assay.DefaultSettings(), now())
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := s.Runs().Create(t.Context(), store.NewRun{Project: p.ID, Kind: assay.RunGrade, Concurrency: 1, AsOf: now(), Now: now()})
	if err != nil {
		t.Fatal(err)
	}
	return s, run
}

// start runs a dispatcher until the test ends.
func start(t *testing.T, o local.Options) *local.Dispatcher {
	t.Helper()
	o.Now, o.Poll = now, 5*time.Millisecond
	d := local.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = d.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return d
}

func get(t *testing.T, s store.Store, id assay.RunID) assay.Run {
	t.Helper()
	run, err := s.Runs().Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 10 s")
		}
	}
}

// A driver that could not go on is no death: nothing is blamed for it, and it is not called in a loop.
func TestADriverThatGivesUpIsNoDeath(t *testing.T) {
	s, run := open(t)
	var drives atomic.Int64
	began := time.Now()
	start(t, local.Options{Store: s, Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: driver(func(ctx context.Context, run assay.Run) error {
		if drives.Add(1) < 3 {
			return errors.New("the store is away")
		}
		_, err := engine.Move(ctx, s.Runs(), run.ID, engine.EventDone, store.Change{Reason: assay.ReasonNothing, Now: now()})
		return err
	})}})
	eventually(t, func() bool { return get(t, s, run.ID).State == assay.RunCompleted })
	if got := get(t, s, run.ID); got.Epoch != 3 || got.Stalls != 0 {
		t.Errorf("epoch %d, stalls %d, want 3 and 0", got.Epoch, got.Stalls)
	}
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("it was taken up twice within %s", took)
	}
}

// A run that another process left running is taken up as after a death, and driven once only.
func TestARunningRunOfADeadOwnerIsTakenUpOnce(t *testing.T) {
	s, run := open(t)
	if _, err := s.Runs().TakeUp(t.Context(), run.ID, 0, false, now()); err != nil {
		t.Fatal(err)
	}
	var drives atomic.Int64
	release := make(chan struct{})
	d := start(t, local.Options{Store: s, Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: driver(func(ctx context.Context, run assay.Run) error {
		drives.Add(1)
		<-release
		_, err := engine.Move(context.WithoutCancel(ctx), s.Runs(), run.ID, engine.EventDone, store.Change{Reason: assay.ReasonNothing, Now: now()})
		return err
	})}})
	eventually(t, func() bool { return drives.Load() == 1 })
	for range 50 {
		d.Wake()
		<-time.After(time.Millisecond)
	}
	if got := get(t, s, run.ID); drives.Load() != 1 || got.Stalls != 1 || got.Epoch != 2 {
		t.Errorf("%d drives, stalls %d, epoch %d", drives.Load(), got.Stalls, got.Epoch)
	}
	close(release)
	eventually(t, func() bool { return get(t, s, run.ID).State == assay.RunCompleted })
}

// A dispatcher that only looks takes nothing up, but carries out a cancel of a run that nobody drives.
func TestLookOnly(t *testing.T) {
	s, run := open(t)
	d := start(t, local.Options{Store: s, Look: true, Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: driver(func(context.Context, assay.Run) error {
		t.Error("a dispatcher that only looks drove a run")
		return nil
	})}})
	for range 20 {
		d.Wake()
		<-time.After(time.Millisecond)
	}
	if got := get(t, s, run.ID); got.State != assay.RunQueued {
		t.Errorf("%s", got.State)
	}
	if _, err := s.Runs().Ask(t.Context(), run.ID, store.AskCancel, "", now()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return get(t, s, run.ID).State == assay.RunCancelled })
}

// Where the last owner may live on for a moment, a run is taken up at once, so that its writes are
// refused, and driven only after the grace.
func TestTheGraceStandsBetweenTakingUpAndDriving(t *testing.T) {
	s, run := open(t)
	const grace = 300 * time.Millisecond
	driven := make(chan time.Time, 1)
	began := time.Now()
	start(t, local.Options{Store: s, Grace: grace, Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: driver(func(ctx context.Context, run assay.Run) error {
		driven <- time.Now()
		_, err := engine.Move(ctx, s.Runs(), run.ID, engine.EventDone, store.Change{Reason: assay.ReasonNothing, Now: now()})
		return err
	})}})
	eventually(t, func() bool { return get(t, s, run.ID).Epoch == 1 })
	if at := <-driven; at.Sub(began) < grace {
		t.Errorf("driven %s after the start, the grace is %s", at.Sub(began), grace)
	}
	eventually(t, func() bool { return get(t, s, run.ID).State == assay.RunCompleted })
}
