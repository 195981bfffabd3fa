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

// drafting counts the drafts of a provider.
type drafting struct {
	*provider
	drafts atomic.Int64
}

func (d *drafting) Draft(q judge.Question) judge.Draft {
	d.drafts.Add(1)
	return d.provider.Draft(q)
}

// Where a budget has room for few calls, no more prompts are made than can be sent, whatever else goes on.
func TestATightBudgetDraftsWhatFits(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 400)
		p := &drafting{provider: modelNamed("m")}
		p.input, p.output = 100, 10_000
		p.set(&assay.Price{Input: assay.Dollar, Output: assay.Dollar})
		p.answer = slowly(time.Second, assay.Usage{Known: true, Input: 100, Output: 100})
		free := modelNamed("free")
		free.set(&assay.Price{})
		free.answer = slowly(100*time.Millisecond, assay.Usage{Known: true})
		w.asked(map[string]judge.Judge{"m": p, "free": free})
		o := w.grader.o
		o.Price = func(_ string, key assay.ModelKey) *assay.Price {
			if key.Model == "m" {
				return p.now("", key)
			}
			return free.now("", key)
		}
		w.grader.o = o
		stop := w.drive()
		defer stop()
		budget := 5*p.dearest() + 200*p.price.Worst(100, 100)
		id := w.grade(engine.GradeRequest{Judges: []string{"m", "free"}, Budget: &budget, Concurrency: ptr(300), PerStratum: ptr(400)}).ID
		w.rests(id)
		if _, calls := p.bill(); calls < 200 || p.drafts.Load() > 2*int64(calls)+300 {
			t.Errorf("%d prompts made for %d calls", p.drafts.Load(), calls)
		}
	})
}

// A call that was set aside when the budget was lowered does not leave.
func TestALoweredBudgetHoldsWhatHasNotLeft(t *testing.T) {
	for name, lower := range map[string]func(w *world, id assay.RunID){
		"the run's": func(w *world, id assay.RunID) {
			if _, err := w.engine.SetBudget(context.Background(), id, ptr(assay.USD(1))); err != nil {
				w.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, f := onFaulty(t, 4)
			p := tenth()
			w.serve(p)
			var commits, id atomic.Int64
			f.Before = func(call string) error {
				if call == "Items.Commit" && commits.Add(1) == 1 {
					for id.Load() == 0 {
						<-time.After(time.Millisecond)
					}
					lower(w, assay.RunID(id.Load()))
				}
				return nil
			}
			w.drive()
			id.Store(int64(w.grade(engine.GradeRequest{Budget: ptr(assay.Dollar), Concurrency: ptr(4)}).ID))
			run := w.until(assay.RunID(id.Load()), assay.RunPaused)
			if spent, calls := p.bill(); calls != 0 || run.Reason != assay.Reason(assay.ClassBudget) {
				t.Errorf("%d calls left for USD %s: %s", calls, spent, run.Sentence)
			}
		})
	}
}

// What a call cost is counted by the price at which it left.
func TestACallIsCountedByThePriceAtWhichItLeft(t *testing.T) {
	w, f := onFaulty(t, 1)
	p := modelNamed("m")
	low, high := assay.Dollar/10, assay.Dollar
	p.set(&assay.Price{Input: assay.Dollar, Cached: &low, Output: assay.Dollar})
	used := assay.Usage{Known: true, Input: 1000, Cached: 1000, Output: 1}
	p.answer = slowly(0, used)
	w.serve(p)
	var commits atomic.Int64
	f.Before = func(call string) error {
		if call == "Items.Commit" && commits.Add(1) == 1 {
			p.set(&assay.Price{Input: assay.Dollar, Cached: &high, Output: assay.Dollar}) // its worst is as before
		}
		return nil
	}
	w.drive()
	run := w.until(w.grade(engine.GradeRequest{Budget: ptr(assay.Dollar)}).ID, assay.RunCompleted)
	spend, err := w.store.Items().Spend(t.Context(), run.ID)
	if billed, _ := p.bill(); err != nil || spend.Cost != billed {
		t.Errorf("billed %s, the rows say %s (%v)", billed, spend.Cost, err)
	}
}

// A call that has become dearer than what was set aside for it does not leave.
func TestACallThatBecameDearerDoesNotLeave(t *testing.T) {
	w, f := onFaulty(t, 1)
	p := tenth()
	w.serve(p)
	var commits atomic.Int64
	f.Before = func(call string) error {
		if call == "Items.Commit" && commits.Add(1) == 1 {
			p.set(&assay.Price{Input: assay.Dollar + 1_000_000, Output: 10 * assay.Dollar}) // a token's price by a billionth
		}
		return nil
	}
	w.drive()
	run := w.until(w.grade(engine.GradeRequest{Budget: ptr(2 * assay.Dollar / 1000)}).ID, assay.RunPaused)
	if spent, calls := p.bill(); calls != 0 || run.Reason != assay.Reason(assay.ClassBudget) {
		t.Errorf("%d calls for USD %s: %s", calls, spent, run.Sentence)
	}
}

// A budget that is set while a run goes on holds the judges of which nobody knows the price.
func TestABudgetSetLaterHoldsWhatHasNoPrice(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 60)
		release := make(chan struct{}, 60)
		w.judge.script(held(release))
		w.drive()
		id := w.grade(engine.GradeRequest{Concurrency: ptr(2)}).ID
		w.eventually(func() bool { return w.judge.flying.Load() == 2 })
		if _, err := w.engine.SetBudget(t.Context(), id, ptr(assay.Dollar)); err != nil {
			t.Fatal(err)
		}
		for range 60 {
			release <- struct{}{}
		}
		run := w.until(id, assay.RunPaused)
		if n := w.judge.calls.Load(); run.Reason != assay.Reason(assay.ClassBudget) || n > 4 {
			t.Errorf("%s after %d calls: %s", run.Reason, n, run.Sentence)
		}
	})
}

// A budget that is raised or removed lets calls leave at once, not when the one in flight has ended.
func TestARaisedBudgetDoesNotWaitForACall(t *testing.T) {
	for name, budget := range map[string]*assay.USD{"raised": ptr(assay.Dollar), "removed": nil} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s store.Store) {
				w := newWorld(t, s, 8)
				p := tenth()
				p.answer = slowly(time.Hour, assay.Usage{})
				w.serve(p)
				stop := w.drive()
				defer stop()
				id := w.grade(engine.GradeRequest{Budget: ptr(3 * assay.Dollar / 1000), Concurrency: ptr(4)}).ID
				w.eventually(func() bool { return p.flying.Load() == 1 })
				time.Sleep(time.Minute)
				if _, err := w.engine.SetBudget(t.Context(), id, budget); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				if n := p.flying.Load(); n != 4 {
					t.Errorf("%d calls in flight a second later, want 4", n)
				}
				if _, err := w.engine.Cancel(t.Context(), id, true); err != nil {
					t.Fatal(err)
				}
				w.until(id, assay.RunCancelled)
			})
		})
	}
}

// What another run of the project has set aside may come back: a run waits for it before it pauses until
// next month.
func TestARunWaitsForWhatOthersHaveSetAside(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 10)
		p, q := modelNamed("m"), modelNamed("n")
		for _, p := range []*provider{p, q} {
			p.output = 10_000
			p.set(&assay.Price{Input: assay.Dollar, Output: assay.Dollar})
			p.answer = slowly(time.Minute, assay.Usage{Known: true, Input: 1000, Output: 10})
		}
		w.asked(map[string]judge.Judge{"m": p, "n": q})
		w.month(p.dearest()*101/10, "UTC")
		stop := w.driveForHours()
		defer stop()
		a := w.grade(engine.GradeRequest{Judges: []string{"m"}, Concurrency: ptr(10)}).ID
		time.Sleep(10 * time.Second)
		b := w.grade(engine.GradeRequest{Judges: []string{"n"}, Concurrency: ptr(2)}).ID
		w.withinHours(time.Hour, func() bool { return w.run(a).State == assay.RunCompleted })
		time.Sleep(10 * time.Minute)
		if run := w.run(b); run.State != assay.RunCompleted {
			t.Errorf("%s: %s", run.State, run.Sentence)
		}
	})
}
