package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/store"
)

// looks looks at a run every quarter of a second for a time, as a dispatcher does.
func looks(s *engine.Silence, run assay.Run, during time.Duration) {
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
		s.Look([]assay.Run{run})
	}
}

// Silence counts while somebody looks: what came while nobody did is not known.
func TestSilenceCountsWhileSomebodyLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, run := engine.NewSilence(), assay.Run{ID: 1, Kind: assay.RunExternal, HeartbeatAt: new(time.Now().Add(-time.Hour))}
		is := func(what string, want time.Duration) {
			t.Helper()
			if got := s.Of(run.ID); got != want {
				t.Errorf("%s: silent for %v, want %v", what, got, want)
			}
		}
		is("never looked at", 0)
		looks(s, run, 50*time.Second)
		is("looked at all the time", 50*time.Second)
		time.Sleep(8 * time.Hour) // the machine slept, or the database was away
		s.Look([]assay.Run{run})
		is("after a gap", 0)
		looks(s, run, 50*time.Second)
		run.HeartbeatAt = new(time.Now().Add(-9 * time.Hour)) // the clock on the wall was set back
		s.Look([]assay.Run{run})
		is("after a report", 0)
		looks(s, run, 50*time.Second)
		ended := s.Speaks(run.ID)
		looks(s, run, 50*time.Second)
		is("during a report that takes long", 0)
		ended()
		looks(s, run, 10*time.Second)
		is("after a report that was not stored", 10*time.Second)
		s.Look(nil)
		is("ended", 0)
	})
}

// A report that is stored after the run was read and before it is ended counts.
func TestAReportWhileARunIsEnded(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		w := newWorld(t)
		run := w.external(t, engine.ExternalRequest{Name: "ci"})
		if cancel {
			if _, err := w.engine.Cancel(t.Context(), run.ID, false); err != nil {
				t.Fatal(err)
			}
		}
		listed, _ := w.get(t, run.ID)
		if _, err := w.engine.Report(t.Context(), run.ID, engine.Report{}); err != nil {
			t.Fatal(err)
		}
		if ended, err := engine.EndSilent(t.Context(), w.store, listed, time.Hour, now); ended || err != nil {
			t.Errorf("%v %v", ended, err)
		}
		if got, _ := w.get(t, run.ID); got.State != assay.RunRunning {
			t.Errorf("a run that reports is %s: %s", got.State, got.Sentence)
		}
	}
}

// counted counts the looks at the rows, and refuses reports where it is full.
type counted struct {
	store.Store
	looks atomic.Int64
	full  atomic.Bool
}

func (c *counted) Runs() store.Runs           { return countedRuns{c.Store.Runs(), c} }
func (c *counted) Harnesses() store.Harnesses { return fullHarnesses{c.Store.Harnesses(), c} }

type countedRuns struct {
	store.Runs
	c *counted
}

func (r countedRuns) Waiting(ctx context.Context, now time.Time) ([]assay.Run, error) {
	r.c.looks.Add(1)
	return r.Runs.Waiting(ctx, now)
}

type fullHarnesses struct {
	store.Harnesses
	c *counted
}

func (h fullHarnesses) Report(ctx context.Context, run assay.RunID, now time.Time, change func(*assay.Harness, bool) (bool, error)) (assay.Run, error) {
	if h.c.full.Load() {
		return assay.Run{}, assay.Errorf(assay.CodeUnavailable, "the disk is full")
	}
	return h.Harnesses.Report(ctx, run, now, change)
}

// A step of the clock on the wall is no silence.
func TestAClockStepIsNoSilence(t *testing.T) {
	w := newWorld(t)
	run := w.external(t, engine.ExternalRequest{Name: "ci"})
	c := &counted{Store: w.store}
	var step atomic.Int64
	w.dispatch(t, local.Options{Store: c, Now: func() time.Time { return now().Add(time.Duration(step.Load())) }})
	after := func(looks int64) {
		w.until(t, run.ID, func(assay.Run, assay.Harness) bool { return c.looks.Load() > looks })
	}
	after(5)
	step.Store(int64(time.Hour))
	after(c.looks.Load() + 5)
	if got, _ := w.get(t, run.ID); got.State != assay.RunRunning {
		t.Errorf("%s: %s", got.State, got.Sentence)
	}
}

// A run whose reports come and cannot be stored is not silent.
func TestReportsThatCannotBeStoredCount(t *testing.T) {
	w := newWorld(t)
	stale := 300 * time.Millisecond
	run := w.external(t, engine.ExternalRequest{Name: "ci", Stale: assay.Seconds(stale)})
	c := &counted{Store: w.store}
	e := engine.New(c, nil, echo{}, func() {}, now)
	w.dispatch(t, local.Options{Store: c, Silence: e.Silence()})
	c.full.Store(true)
	for end := time.Now().Add(3 * stale); time.Now().Before(end); <-time.After(5 * time.Millisecond) {
		if _, err := e.Report(t.Context(), run.ID, engine.Report{}); assay.CodeOf(err) != assay.CodeUnavailable {
			t.Fatalf("%v", err)
		}
	}
	if got, _ := w.get(t, run.ID); got.State != assay.RunRunning {
		t.Errorf("a run that reports is %s: %s", got.State, got.Sentence)
	}
	w.until(t, run.ID, func(r assay.Run, _ assay.Harness) bool { return r.State == assay.RunStateLost })
}
