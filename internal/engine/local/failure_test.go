package local_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/store"
)

// failing drives with f, which gets the number of the drive from 1, and waits only shortly after each.
func failing(t *testing.T, s store.Store, f func(ctx context.Context, run assay.Run, nth int64) error) (d *local.Dispatcher, drives *atomic.Int64) {
	drives = &atomic.Int64{}
	d = start(t, local.Options{Store: s, ErrorPause: time.Millisecond, Drivers: map[assay.RunKind]engine.Driver{
		assay.RunGrade: driver(func(ctx context.Context, run assay.Run) error { return f(ctx, run, drives.Add(1)) }),
	}})
	return d, drives
}

func complete(ctx context.Context, s store.Store, run assay.Run) error {
	_, err := engine.Move(ctx, s.Runs(), run.ID, engine.EventDone, store.Change{Reason: assay.ReasonNothing, Now: now()})
	return err
}

func TestADriverThatOnlyFailsEndsItsRun(t *testing.T) {
	s, run := open(t)
	d, drives := failing(t, s, func(_ context.Context, _ assay.Run, nth int64) error {
		return fmt.Errorf("row %d makes no sense", nth)
	})
	eventually(t, func() bool { return get(t, s, run.ID).State.Terminal() })
	got := get(t, s, run.ID)
	if got.State != assay.RunFailed || got.Reason != assay.ReasonDriverFailed || got.Sentence != "row 10 makes no sense" {
		t.Errorf("%s (%s: %s)", got.State, got.Reason, got.Sentence)
	}
	if drives.Load() != 10 || got.Stalls != 0 {
		t.Errorf("%d drives, %d stalls, want 10 and 0", drives.Load(), got.Stalls)
	}
	eventually(t, func() bool { return d.Remembered() == 0 })
}

func TestACancelBeatsTheEndOfAFailingDriver(t *testing.T) {
	s, run := open(t)
	failing(t, s, func(ctx context.Context, run assay.Run, nth int64) error {
		if nth == 1 {
			if _, err := s.Runs().Ask(ctx, run.ID, store.AskCancel, "", now()); err != nil {
				t.Error(err)
			}
		}
		return errors.New("no use")
	})
	eventually(t, func() bool { return get(t, s, run.ID).State == assay.RunCancelled })
}

// What is not the driver's fault, or does not stand in the way of progress, does not end a run.
func TestFailuresThatDoNotCount(t *testing.T) {
	for _, c := range []struct {
		name string
		fail func(ctx context.Context, s store.Store, run assay.Run, nth int64) error
	}{
		{"the store is away", func(context.Context, store.Store, assay.Run, int64) error {
			return fmt.Errorf("read items: %w", assay.Errorf(assay.CodeUnavailable, "the store is away"))
		}},
		{"the run was lost", func(context.Context, store.Store, assay.Run, int64) error {
			return fmt.Errorf("beat: %w", assay.ErrLost)
		}},
		{"there is progress in between", func(ctx context.Context, s store.Store, run assay.Run, nth int64) error {
			if nth%9 == 0 {
				to := map[bool]assay.RunPhase{true: assay.PhaseGrading, false: assay.PhasePlanning}[run.Phase == assay.PhasePlanning]
				if _, err := s.Runs().Change(ctx, run.ID, store.Change{From: []assay.RunState{assay.RunRunning}, To: assay.RunRunning, Phase: to, Now: now()}); err != nil {
					return err
				}
			}
			return errors.New("it broke")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, run := open(t)
			d, _ := failing(t, s, func(ctx context.Context, run assay.Run, nth int64) error {
				if nth <= 35 {
					return c.fail(ctx, s, run, nth)
				}
				return complete(ctx, s, run)
			})
			eventually(t, func() bool { return get(t, s, run.ID).State.Terminal() })
			if got := get(t, s, run.ID); got.State != assay.RunCompleted || got.Epoch != 36 {
				t.Errorf("%s (%s: %s) at epoch %d", got.State, got.Reason, got.Sentence, got.Epoch)
			}
			eventually(t, func() bool { return d.Remembered() == 0 })
		})
	}
}
