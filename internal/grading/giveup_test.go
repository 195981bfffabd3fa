package grading

import (
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/store"
	"assay/internal/store/storetest"
)

// A run that cannot be driven ends and says why, and what it left can be graded by a retry.
func TestARunThatCannotBeDrivenCanBeRetried(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		f := &storetest.Faulty{Store: s}
		w := newWorld(t, f, 5)
		var broken atomic.Bool
		broken.Store(true)
		f.Before = func(call string) error {
			if broken.Load() && call == "Runs.Beat" {
				return assay.Errorf(assay.CodeInternal, "the row makes no sense")
			}
			return nil
		}
		d := local.New(local.Options{
			Store: f, Now: utcNow, Poll: 5 * time.Millisecond, ErrorPause: time.Millisecond,
			Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: w.grader},
		})
		w.dispatch(d)
		run := w.until(w.grade(engine.GradeRequest{}).ID, assay.RunFailed)
		if c := w.counts(run.ID); run.Reason != assay.ReasonDriverFailed || run.Sentence != "the row makes no sense" || c.Abandoned != 5 {
			t.Errorf("%s: %s, %+v", run.Reason, run.Sentence, c)
		}
		broken.Store(false)
		again, _, err := w.engine.Retry(t.Context(), run.ID, engine.RetryRequest{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.until(again.ID, assay.RunCompleted)
		if c := w.counts(again.ID); c.Graded != 5 {
			t.Errorf("%+v", c)
		}
	})
}
