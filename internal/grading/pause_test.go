package grading

import (
	"context"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
)

// paused is a run with some items graded that nobody drives; wake may be nil.
func (w *world) paused(wake *time.Time) assay.RunID {
	w.t.Helper()
	w.judge.script(func(context.Context, judge.Question, int) judge.Reply {
		if w.judge.calls.Load() > 10 {
			return failing(assay.ClassQuota)
		}
		return passing()
	})
	stop := w.drive()
	id := w.grade(engine.GradeRequest{Concurrency: ptr(1)}).ID
	run := w.until(id, assay.RunPaused)
	stop()
	w.judge.script(nil)
	if _, err := engine.Move(w.t.Context(), w.store.Runs(), id, engine.EventResume, store.Change{Epoch: &run.Epoch, Sentence: "once more", Now: utcNow()}); err != nil {
		w.t.Fatal(err)
	}
	taken, err := w.store.Runs().TakeUp(w.t.Context(), id, run.Epoch, false, utcNow())
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := engine.Move(w.t.Context(), w.store.Runs(), id, engine.EventPause, store.Change{Epoch: &taken.Epoch, Reason: run.Reason, Sentence: run.Sentence, WakeAt: wake, Now: utcNow()}); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func TestAPausedRunWakesAtItsTime(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 40)
		at := utcNow().Add(300 * time.Millisecond)
		id := w.paused(&at)
		w.drive()
		run := w.until(id, assay.RunCompleted)
		if c := w.counts(id); c.Graded != 40 || run.EndedAt.Before(at) || run.WakeAt != nil {
			t.Errorf("%+v, ended %s, was to wake at %s", c, run.EndedAt, at)
		}
	})
}

func TestEndOfAPausedRunKeepsWhatItHas(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 40)
		id := w.paused(nil)
		before := w.counts(id)
		if before.Graded == 0 || before.Pending == 0 {
			t.Fatalf("%+v", before)
		}
		run, err := w.engine.End(t.Context(), id)
		if err != nil || run.State != assay.RunCompleted || !run.Partial || run.Reason != assay.ReasonEnded {
			t.Fatalf("%+v (%v)", run, err)
		}
		if c := w.counts(id); c.Graded != before.Graded || c.Abandoned != before.Pending {
			t.Errorf("%+v, before %+v", c, before)
		}
		w.grade(engine.GradeRequest{}) // the key is free again
	})
}

// While the provider answers every call with 429, a cancel needs no answer of it.
func TestCancelWhileEverythingWaits(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 30)
		w.judge.script(func(context.Context, judge.Question, int) judge.Reply {
			return judge.Reply{Class: assay.ClassRateLimited, Error: "429", RetryAfter: 20 * time.Minute}
		})
		w.drive()
		id := w.grade(engine.GradeRequest{}).ID
		w.eventually(func() bool { return w.counts(id).Waiting == 30 })
		began := time.Now()
		if _, err := w.engine.Cancel(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		w.until(id, assay.RunCancelled)
		if took := time.Since(began); took > 2*time.Second || w.judge.calls.Load() != 30 || w.counts(id).Cancelled != 30 {
			t.Errorf("cancelled after %s and %d calls: %+v", took, w.judge.calls.Load(), w.counts(id))
		}
	})
}

// A run of which nothing can happen for hours pauses until then and says so, instead of looking alive.
func TestLongRetryAfterPauses(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 10)
		w.judge.script(func(_ context.Context, q judge.Question, _ int) judge.Reply {
			if q.Session.UserID == "u1" {
				return passing()
			}
			return judge.Reply{Class: assay.ClassRateLimited, Error: "429", RetryAfter: 3 * time.Hour}
		})
		w.drive()
		run := w.until(w.grade(engine.GradeRequest{}).ID, assay.RunPaused)
		c := w.counts(run.ID)
		if run.Reason != assay.ReasonRateLimited || run.WakeAt == nil || time.Until(*run.WakeAt) < 2*time.Hour || c.Graded != 1 || c.Waiting != 9 {
			t.Errorf("%s until %v: %s, %+v", run.Reason, run.WakeAt, run.Sentence, c)
		}
	})
}

// Who resumes such a run wants it to try at once, not to fall asleep until the same hour again.
func TestResumeDoesNotWaitOutARetryAfter(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 10)
		w.judge.script(func(context.Context, judge.Question, int) judge.Reply {
			return judge.Reply{Class: assay.ClassRateLimited, Error: "429", RetryAfter: 3 * time.Hour}
		})
		w.drive()
		id := w.grade(engine.GradeRequest{}).ID
		w.until(id, assay.RunPaused)
		w.judge.script(nil)
		if _, err := w.engine.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		w.until(id, assay.RunCompleted)
		if c := w.counts(id); c.Graded != 10 || w.judge.calls.Load() != 20 {
			t.Errorf("%+v after %d calls", c, w.judge.calls.Load())
		}
	})
}
