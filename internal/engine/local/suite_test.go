package local_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/store"
)

func suiteRun(t *testing.T, s store.Store) assay.Run {
	t.Helper()
	p, err := s.Projects().Get(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := s.Runs().Create(t.Context(), store.NewRun{Project: p.ID, Kind: assay.RunSuite, Concurrency: 1, AsOf: now(), Now: now(),
		Suite: &assay.SuiteSpec{Name: "s", Version: "v", Def: &assay.SuiteDefinition{}}})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A harness outlives its driver: carrying it on is no death, and an owner that stops leaves it running.
func TestASuiteIsCarriedOn(t *testing.T) {
	s, grade := open(t)
	if _, err := (engine.New(s, nil, nil, func() {}, now)).Cancel(t.Context(), grade.ID, false); err != nil {
		t.Fatal(err)
	}
	run := suiteRun(t, s)
	if _, err := s.Runs().TakeUp(t.Context(), run.ID, 0, false, now()); err != nil {
		t.Fatal(err)
	}
	var drives atomic.Int64
	d := local.New(local.Options{Store: s, Now: now, Drivers: map[assay.RunKind]engine.Driver{assay.RunSuite: driver(func(ctx context.Context, _ assay.Run) error {
		drives.Add(1)
		<-ctx.Done()
		return ctx.Err()
	})}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = d.Run(ctx) }()
	eventually(t, func() bool { return drives.Load() == 1 })
	cancel()
	<-done
	if got := get(t, s, run.ID); got.State != assay.RunRunning || got.Epoch != 2 || got.Stalls != 0 {
		t.Errorf("%s, epoch %d, stalls %d", got.State, got.Epoch, got.Stalls)
	}
}

// However often its driver fails, the row of a harness that may live is not ended: that would free its key.
func TestASuiteWhoseDriverFailsIsTriedOn(t *testing.T) {
	s, _ := open(t)
	run := suiteRun(t, s)
	var drives atomic.Int64
	start(t, local.Options{Store: s, ErrorPause: 1, Drivers: map[assay.RunKind]engine.Driver{
		assay.RunGrade: driver(func(ctx context.Context, _ assay.Run) error { <-ctx.Done(); return ctx.Err() }),
		assay.RunSuite: driver(func(context.Context, assay.Run) error { drives.Add(1); return errors.New("the folder cannot be read") })}})
	eventually(t, func() bool { return drives.Load() > 15 })
	if got := get(t, s, run.ID); got.State.Terminal() || got.Stalls != 0 {
		t.Errorf("%+v", got)
	}
}

// Once its harness is gone for sure, the row of a suite whose driver only fails is ended.
func TestASuiteWhoseHarnessIsGoneDoesNotFailForEver(t *testing.T) {
	s, _ := open(t)
	run := suiteRun(t, s)
	var gone atomic.Bool
	var drives atomic.Int64
	start(t, local.Options{Store: s, ErrorPause: 1, Drivers: map[assay.RunKind]engine.Driver{
		assay.RunGrade: driver(func(ctx context.Context, _ assay.Run) error { <-ctx.Done(); return ctx.Err() }),
		assay.RunSuite: driver(func(context.Context, assay.Run) error {
			drives.Add(1)
			if err := errors.New("its end cannot be stored"); gone.Load() {
				return engine.Gone(err)
			} else {
				return err
			}
		})}})
	eventually(t, func() bool { return drives.Load() > 15 })
	if got := get(t, s, run.ID); got.State.Terminal() {
		t.Errorf("%+v", got)
	}
	gone.Store(true)
	eventually(t, func() bool { return get(t, s, run.ID).State.Terminal() })
	if got := get(t, s, run.ID); got.State != assay.RunFailed || got.Reason != assay.ReasonDriverFailed || got.Sentence != "its end cannot be stored" {
		t.Errorf("%s (%s): %s", got.State, got.Reason, got.Sentence)
	}
}
