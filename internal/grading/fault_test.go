package grading

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store/sqlite"
	"assay/internal/store/storetest"
)

// onFaulty is a world whose store fails as the hooks say; tests look past it, at f.Store.
func onFaulty(t *testing.T, sessions int) (w *world, f *storetest.Faulty) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	f = &storetest.Faulty{Store: s}
	w = newWorld(t, f, sessions)
	return w, f
}

// A store that fails once, before or after it did what it was asked, costs time: every item is graded,
// no answer is bought twice and none comes late.
func TestAStoreThatFailsOnceCostsOnlyTime(t *testing.T) {
	names := []string{"Runs.Waiting", "Runs.TakeUp", "Runs.Change", "Runs.Beat", "Plans.Reset", "Plans.PutStrata", "Plans.PutItems",
		"Plans.Finish", "Plans.Reusable", "Sessions.Scan", "Bodies.Get", "Items.Pending", "Items.Commit", "Items.Counts"}
	for _, name := range names {
		for n := int64(1); n <= 3; n++ {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/after=%v", name, n, after), func(t *testing.T) {
					t.Parallel()
					items := 60
					if name == "Items.Pending" {
						items = page + 40 // read in two pages, so that one is read while calls are in flight
					}
					w, f := onFaulty(t, items)
					hook := storetest.Nth(n, name, storetest.Unavailable())
					if after {
						f.After = hook
					} else {
						f.Before = hook
					}
					id := w.grade(engine.GradeRequest{PerStratum: ptr(items), Concurrency: ptr(20)}).ID
					w.drive()
					w.store = f.Store
					w.eventually(func() bool { return w.run(id).State.Terminal() })
					run := w.run(id)
					if c := w.counts(id); run.State != assay.RunCompleted || c.Graded != int64(items) || w.judge.calls.Load() != int64(items) {
						t.Errorf("%s %s: %+v after %d calls", run.State, run.Sentence, c, w.judge.calls.Load())
					}
					if spend, err := w.store.Items().Spend(t.Context(), id); err != nil || spend.Late != 0 || spend.Attempts != int64(items) {
						t.Errorf("%+v (%v)", spend, err)
					}
				})
			}
		}
	}
}

// A store that is away stops calls within a second, and what was answered meanwhile is kept.
func TestALostStoreStopsCallsAndLosesNothing(t *testing.T) {
	const items = 60
	w, f := onFaulty(t, items)
	var down atomic.Bool
	f.Before = storetest.During(&down, storetest.Unavailable())
	release := make(chan struct{}, items)
	w.judge.script(held(release))
	id := w.grade(engine.GradeRequest{Concurrency: ptr(5)}).ID
	w.drive()
	w.store = f.Store
	w.eventually(func() bool { return w.judge.flying.Load() == 5 })
	down.Store(true)
	for range 5 {
		release <- struct{}{}
	}
	<-time.After(engine.ConfirmFor + beatEvery)
	calls := w.judge.calls.Load()
	w.judge.script(func(context.Context, judge.Question, int) judge.Reply { return passing() })
	<-time.After(engine.ConfirmFor)
	if now := w.judge.calls.Load(); now != calls || now > 10 {
		t.Errorf("%d calls, then %d, while the store was away", calls, now)
	}
	down.Store(false)
	w.until(id, assay.RunCompleted)
	spend, err := w.store.Items().Spend(t.Context(), id)
	if c := w.counts(id); err != nil || c.Graded != items || w.judge.calls.Load() != items || spend.Late != 0 {
		t.Errorf("%+v, %d calls, %+v (%v)", c, w.judge.calls.Load(), spend, err)
	}
}

// Grading begins only when exactly the planned items exist; else the run says why it failed.
func TestAnIncompletePlanFailsTheRun(t *testing.T) {
	w, f := onFaulty(t, 10)
	f.Before = storetest.Nth(1, "Plans.Finish", assay.Errorf(assay.CodeRefused, "9 items where the plan asks for 10"))
	id := w.grade(engine.GradeRequest{}).ID
	w.drive()
	run := w.until(id, assay.RunFailed)
	if run.Reason != assay.ReasonPlanIncomplete || run.Sentence != "9 items where the plan asks for 10" || w.judge.calls.Load() != 0 {
		t.Errorf("%s: %s after %d calls", run.Reason, run.Sentence, w.judge.calls.Load())
	}
}

// A session whose row is damaged stays so: it ends with the reason instead of being read for ever.
func TestADamagedSessionEndsItsItem(t *testing.T) {
	w, f := onFaulty(t, 10)
	damaged := assay.Errorf(assay.CodeInternal, "the database file is damaged")
	first := storetest.Nth(1, "Bodies.Get", damaged)
	f.Before = func(call string) error {
		if call == "Bodies.Load" {
			return damaged // what is read ahead; each call then reads its own
		}
		return first(call)
	}
	id := w.grade(engine.GradeRequest{}).ID
	w.drive()
	w.until(id, assay.RunCompleted)
	if c := w.counts(id); c.Graded != 9 || c.ByClass[assay.ClassJudgeError] != 1 || w.judge.calls.Load() != 9 {
		t.Errorf("%+v after %d calls", c, w.judge.calls.Load())
	}
}

// A call that was opened in time and read its session slowly, while the store went away, does not
// leave: nobody could have told it of a cancel or a takeover.
func TestACallThatIsLateWaitsForTheRow(t *testing.T) {
	w, f := onFaulty(t, 3)
	var down, out atomic.Bool
	read, reading := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.Before = func(call string) error {
		switch {
		case strings.HasPrefix(call, "Bodies."):
			once.Do(func() { close(reading) })
			<-read
		case down.Load():
			out.Store(true)
			return storetest.Unavailable()
		}
		return nil
	}
	id := w.grade(engine.GradeRequest{Concurrency: ptr(1)}).ID
	w.drive()
	w.store = f.Store
	<-reading
	w.eventually(func() bool { return w.counts(id).InFlight == 1 }) // the row was read by this commit
	down.Store(true)
	w.eventually(out.Load)
	<-time.After(engine.ConfirmFor)
	close(read)
	<-time.After(10 * gateRetry)
	if n := w.judge.calls.Load(); n != 0 {
		t.Errorf("%d calls left although the row was not read for longer than %s", n, engine.ConfirmFor)
	}
	down.Store(false)
	w.until(id, assay.RunCompleted)
	if c := w.counts(id); c.Graded != 3 || w.judge.calls.Load() != 3 {
		t.Errorf("%+v after %d calls", c, w.judge.calls.Load())
	}
}
