package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

// A hard budget, through kill -9 at random points, raising and resuming: what the provider bills is never
// more. The month's budget likewise, over two runs.
func TestAHardBudgetHoldsThroughKills(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		const step = assay.Dollar / 100 // about eight calls
		b := newTill(t, w, odd)
		b.month = 5 * step
		budget := step
		b.allow(budget)
		w.ok("import", w.sessions(40))
		w.ok("judge", "apply", w.judge("j", fmt.Sprintf("max_tokens: %d", longest)))
		w.priced(odd)
		w.ok("project", "set", "default", "--month-budget", b.month.String())
		w.ok("grade", "--judge", "j", "--concurrency", "6", "--budget", budget.String(), "--detach")
		raised, kills := 0, 0
		for v := w.view("r1"); !v.State.Terminal(); v = w.view("r1") {
			switch {
			case v.State != assay.RunPaused:
				before := w.model.Count()
				p := w.start("watch", "r1")
				if kills++; kills > 4 {
					slowly(t, 30*time.Second, "the run rests", func() bool { return rests(w.view("r1")) })
				} else {
					slowly(t, 10*time.Second, "a call leaves or none may", func() bool { return w.model.Count() > before || rests(w.view("r1")) })
					<-time.After(time.Duration(rand.IntN(200)) * time.Millisecond)
				}
				p.kill()
			case v.Reason != assay.Reason(assay.ClassBudget):
				t.Fatalf("paused as %s: %s", v.Reason, v.Sentence)
			case v.WakeAt != nil: // of the month
				if !strings.Contains(v.Sentence, "month") || b.bill() > b.month {
					t.Errorf("%s", v.Sentence)
				}
				b.mu.Lock()
				b.month *= 2
				b.mu.Unlock()
				raised++
				w.ok("project", "set", "default", "--month-budget", b.month.String())
				w.ok("resume", "r1", "--detach")
			default:
				if !strings.Contains(v.Sentence, "assay runs set") {
					t.Errorf("it does not say what to do: %s", v.Sentence)
				}
				budget += step
				b.allow(budget)
				raised++
				w.ok("runs", "set", "r1", "--budget", budget.String())
				w.ok("resume", "r1", "--detach")
			}
		}
		v := w.view("r1")
		if v.State != assay.RunCompleted || v.BudgetLeft == nil || *v.BudgetLeft != budget-v.Spend.Cost-v.Spend.Held {
			t.Errorf("%s, %v left: %+v", v.State, v.BudgetLeft, v.Spend)
		}
		t.Logf("%d kills, raised %d times to %s, billed %s, held %s", kills, raised, budget, b.bill(), v.Spend.Held)
		if raised < 2 || kills < 3 {
			t.Error("the run met too little")
		}
		w.compare(t, b, "r1")
	})
}

// A budget of nothing calls nobody, and one whose price nobody knows is refused with what to do.
func TestBudgetsWithoutMoneyOrPrice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.ok("import", w.sessions(5))
	w.ok("judge", "apply", w.judge("j"))
	for _, budget := range []string{"0", "5"} {
		r := w.run("grade", "--judge", "j", "--budget", budget)
		if r.code != 2 || !strings.Contains(r.err, "assay models set") || !strings.Contains(r.err, "--allow-unpriced") {
			t.Errorf("a budget of %s without a price: exit %d: %s", budget, r.code, r.err)
		}
	}
	if out := w.ok("runs"); strings.Contains(out, "r1") {
		t.Errorf("a refused request left a run: %s", out)
	}
	w.ok("project", "set", "default", "--month-budget", "1")
	if r := w.run("grade", "--judge", "j"); r.code != 2 || !strings.Contains(r.err, "assay models set") {
		t.Errorf("a month's budget without a price: exit %d: %s", r.code, r.err)
	}
	w.ok("project", "set", "default", "--month-budget", "none")
	w.priced(odd)
	if r := w.run("grade", "--judge", "j", "--budget", "0"); r.code != 1 || !strings.Contains(r.out, "assay runs set r1") || !strings.Contains(r.err, "r1 is paused") {
		t.Errorf("a budget of 0: exit %d: %s\n%s", r.code, r.out, r.err)
	}
	if v := w.view("r1"); v.State != assay.RunPaused || v.Reason != assay.Reason(assay.ClassBudget) || v.Counts.Pending != 5 || v.Spend.Attempts != 0 {
		t.Errorf("%s %s %+v %+v", v.State, v.Reason, v.Counts, v.Spend)
	}
	if n := w.model.Count(); n != 0 {
		t.Errorf("%d calls under a budget of nothing", n)
	}
	w.ok("runs", "set", "r1", "--budget", "none")
	w.ok("resume", "r1")
	if v := w.view("r1"); v.State != assay.RunCompleted || v.Budget != nil || w.model.Count() != 5 {
		t.Errorf("%s with the budget %v after %d calls", v.State, v.Budget, w.model.Count())
	}
	w.ok("models", "unset", "j")
	w.ok("grade", "--judge", "j", "--force", "--budget", "0", "--allow-unpriced")
	if v := w.view("r2"); v.Spend.Unpriced != 5 || v.Spend.Cost != 0 || w.model.Count() != 10 {
		t.Errorf("%+v after %d calls", v.Spend, w.model.Count())
	}
	if out := w.ok("spend"); !strings.Contains(out, "unknown") {
		t.Errorf("an unknown cost is not shown as unknown: %s", out)
	}
}
