package grading

import (
	"context"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/limit"
	"assay/internal/store"
)

// A call of tenth's costs USD 0.002 and takes a tenth of a second.
func tenth() *provider {
	p := &provider{key: assay.ModelKey{Endpoint: "http://model", Model: "m"}, input: 1000, output: 100,
		price: &assay.Price{Input: assay.Dollar, Output: 10 * assay.Dollar}}
	p.answer = func(ctx context.Context, _ int) (judge.Reply, assay.Usage) {
		used := assay.Usage{Known: true, Input: 1000, Output: 100}
		select {
		case <-ctx.Done():
			return failing(assay.ClassAborted), used
		case <-time.After(100 * time.Millisecond):
		}
		r := passing()
		r.Usage = used
		return r, used
	}
	return p
}

func (w *world) month(budget assay.USD, zone string) {
	w.t.Helper()
	settings := w.project.Settings
	settings.MonthBudget, settings.Zone = &budget, zone
	var err error
	if w.project, err = w.store.Projects().Update(w.t.Context(), w.project.ID, settings, false); err != nil {
		w.t.Fatal(err)
	}
}

// rests waits until nothing more happens to a run by itself for a day.
func (w *world) rests(id assay.RunID) assay.Run {
	w.t.Helper()
	var run assay.Run
	w.withinHours(time.Hour, func() bool {
		run = w.run(id)
		return run.State.Terminal() || run.State == assay.RunPaused && (run.WakeAt == nil || run.WakeAt.After(utcNow().Add(24*time.Hour)))
	})
	return run
}

// A run that is never idle for a moment is held to the new month's budget, and to one that is set or
// lowered meanwhile.
func TestABusyRunIsHeldToTheMonth(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		time.Sleep(time.Until(time.Date(2026, 6, 30, 21, 59, 55, 0, time.UTC)))
		w := newWorld(t, s, 2000)
		w.month(assay.Dollar, "Europe/Berlin") // 500 calls
		p := tenth()
		w.serve(p)
		stop := w.drive()
		defer stop()
		id := w.grade(engine.GradeRequest{PerStratum: ptr(2000), Concurrency: ptr(8)}).ID
		spent := func() assay.USD {
			month := monthOf(utcNow(), w.zone())
			sum, _, err := s.Spending().Charged(t.Context(), w.project.ID, month.from, month.to)
			if err != nil {
				t.Fatal(err)
			}
			return sum
		}
		time.Sleep(4 * time.Second)
		june := spent()
		run := w.rests(id)
		if july := spent(); run.State != assay.RunPaused || june == 0 || july != assay.Dollar {
			t.Errorf("%s: USD %s in June, USD %s in July, of which the budget is 1: %s", run.State, june, july, run.Sentence)
		}
		w.month(2*assay.Dollar, "Europe/Berlin")
		if _, err := w.engine.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		w.month(assay.Dollar+assay.Dollar/2, "Europe/Berlin")
		run = w.rests(id)
		if july := spent(); run.State != assay.RunPaused || july != assay.Dollar+assay.Dollar/2 {
			t.Errorf("%s: USD %s in July, of which the budget is 1.5 by now: %s", run.State, july, run.Sentence)
		}
	})
}

// A month's budget that is spent in less than the second after which it is looked at again.
func TestTheFirstMomentsOfAMonth(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		time.Sleep(time.Until(time.Date(2026, 6, 30, 23, 59, 59, 950_000_000, time.UTC)))
		w := newWorld(t, s, 2000)
		w.month(assay.Dollar/2, "UTC") // 250 calls
		p := tenth()
		w.serve(p)
		w.grader.o.Limits.Set(limit.Key(p.key), limit.Limits{Concurrency: 100})
		stop := w.drive()
		defer stop()
		run := w.rests(w.grade(engine.GradeRequest{PerStratum: ptr(2000), Concurrency: ptr(100)}).ID)
		july := monthOf(utcNow(), time.UTC)
		sum, _, err := s.Spending().Charged(t.Context(), w.project.ID, july.from, july.to)
		if _, calls := p.bill(); err != nil || run.State != assay.RunPaused || sum != assay.Dollar/2 || calls <= 250 || calls > 400 {
			t.Errorf("%s after %d calls: USD %s in July, of which the budget is 0.5 (%v): %s", run.State, calls, sum, err, run.Sentence)
		}
	})
}

func (w *world) zone() *time.Location {
	zone, err := time.LoadLocation(w.project.Settings.Zone)
	if err != nil {
		w.t.Fatal(err)
	}
	return zone
}

// A process that lost the database and owns it again counts what another spent meanwhile.
func TestTheMonthIsSummedAnewWhenARunIsTakenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 400)
		w.apply("k", "v2")
		w.month(assay.Dollar, "UTC")
		p := tenth()
		w.serve(p)
		dollar := 200 * assay.Dollar / 1000
		use := func(judge string) assay.Run {
			stop := w.drive()
			defer stop()
			return w.rests(w.grade(engine.GradeRequest{Judges: []string{judge}, PerStratum: ptr(400), Force: true, Budget: &dollar}).ID)
		}
		first := use("j") // 0.2
		if _, err := w.engine.End(t.Context(), first.ID); err != nil {
			t.Fatal(err)
		}
		mine := w.grader
		w.grader = w.newGrader() // another process
		w.serve(p)
		dollar = 700 * assay.Dollar / 1000
		use("k")
		w.grader = mine
		run := use("j")
		if spent, _ := p.bill(); run.State != assay.RunPaused || spent > assay.Dollar {
			t.Errorf("%s: USD %s of 1: %s", run.State, spent, run.Sentence)
		}
	})
}

// The month's rows are summed when a run is taken up and when a month begins, not each second.
func TestTheMonthIsSummedSeldom(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 100)
		w.month(assay.Dollar, "Europe/Berlin")
		p := tenth()
		w.serve(p)
		sums := 0
		counted := &summing{Store: s, sums: &sums}
		o := w.grader.o
		o.Store = counted
		w.grader = New(o)
		stop := w.drive()
		defer stop()
		w.rests(w.grade(engine.GradeRequest{Concurrency: ptr(1), PerStratum: ptr(100)}).ID)
		if sums > 1 {
			t.Errorf("%d sums over the month in ten seconds", sums)
		}
	})
}

// summing counts the sums over a month.
type summing struct {
	store.Store
	sums *int
}

func (s *summing) Spending() store.Spending { *s.sums++; return s.Store.Spending() }
