package clock

import (
	"encoding/json"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// started looks and returns the run that this started.
func (w *world) started(moment string) assay.Run {
	w.t.Helper()
	before := len(w.runs())
	w.until(moment)
	w.look()
	list := w.runs()
	if len(list) != before+1 {
		w.t.Fatalf("%s: %d runs, want %d", moment, len(list), before+1)
	}
	return list[before]
}

func (w *world) since(run assay.Run, want time.Time) {
	w.t.Helper()
	if got := run.Spec.Frame.Since; got == nil || !got.Equal(want) {
		w.t.Errorf("run %s is since %v, want %s", run.ID, got, want)
	}
}

// Each run of a grade schedule is since the AsOf of the one before, whatever happened between them.
func TestGradeRunsFollowEachOther(t *testing.T) {
	w := newWorld(t)
	w.apply("night", grade())
	first := w.started("2026-06-02T03:00:00Z")
	w.since(first, time.Time{})
	if !first.AsOf.Equal(w.Now()) || first.By != "schedule night" {
		t.Errorf("%+v", first)
	}

	w.until("2026-06-03T03:00:00Z") // skipped: the first still runs
	w.look()
	w.end(first.ID)
	_, _, err := w.engine.Grade(t.Context(), w.project, gradeByHand(t), nil) // another's run moves nothing
	w.must(err)
	other := w.runs()[1]
	w.until("2026-06-04T03:00:00Z") // skipped: the other one runs
	w.look()
	w.last("night", assay.Tick{At: at(t, "2026-06-04T03:00:00Z"), Outcome: assay.TickSkipped, Run: other.ID})
	w.end(other.ID)

	second := w.started("2026-06-05T03:00:07Z")
	w.since(second, first.AsOf)
	_, err = w.engine.Cancel(t.Context(), second.ID, false) // before it was planned: it graded nothing
	w.must(err)
	third := w.started("2026-06-06T03:00:00Z")
	w.since(third, first.AsOf)
	w.end(third.ID)

	w.until("2026-06-06T15:00:00Z")
	byHand, _, err := w.ticker.RunNow(t.Context(), w.get("night"), "ann", nil)
	w.must(err)
	if byHand.By != "ann" || byHand.Spec.Schedule != "night" {
		t.Errorf("a person's: %q of %q", byHand.By, byHand.Spec.Schedule)
	}
	w.since(byHand, third.AsOf)
	w.owes("night", "2026-06-07T03:00:00Z")
	if _, _, err := w.ticker.RunNow(t.Context(), w.get("night"), "ann", nil); assay.CodeOf(err) != assay.CodeConflict {
		t.Errorf("a second one at once: %v", err)
	}
	w.end(byHand.ID)

	changed := grade()
	changed.Cron, changed.Grade = "0 4 * * *", json.RawMessage(`{"judges":["k"]}`)
	w.apply("night", changed)
	last := w.started("2026-06-07T04:00:00Z")
	w.since(last, byHand.AsOf)
	w.end(last.ID)

	later := changed
	later.Grade = json.RawMessage(`{"judges":["k"],"since":"2026-06-08T00:00:00Z"}`)
	w.apply("night", later)
	w.since(w.started("2026-06-08T04:00:00Z"), at(t, "2026-06-08T00:00:00Z"))
}

// Who asked is free text: calling oneself a schedule moves nothing that the schedule grades.
func TestNobodyElseMovesASchedule(t *testing.T) {
	w := newWorld(t)
	w.apply("night", grade())
	first := w.started("2026-06-02T03:00:00Z")
	w.end(first.ID)
	w.until("2026-06-02T12:00:00Z")
	q := gradeByHand(t)
	q.By, q.Since = "schedule night", new(w.Now().Add(-time.Minute))
	forged, _, err := w.engine.Grade(t.Context(), w.project, q, nil)
	w.must(err)
	w.end(forged.ID)
	w.since(w.started("2026-06-03T03:00:00Z"), first.AsOf)
}

// A run that was cancelled after it was planned has taken its sessions: `assay retry` grades them.
func TestAPlannedRunCountsThoughItWasCancelled(t *testing.T) {
	w := newWorld(t)
	w.apply("night", grade())
	first := w.started("2026-06-02T03:00:00Z")
	run, err := w.store.Runs().TakeUp(t.Context(), first.ID, first.Epoch, false, w.Now())
	w.must(err)
	strata := []assay.PlannedStratum{{Stratum: assay.Stratum{Day: "2026-06-01", Arm: "a"}, Eligible: 2, Sampled: 2}}
	w.must(w.store.Plans().PutStrata(t.Context(), store.Fence{Run: run.ID, Epoch: run.Epoch}, strata, 2, assay.Excluded{}))
	_, err = w.store.Runs().Ask(t.Context(), run.ID, store.AskCancel, "", w.Now())
	w.must(err)
	_, err = w.store.Runs().Change(t.Context(), run.ID, store.Change{From: []assay.RunState{assay.RunRunning}, To: assay.RunCancelled, Reason: assay.ReasonAsked, Now: w.Now()})
	w.must(err)
	w.since(w.started("2026-06-03T03:00:00Z"), first.AsOf)
}

// Where the settling time is shortened, what settles by the new one between the two moments would be in no run.
func TestAShorterSettlingTimeLosesNoSession(t *testing.T) {
	w := newWorld(t)
	w.apply("night", grade())
	first := w.started("2026-06-02T03:00:00Z")
	w.end(first.ID)
	settings := w.project.Settings
	settings.Settle -= 4 * time.Minute
	_, err := w.store.Projects().Update(t.Context(), w.project.ID, settings, false)
	w.must(err)
	second := w.started("2026-06-03T03:00:00Z")
	w.since(second, first.AsOf.Add(-4*time.Minute))
	w.end(second.ID)
	settings.Settle += time.Hour
	_, err = w.store.Projects().Update(t.Context(), w.project.ID, settings, false)
	w.must(err)
	w.since(w.started("2026-06-04T03:00:00Z"), second.AsOf)
}

func TestASuiteIsRunNowBesideItsTicks(t *testing.T) {
	w := newWorld(t)
	w.apply("night", suite())
	run, _, err := w.ticker.RunNow(t.Context(), w.get("night"), "ann", nil)
	w.must(err)
	if run.By != "ann" || run.Suite.Schedule != "night" || w.get("night").Last != nil {
		t.Errorf("%+v, %+v", run.Suite, w.get("night").Last)
	}
	w.owes("night", "2026-06-02T03:00:00Z")
}

func gradeByHand(t *testing.T) (q engine.GradeRequest) {
	t.Helper()
	q, err := gradeOf(grade())
	if err != nil {
		t.Fatal(err)
	}
	q.By = "ann"
	return q
}
