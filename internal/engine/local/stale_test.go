package local_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/store"
)

// late is a store whose runs change right after they were listed.
type late struct {
	store.Store
	once sync.Once
	then func()
}

func (l *late) Runs() store.Runs { return lateRuns{l.Store.Runs(), l} }

type lateRuns struct {
	store.Runs
	l *late
}

func (r lateRuns) Waiting(ctx context.Context, now time.Time) ([]assay.Run, error) {
	runs, err := r.Runs.Waiting(ctx, now)
	r.l.once.Do(r.l.then)
	return runs, err
}

// A run that was listed while its driver here was ending it, and was resumed since, is taken up for what
// it is: a person's resume, not a death.
func TestARunThatChangedSinceItWasListed(t *testing.T) {
	s, run := open(t)
	run, err := s.Runs().TakeUp(t.Context(), run.ID, 0, false, now())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan assay.Run, 1)
	l := &late{Store: s, then: func() {
		if _, err := engine.Move(t.Context(), s.Runs(), run.ID, engine.EventPause, store.Change{Epoch: &run.Epoch, Reason: assay.Reason(assay.ClassQuota), Now: now()}); err != nil {
			t.Error(err)
		}
		if _, err := engine.Move(t.Context(), s.Runs(), run.ID, engine.EventResume, store.Change{Reason: assay.ReasonResumed, ClearPause: true, Now: now()}); err != nil {
			t.Error(err)
		}
	}}
	start(t, local.Options{Store: l, Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: driver(func(ctx context.Context, run assay.Run) error {
		got <- run
		return complete(context.WithoutCancel(ctx), s, run)
	})}})
	select {
	case r := <-got:
		if r.Reason != assay.ReasonResumed || r.Stalls != 0 || r.Epoch != 2 {
			t.Errorf("taken up as %q with %d stalls at epoch %d", r.Reason, r.Stalls, r.Epoch)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("not taken up within 10 s")
	}
}
