package grading

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
)

// A repeated request gets the first answer, though it would be refused by now.
func TestARepeatIsAnsweredThoughTheRequestNoLongerHolds(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 5)
		o, unset := w.grader.o, false
		o.Build = func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) {
			if unset {
				return nil, assay.Errorf(assay.CodeInvalid, "the variable KEY is not set")
			}
			return w.judge, nil
		}
		e := engine.New(s, New(o), nil, func() {}, utcNow)
		q := engine.GradeRequest{Judges: []string{"j"}}
		idem := &store.Idempotency{Route: "grade", Key: "k", BodyHash: "body"}
		first, replayed, err := e.Grade(t.Context(), w.project, q, idem)
		if err != nil || replayed {
			t.Fatalf("replayed %v (%v)", replayed, err)
		}
		rekeying, nameless := w.project, q
		rekeying.Rekeying, nameless.Set = true, "gone"
		for _, c := range []struct {
			name    string
			project assay.Project
			request engine.GradeRequest
			unset   bool
		}{
			{"its set is gone", w.project, nameless, false},
			{"a variable of its judge is not set", w.project, q, true},
			{"the project's settings are changing", rekeying, q, false},
		} {
			unset = c.unset
			if _, _, err := e.Grade(t.Context(), c.project, c.request, nil); err == nil || assay.CodeOf(err) == assay.CodeConflict {
				t.Fatalf("%s, and a request without a key is answered with %v", c.name, err)
			}
			if run, replayed, err := e.Grade(t.Context(), c.project, c.request, idem); err != nil || !replayed || run.ID != first.ID {
				t.Errorf("%s: run %s, replayed %v (%v), want %s again", c.name, run.ID, replayed, err, first.ID)
			}
			other := *idem
			other.BodyHash = "other"
			if _, _, err := e.Grade(t.Context(), c.project, c.request, &other); assay.CodeOf(err) != assay.CodeIdempotency {
				t.Errorf("%s: another body under the key is answered with %v", c.name, err)
			}
		}
	})
}

// barren is a planner that finds nothing to retry.
type barren struct{ *Grader }

func (barren) Retry(context.Context, assay.Run, string, time.Time) (store.NewRun, error) {
	return store.NewRun{}, assay.Errorf(assay.CodeRefused, "nothing is left")
}

func TestARepeatedRetryIsAnsweredThoughNothingIsLeft(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 5)
		w.drive()
		w.judge.script(func(context.Context, judge.Question, int) judge.Reply { return failing(assay.ClassRefused) })
		old := w.until(w.grade(engine.GradeRequest{}).ID, assay.RunFailed)
		idem := &store.Idempotency{Route: "retry", Key: "k", BodyHash: "body"}
		first, replayed, err := w.engine.Retry(t.Context(), old.ID, engine.RetryRequest{}, idem)
		if err != nil || replayed {
			t.Fatalf("replayed %v (%v)", replayed, err)
		}
		e := engine.New(s, barren{w.grader}, nil, func() {}, utcNow)
		if run, replayed, err := e.Retry(t.Context(), old.ID, engine.RetryRequest{}, idem); err != nil || !replayed || run.ID != first.ID {
			t.Errorf("run %s, replayed %v (%v), want %s again", run.ID, replayed, err, first.ID)
		}
		other := *idem
		other.BodyHash = "other"
		if _, _, err := e.Retry(t.Context(), old.ID, engine.RetryRequest{}, &other); assay.CodeOf(err) != assay.CodeIdempotency {
			t.Errorf("another body under the key is answered with %v", err)
		}
	})
}
