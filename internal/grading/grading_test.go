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

func TestEverySampledSessionIsGraded(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 240) // 12 strata of 20
		w.drive()
		run := w.until(w.grade(engine.GradeRequest{PerStratum: ptr(7)}).ID, assay.RunCompleted)
		if c := w.counts(run.ID); c.Total != 84 || c.Graded != 84 || run.Sampled != 84 || run.Planned != 84 {
			t.Errorf("counts %+v, sampled %d, planned %d, want 84 each", c, run.Sampled, run.Planned)
		}
		strata, err := s.Plans().Strata(t.Context(), run.ID)
		if err != nil || len(strata) != 12 {
			t.Fatalf("%d strata (%v), want 12", len(strata), err)
		}
		for _, h := range strata {
			if h.Eligible != 20 || h.Sampled != 7 {
				t.Errorf("stratum %+v, want 7 of 20", h)
			}
		}
		if run.Reason != assay.ReasonDone || run.Phase != assay.PhaseFinishing || run.EndedAt == nil {
			t.Errorf("run ended as %s %s %v", run.Reason, run.Phase, run.EndedAt)
		}
	})
}

// Several judges grade one sample; repeats are items of their own; a second run reuses what the
// first one paid for unless it is forced.
func TestJudgesRepeatsReuse(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 12)
		w.apply("k", "v2")
		w.apply("twin", "v2")
		if _, _, err := w.engine.Grade(t.Context(), w.project, engine.GradeRequest{Judges: []string{"k", "twin"}}, nil); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("one version under two names: %v", err)
		}
		w.drive()
		first := w.until(w.grade(engine.GradeRequest{Judges: []string{"j", "k"}}).ID, assay.RunCompleted)
		if c := w.counts(first.ID); c.Graded != 24 || c.Reused != 0 || w.judge.calls.Load() != 24 {
			t.Fatalf("first run: %+v, %d calls, want 24 graded", c, w.judge.calls.Load())
		}
		preview, err := w.engine.Preview(t.Context(), w.project, engine.GradeRequest{Judges: []string{"j"}})
		if err != nil || preview.Judges[0].Reused != 12 || preview.Judges[0].Calls != 0 {
			t.Errorf("preview %+v (%v), want 12 reused, no call", preview.Judges, err)
		}
		again := w.until(w.grade(engine.GradeRequest{}).ID, assay.RunCompleted)
		if c := w.counts(again.ID); c.Graded != 12 || c.Reused != 12 || w.judge.calls.Load() != 24 {
			t.Errorf("second run: %+v, %d calls, want all reused", c, w.judge.calls.Load())
		}
		forced := w.until(w.grade(engine.GradeRequest{Force: true}).ID, assay.RunCompleted)
		if c := w.counts(forced.ID); c.Reused != 0 || w.judge.calls.Load() != 36 {
			t.Errorf("forced run: %+v, %d calls, want 12 new", c, w.judge.calls.Load())
		}
		repeated := w.until(w.grade(engine.GradeRequest{Repeats: 3}).ID, assay.RunCompleted)
		if c := w.counts(repeated.ID); c.Graded != 36 || c.Reused != 0 || w.judge.calls.Load() != 72 {
			t.Errorf("repeated run: %+v, %d calls, want 36 new", c, w.judge.calls.Load())
		}
		w.put(0, 1, "changed")
		changed := w.until(w.grade(engine.GradeRequest{}).ID, assay.RunCompleted)
		if c := w.counts(changed.ID); c.Reused != 11 || w.judge.calls.Load() != 73 {
			t.Errorf("after one session changed: %+v, %d calls, want 11 reused", c, w.judge.calls.Load())
		}
	})
}

func TestFaultOnTheFirstAttemptOnly(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 24)
		w.judge.script(func(_ context.Context, q judge.Question, nth int) judge.Reply {
			if nth > 1 {
				if q.Unreadable != nil && q.Unreadable.Raw != "gibberish" {
					t.Errorf("asked again with the raw answer %q", q.Unreadable.Raw)
				}
				return passing()
			}
			return judge.Reply{Class: assay.ClassMalformed, Error: "no JSON", Raw: "gibberish"}
		})
		w.drive()
		run := w.until(w.grade(engine.GradeRequest{}).ID, assay.RunCompleted)
		if c := w.counts(run.ID); c.Graded != 24 {
			t.Errorf("%+v, want 24 graded on the second attempt", c)
		}
		attempts, err := s.Items().Attempts(t.Context(), run.ID, 1)
		if err != nil || len(attempts) != 2 || attempts[0].Class != assay.ClassMalformed || attempts[0].Raw != "gibberish" || attempts[1].Class != assay.ClassNone {
			t.Errorf("attempts of item 1: %+v (%v)", attempts, err)
		}
	})
}

// No failure becomes a verdict, each ends in its class, and a run without any verdict has failed.
func TestClassesEndAsThemselves(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 12)
		classes := []assay.Class{assay.ClassRefused, assay.ClassTruncated, assay.ClassJudgeError, assay.ClassContextTooLong, assay.ClassContentFiltered, assay.ClassMalformed}
		w.judge.script(func(_ context.Context, q judge.Question, _ int) judge.Reply {
			return failing(classes[int(q.Session.SessionID[5]-'0')%len(classes)])
		})
		w.drive()
		id := w.grade(engine.GradeRequest{}).ID
		run := w.until(id, assay.RunFailed)
		c := w.counts(id)
		if c.Graded != 0 || c.Errored+c.Ungradable != 12 || run.Reason != assay.ReasonNothingGraded {
			t.Errorf("%+v %s", c, run.Reason)
		}
		for _, class := range classes {
			if c.ByClass[class] == 0 {
				t.Errorf("no item ended as %s: %v", class, c.ByClass)
			}
		}
		verdicts, _, err := s.Verdicts().List(t.Context(), store.VerdictQuery{Run: id}, store.Page{Limit: 10})
		if err != nil || len(verdicts) != 0 {
			t.Errorf("%d verdicts (%v), want none", len(verdicts), err)
		}
	})
}

// An item that the provider puts off waits without a slot, is not asked earlier, and uses up none of
// its attempts.
func TestRetryAfterIsHonoured(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 40)
		const after = 300 * time.Millisecond
		limited := make(map[string]time.Time)
		w.judge.script(func(_ context.Context, q judge.Question, nth int) judge.Reply {
			id := q.Session.SessionID
			if id[5] != '7' || nth > 6 { // four sessions of forty, more often than any attempt allowance
				return passing()
			}
			w.judge.mu.Lock()
			defer w.judge.mu.Unlock()
			if last, ok := limited[id]; ok && time.Since(last) < after {
				t.Errorf("%s was asked %s after a 429 that asked for %s", id, time.Since(last), after)
			}
			limited[id] = time.Now()
			return judge.Reply{Class: assay.ClassRateLimited, Error: "429", RetryAfter: after}
		})
		w.drive()
		id := w.grade(engine.GradeRequest{Concurrency: ptr(2)}).ID
		w.eventually(func() bool { return w.counts(id).Graded >= 36 })
		if c := w.counts(id); c.InFlight > 0 && c.Waiting == 0 {
			t.Errorf("%+v: limited items hold slots", c)
		}
		w.eventually(func() bool { return w.run(id).State.Terminal() })
		if c := w.counts(id); c.Graded != 40 {
			t.Errorf("%+v, want everything graded in the end", c)
		}
	})
}

func TestQuotaPausesAndResumeFinishes(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 60)
		w.judge.script(func(context.Context, judge.Question, int) judge.Reply { return failing(assay.ClassQuota) })
		w.drive()
		id := w.grade(engine.GradeRequest{Concurrency: ptr(8)}).ID
		run := w.until(id, assay.RunPaused)
		if c := w.counts(id); c.Pending != 60 || w.judge.calls.Load() > 8 || run.Reason != assay.Reason(assay.ClassQuota) {
			t.Errorf("%+v after %d calls, reason %s: %s", c, w.judge.calls.Load(), run.Reason, run.Sentence)
		}
		if _, _, err := w.engine.Grade(t.Context(), w.project, engine.GradeRequest{Judges: []string{"j"}}, nil); assay.CodeOf(err) != assay.CodeConflict {
			t.Errorf("a paused run holds its key: %v", err)
		}
		w.judge.script(nil)
		if _, err := w.engine.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		w.until(id, assay.RunCompleted)
		if c := w.counts(id); c.Graded != 60 {
			t.Errorf("%+v", c)
		}
	})
}

func TestRetryGradesWhatIsLeft(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 24)
		w.judge.script(func(_ context.Context, q judge.Question, _ int) judge.Reply {
			if q.Session.UserID == "u3" {
				return failing(assay.ClassRefused)
			}
			return passing()
		})
		w.drive()
		first := w.until(w.grade(engine.GradeRequest{}).ID, assay.RunCompleted)
		left := w.counts(first.ID).Errored
		if left == 0 {
			t.Fatal("nothing errored")
		}
		w.judge.script(nil)
		calls := w.judge.calls.Load()
		retry, _, err := w.engine.Retry(t.Context(), first.ID, engine.RetryRequest{By: "me"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		retry = w.until(retry.ID, assay.RunCompleted)
		if c := w.counts(retry.ID); c.Total != left || c.Graded != left || w.judge.calls.Load()-calls != left || retry.RetryOf != first.ID {
			t.Errorf("retry: %+v, want %d graded", c, left)
		}
		tally, err := s.Verdicts().Tally(t.Context(), []assay.RunID{retry.ID, first.ID}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var graded int64
		for _, row := range tally {
			if row.State == assay.ItemGraded {
				graded += row.N
			}
		}
		if graded != 24 {
			t.Errorf("the chain has %d graded items, want 24", graded)
		}
		if _, _, err := w.engine.Retry(t.Context(), retry.ID, engine.RetryRequest{By: "me"}, nil); assay.CodeOf(err) != assay.CodeRefused {
			t.Errorf("nothing is left to retry: %v", err)
		}
		again, _, err := w.engine.Retry(t.Context(), first.ID, engine.RetryRequest{By: "me"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		again = w.until(again.ID, assay.RunCompleted)
		if c := w.counts(again.ID); c.Total != left || c.Reused != left || w.judge.calls.Load()-calls != left {
			t.Errorf("the same retry again: %+v, %d calls, want all reused", c, w.judge.calls.Load()-calls)
		}
	})
}

// A forced run that left items behind may be retried twice: the second retry adopts what the first
// one bought, and nothing older.
func TestForcedRunRetriedTwicePaysOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 12)
		w.drive()
		w.until(w.grade(engine.GradeRequest{}).ID, assay.RunCompleted) // verdicts that are too old to adopt
		w.judge.script(func(context.Context, judge.Question, int) judge.Reply { return failing(assay.ClassRefused) })
		forced := w.until(w.grade(engine.GradeRequest{Force: true, Repeats: 2}).ID, assay.RunFailed)
		w.judge.script(nil)
		for i, want := range []int64{24, 0} {
			calls := w.judge.calls.Load()
			retry, _, err := w.engine.Retry(t.Context(), forced.ID, engine.RetryRequest{By: "me"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.until(retry.ID, assay.RunCompleted)
			if c := w.counts(retry.ID); c.Graded != 24 || w.judge.calls.Load()-calls != want {
				t.Errorf("retry %d: %+v, %d calls, want %d", i+1, c, w.judge.calls.Load()-calls, want)
			}
		}
	})
}
