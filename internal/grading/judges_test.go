package grading

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/limit"
	"assay/internal/store"
)

// asked makes the world's judges by their version, which is also the name of a provider's model.
func (w *world) asked(by map[string]judge.Judge) {
	w.t.Helper()
	for name := range by {
		w.apply(name, name)
	}
	o := w.grader.o
	o.Build = func(v assay.JudgeVersion, _ json.RawMessage) (judge.Judge, error) { return by[string(v.ID)], nil }
	o.Price = func(_ string, key assay.ModelKey) *assay.Price {
		if p, ok := by[key.Model].(*provider); ok {
			return p.now("", key)
		}
		return nil
	}
	w.grader = New(o)
	w.engine = engine.New(w.store, w.grader, nil, func() {
		if d := w.poke.Load(); d != nil {
			d.Wake()
		}
	}, utcNow)
}

func modelNamed(name string) *provider {
	return &provider{key: assay.ModelKey{Endpoint: "http://model", Model: name}, input: 1000, output: 100}
}

// limitedFirst says 429 with a wait to the first call, and answers the others.
func limitedFirst(wait time.Duration) func(context.Context, int) (judge.Reply, assay.Usage) {
	return func(_ context.Context, nth int) (judge.Reply, assay.Usage) {
		if nth > 1 {
			return passing(), assay.Usage{}
		}
		r := failing(assay.ClassRateLimited)
		r.HTTPStatus, r.RetryAfter = 429, wait
		return r, assay.Usage{}
	}
}

func (w *world) gradedBy(id assay.RunID, judge int) (n int) {
	w.t.Helper()
	items, _, err := w.store.Items().List(w.t.Context(), id, store.ItemQuery{State: assay.ItemGraded}, store.Page{Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, it := range items {
		if it.Judge == judge {
			n++
		}
	}
	return n
}

// A model that is held for hours does not hold the run's other judges, in whatever order they stand.
func TestAHeldJudgeHoldsNoOther(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		for slow, judges := range [][]string{{"slow", "held"}, {"held", "slow"}} {
			w := newWorldNamed(t, s, judges[0], 6)
			held, slowly := modelNamed("held"), modelNamed("slow")
			held.answer = limitedFirst(45 * time.Minute)
			w.asked(map[string]judge.Judge{"held": held, "slow": slowly})
			w.grader.o.Limits.Set(limit.Key(slowly.key), limit.Limits{RequestsPerMinute: 1})
			stop := w.driveForHours()
			id := w.grade(engine.GradeRequest{Judges: judges}).ID
			time.Sleep(7 * time.Minute)
			if n := w.gradedBy(id, slow); n != 6 {
				t.Errorf("%v: the slow judge graded %d of 6 in 7 minutes: %s", judges, n, w.run(id).Sentence)
			}
			run := w.until(id, assay.RunPaused)
			if run.Reason != assay.ReasonRateLimited || run.WakeAt == nil || time.Until(*run.WakeAt) < 30*time.Minute {
				t.Errorf("%s until %v: %s", run.Reason, run.WakeAt, run.Sentence)
			}
			w.withinHours(time.Hour, func() bool { return w.run(id).State == assay.RunCompleted })
			stop()
		}
	})
}

// A judge that is too dear for what is left of the budget does not stop those that cost nothing or less.
func TestATightBudgetStopsOnlyWhatCosts(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 20)
		dear, cheap, free, local := modelNamed("dear"), modelNamed("cheap"), modelNamed("free"), &scripted{}
		dear.set(&assay.Price{Input: assay.Dollar, Output: assay.Dollar})
		cheap.set(&assay.Price{Input: assay.Dollar / 100, Output: assay.Dollar / 100})
		free.set(&assay.Price{})
		local.script(func(context.Context, judge.Question, int) judge.Reply {
			return judge.Reply{Class: assay.ClassRateLimited, Error: "429", RetryAfter: 10 * time.Minute}
		})
		w.asked(map[string]judge.Judge{"dear": dear, "cheap": cheap, "free": free, "local": local})
		if _, err := s.Judges().Apply(t.Context(), w.project.ID, assay.Judge{Name: "local", Version: "rules"},
			assay.JudgeVersion{ID: "rules", Kind: assay.JudgeRules, Unit: assay.UnitSession, Canonical: []byte(`{}`), CreatedAt: utcNow()}, utcNow()); err != nil {
			t.Fatal(err)
		}
		build := w.grader.o.Build
		w.grader.o.Build = func(v assay.JudgeVersion, raw json.RawMessage) (judge.Judge, error) {
			if v.ID == "rules" {
				return local, nil
			}
			return build(v, raw)
		}
		stop := w.driveForHours()
		defer stop()
		budget := 2*dear.dearest() + 25*cheap.dearest()
		id := w.grade(engine.GradeRequest{Judges: []string{"dear", "cheap", "free", "local"}, Budget: &budget, Concurrency: ptr(4)}).ID
		time.Sleep(5 * time.Minute)
		for i, want := range []int{2, 20, 20, 0} {
			if n := w.gradedBy(id, i); n != want {
				t.Errorf("judge %d graded %d, want %d: %s", i, n, want, w.run(id).Sentence)
			}
		}
		local.script(nil)
		time.Sleep(10 * time.Minute)
		if run := w.until(id, assay.RunPaused); run.Reason != assay.Reason(assay.ClassBudget) || run.WakeAt != nil || w.gradedBy(id, 3) != 20 {
			t.Errorf("%s until %v with %d graded of what waited for ten minutes: %s", run.Reason, run.WakeAt, w.gradedBy(id, 3), run.Sentence)
		}
	})
}

// While one call asks whether a model is up again, the other runs wait for what it says: they do not pause
// and wake each second.
func TestRunsWaitForTheProbe(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 20)
		p := modelNamed("m")
		p.answer = func(ctx context.Context, n int) (judge.Reply, assay.Usage) {
			if n > 30 {
				select {
				case <-ctx.Done():
				case <-time.After(2 * time.Minute):
				}
			}
			return failing(assay.ClassUnreachable), assay.Usage{}
		}
		w.asked(map[string]judge.Judge{"m": p, "n": p})
		stop := w.driveForHours()
		defer stop()
		ids := []assay.RunID{w.grade(engine.GradeRequest{Judges: []string{"m"}}).ID, w.grade(engine.GradeRequest{Judges: []string{"n"}}).ID}
		time.Sleep(30 * time.Minute)
		for _, id := range ids {
			if run := w.run(id); run.Epoch > 15 {
				t.Errorf("run %s was taken up %d times in half an hour", id, run.Epoch)
			}
			if _, err := w.engine.Cancel(t.Context(), id, true); err != nil {
				t.Fatal(err)
			}
			w.until(id, assay.RunCancelled)
		}
	})
}

// What must run alone and waits for its model keeps nobody else waiting meanwhile.
func TestASuspectThatWaitsHoldsNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 4)
		p, other := modelNamed("m"), modelNamed("other")
		var die atomic.Bool
		die.Store(true)
		p.answer = func(ctx context.Context, _ int) (judge.Reply, assay.Usage) {
			for die.Load() {
				select {
				case <-ctx.Done():
					return failing(assay.ClassAborted), assay.Usage{}
				case <-time.After(time.Second):
				}
			}
			r := failing(assay.ClassRateLimited)
			r.HTTPStatus, r.RetryAfter = 429, 20*time.Minute
			return r, assay.Usage{}
		}
		w.asked(map[string]judge.Judge{"m": p, "other": other})
		id := w.grade(engine.GradeRequest{Judges: []string{"m"}}).ID
		for range assay.CrashesAlone {
			c := w.crashing()
			c.o.Build, c.o.Price = w.grader.o.Build, w.grader.o.Price
			c.Grader = New(c.o)
			run := w.run(id)
			taken, err := s.Runs().TakeUp(t.Context(), id, run.Epoch, run.State == assay.RunRunning, utcNow())
			if err != nil {
				t.Fatal(err)
			}
			var driven sync.WaitGroup
			driven.Go(func() { _ = c.Drive(context.Background(), taken) })
			w.eventually(func() bool { return w.counts(id).InFlight == 4 })
			c.kill()
			driven.Wait()
		}
		die.Store(false)
		count := w.watch()
		stop := w.driveForHours()
		defer stop()
		w.eventually(func() bool { return w.counts(id).Waiting > 0 })
		if n := count.during(10 * time.Second); n > 60 {
			t.Errorf("%.0f looks at the clock a second while it waits", n)
		}
		other.answer = func(ctx context.Context, nth int) (judge.Reply, assay.Usage) {
			d := time.Second
			if nth == 1 {
				d = time.Minute
			}
			return slowly(d, assay.Usage{})(ctx, nth)
		}
		beside := w.grade(engine.GradeRequest{Judges: []string{"other"}, Concurrency: ptr(2)}).ID
		time.Sleep(10 * time.Second)
		if n := w.counts(beside).Graded; n != 3 {
			t.Errorf("%d of 3 short calls were made beside a long one in ten seconds", n)
		}
		w.withinHours(2*time.Minute, func() bool { return w.run(beside).State == assay.RunCompleted })
		p.mu.Lock()
		p.answer = nil
		p.mu.Unlock()
		w.withinHours(2*time.Hour, func() bool { return w.run(id).State == assay.RunCompleted })
	})
}

// A run that paused because of limits that a person set goes on soon after they were raised.
func TestARaisedLimitWakesWhatPausedForIt(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 20)
		p := modelNamed("m")
		w.asked(map[string]judge.Judge{"m": p})
		w.grader.o.Limits.Set(limit.Key(p.key), limit.Limits{TokensPerMinute: 10})
		stop := w.driveForHours()
		defer stop()
		id := w.grade(engine.GradeRequest{Judges: []string{"m"}}).ID
		run := w.until(id, assay.RunPaused)
		if run.Reason != assay.ReasonRateLimited || !strings.Contains(run.Sentence, "assay models set") {
			t.Errorf("%s: %s", run.Reason, run.Sentence)
		}
		time.Sleep(30 * time.Minute)
		if run := w.run(id); run.State.Terminal() || run.Epoch > 10 {
			t.Errorf("%s, taken up %d times in half an hour", run.State, run.Epoch)
		}
		if _, calls := p.bill(); calls != 1 {
			t.Errorf("%d calls within limits that have room for one", calls)
		}
		w.grader.o.Limits.Set(limit.Key(p.key), limit.Limits{TokensPerMinute: 1_000_000})
		w.withinHours(6*time.Minute, func() bool { return w.run(id).State == assay.RunCompleted })
	})
}
