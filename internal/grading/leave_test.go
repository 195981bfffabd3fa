package grading

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
)

// The commit that tells the driver of an ask has opened calls for free slots: they must not leave.
func TestNothingLeavesWithTheCommitThatTells(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		for name, ask := range map[string]func(assay.RunID) error{
			"cancel": func(id assay.RunID) error {
				_, err := s.Runs().Ask(context.Background(), id, store.AskCancel, "", utcNow())
				return err
			},
			"pause": func(id assay.RunID) error {
				_, err := s.Runs().Ask(context.Background(), id, store.AskPause, "", utcNow())
				return err
			},
			"end": func(id assay.RunID) error {
				_, err := s.Runs().Ask(context.Background(), id, store.AskEnd, "", utcNow())
				return err
			},
			"slower": func(id assay.RunID) error { _, err := s.Runs().SetConcurrency(context.Background(), id, 1); return err },
		} {
			w := newWorldNamed(t, s, name, 20)
			release := make(chan struct{})
			var id atomic.Int64
			var first atomic.Bool
			accepted := make(chan struct{})
			w.judge.script(func(ctx context.Context, q judge.Question, n int) judge.Reply {
				<-accepted
				if first.CompareAndSwap(false, true) {
					w.eventually(func() bool { return w.judge.flying.Load() == 2 })
					if err := ask(assay.RunID(id.Load())); err != nil {
						t.Error(err)
					}
					return passing()
				}
				return held(release)(ctx, q, n)
			})
			stop := w.drive()
			run := w.grade(engine.GradeRequest{Concurrency: ptr(2)})
			id.Store(int64(run.ID))
			close(accepted)
			w.eventually(func() bool { return w.counts(run.ID).Graded == 1 })
			<-time.After(beatEvery)
			if n := w.judge.calls.Load(); n != 2 {
				t.Errorf("%s: %d calls, want the two that were in flight", name, n)
			}
			close(release)
			if name == "slower" {
				w.until(run.ID, assay.RunCompleted)
			}
			stop()
		}
	})
}
