package clock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

func TestATickStartsWhatItsScheduleSays(t *testing.T) {
	w := newWorld(t)
	w.apply("night", suite())
	w.look()
	w.until("2026-06-02T02:59:59Z")
	w.look()
	if len(w.runs()) != 0 {
		t.Fatal("started before it was due")
	}
	w.until("2026-06-02T03:00:00Z")
	w.look()
	run := w.only()
	if run.Kind != assay.RunSuite || run.By != "schedule night" || run.Suite.Schedule != "night" || run.Suite.Params[0].Source != assay.ParamScheduled || string(run.Suite.Params[0].Value) != "7" {
		t.Errorf("%+v, %+v", run, run.Suite)
	}
	w.last("night", assay.Tick{At: at(t, "2026-06-02T03:00:00Z"), Outcome: assay.TickStarted, Run: run.ID})
	w.owes("night", "2026-06-03T03:00:00Z")
	w.look()
	w.only()
}

// forgetful is a store whose process dies, or loses its answer, before a tick is recorded.
type forgetful struct {
	store.Store
	ticked func() error
	due    func()
}

func (s forgetful) Schedules() store.Schedules { return forgetfulSchedules{s.Store.Schedules(), s} }

type forgetfulSchedules struct {
	store.Schedules
	s forgetful
}

func (s forgetfulSchedules) Due(ctx context.Context, now time.Time) ([]assay.Schedule, error) {
	list, err := s.Schedules.Due(ctx, now)
	if s.s.due != nil {
		s.s.due()
	}
	return list, err
}

func (s forgetfulSchedules) Ticked(ctx context.Context, id int64, owed time.Time, last assay.Tick, next *time.Time) (bool, error) {
	if s.s.ticked != nil {
		if err := s.s.ticked(); err != nil {
			return false, err
		}
	}
	return s.Schedules.Ticked(ctx, id, owed, last, next)
}

func TestACrashBetweenStartAndRecordStartsNothingTwice(t *testing.T) {
	for name, d := range map[string]assay.ScheduleDef{"suite": suite(), "grade": grade()} {
		for _, ended := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ended meanwhile %t", name, ended), func(t *testing.T) {
				w := newWorld(t)
				w.apply("night", d)
				w.until("2026-06-02T03:00:00Z")
				w.over(forgetful{Store: w.store, ticked: func() error { return errors.New("killed") }}).look(t.Context())
				run := w.only()
				w.owes("night", "2026-06-02T03:00:00Z")
				if ended { // its key is free again
					w.end(run.ID)
				}
				w.until("2026-06-04T09:00:00Z") // the next owner comes late: ticks have come due since
				w.look()
				w.only()
				w.last("night", assay.Tick{At: at(t, "2026-06-04T03:00:00Z"), Outcome: assay.TickStarted, Run: run.ID, Coalesced: 2})
				w.owes("night", "2026-06-05T03:00:00Z")
			})
		}
	}
}

// between is an engine that lets something happen when a run was just started.
type between struct {
	Starter
	then func()
}

func (b between) StartSuite(ctx context.Context, p assay.Project, name string, q engine.SuiteRequest, idem *store.Idempotency) (assay.Run, bool, error) {
	defer b.then()
	return b.Starter.StartSuite(ctx, p, name, q, idem)
}

// wrapping is an engine whose errors come with the words of somebody on the way.
type wrapping struct{ Starter }

func (s wrapping) StartSuite(ctx context.Context, p assay.Project, name string, q engine.SuiteRequest, idem *store.Idempotency) (assay.Run, bool, error) {
	run, replayed, err := s.Starter.StartSuite(ctx, p, name, q, idem)
	if err != nil {
		err = fmt.Errorf("on the way: %w", err)
	}
	return run, replayed, err
}

// Who holds the key is known however the refusal was wrapped, and what to do is told.
func TestAWrappedRefusalIsKnown(t *testing.T) {
	w := newWorld(t)
	w.apply("night", suite())
	holder, _, err := w.engine.StartSuite(t.Context(), w.project, "nightly", engine.SuiteRequest{}, nil)
	w.must(err)
	w.until("2026-06-02T03:00:00Z")
	New(Options{Store: w.store, Engine: wrapping{w.engine}, Now: w.Now}).look(t.Context())
	says := w.get("night").Last
	w.last("night", assay.Tick{At: at(t, "2026-06-02T03:00:00Z"), Outcome: assay.TickSkipped, Run: holder.ID})
	if says == nil || !strings.HasPrefix(says.Sentence, "on the way: ") || !strings.Contains(says.Sentence, "assay cancel "+holder.ID.String()) {
		t.Errorf("%+v", says)
	}
}

// A run that was started while a person paused or changed its schedule is told of in the schedule's row.
func TestAChangeBetweenStartAndRecordHidesNoRun(t *testing.T) {
	for name, then := range map[string]func(*world){
		"paused": func(w *world) {
			_, err := w.store.Schedules().Pause(w.t.Context(), w.project.ID, "night", true, nil)
			w.must(err)
		},
		"applied": func(w *world) {
			d := suite()
			d.Cron = "0 5 * * *"
			w.apply("night", d)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.apply("night", suite())
			w.until("2026-06-02T03:00:00Z")
			New(Options{Store: w.store, Engine: between{w.engine, func() { then(w) }}, Now: w.Now}).look(t.Context())
			before := w.get("night")
			w.last("night", assay.Tick{At: at(t, "2026-06-02T03:00:00Z"), Outcome: assay.TickStarted, Run: w.only().ID})
			if name == "paused" && (!before.Paused || before.NextAt != nil) {
				t.Errorf("%+v", before)
			}
			if name == "applied" {
				w.owes("night", "2026-06-02T05:00:00Z")
			}
		})
	}
}

func TestTickersAtOnceStartOneRunEach(t *testing.T) {
	w := newWorld(t)
	d := suite()
	d.Cron = "* * * * *"
	w.apply("night", d)
	const tickers, ticks = 4, 12
	var many []*Ticker
	for range tickers {
		many = append(many, New(Options{Store: w.store, Engine: w.engine, Now: w.Now}))
	}
	for tick := range ticks {
		w.set(w.Now().Add(time.Minute))
		var wg sync.WaitGroup
		for _, ticker := range many {
			wg.Go(func() { ticker.look(t.Context()) })
		}
		wg.Wait()
		list := w.runs()
		if len(list) != tick+1 {
			t.Fatalf("%d runs after %d ticks", len(list), tick+1)
		}
		if s := w.get("night"); s.Last == nil || s.Last.Run != list[tick].ID || s.Last.Outcome != assay.TickStarted {
			t.Fatalf("tick %d: %+v, want it to name %s", tick, s.Last, list[tick].ID)
		}
		w.end(list[tick].ID)
	}
}

func TestTicksThatNobodyWasThereFor(t *testing.T) {
	const three = "2026-06-05T09:00:00Z" // three days later: ticks of the 2nd to the 5th
	for _, c := range []struct {
		name    string
		catchUp assay.CatchUp
		back    string
		want    assay.TickOutcome
		more    int
	}{
		{"one run for all", assay.CatchUpOne, three, assay.TickStarted, 3},
		{"none", assay.CatchUpNone, three, assay.TickMissed, 3},
		{"none, but back in time for the last one", assay.CatchUpNone, "2026-06-05T03:00:59Z", assay.TickStarted, 3},
		{"none, a minute and a second late", assay.CatchUpNone, "2026-06-02T03:01:01Z", assay.TickMissed, 0},
		{"none, a minute late", assay.CatchUpNone, "2026-06-02T03:01:00Z", assay.TickStarted, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			d := suite()
			d.CatchUp = c.catchUp
			w.apply("night", d)
			w.until(c.back)
			w.look()
			day := w.Now().Format(time.DateOnly)
			want := assay.Tick{At: at(t, day+"T03:00:00Z"), Outcome: c.want, Coalesced: c.more}
			if c.want == assay.TickStarted {
				want.Run = w.only().ID
			} else if len(w.runs()) != 0 {
				t.Error("a missed tick started a run")
			}
			w.last("night", want)
			w.owes("night", w.Now().AddDate(0, 0, 1).Format(time.DateOnly)+"T03:00:00Z")
			if s := w.get("night").Last; c.want == assay.TickMissed && !strings.Contains(s.Sentence, "nobody was there at "+day) {
				t.Errorf("%q", s.Sentence)
			}
		})
	}
}

func TestOverlapSkipNamesTheRun(t *testing.T) {
	for name, d := range map[string]assay.ScheduleDef{"suite": suite(), "grade": grade()} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.apply("night", d)
			w.until("2026-06-02T03:00:00Z")
			w.look()
			run := w.only()
			w.until("2026-06-03T03:00:00Z")
			w.look()
			w.only()
			w.last("night", assay.Tick{At: at(t, "2026-06-03T03:00:00Z"), Outcome: assay.TickSkipped, Run: run.ID})
			w.owes("night", "2026-06-04T03:00:00Z")
			if s := w.get("night").Last.Sentence; !strings.Contains(s, run.ID.String()) || !strings.Contains(s, "assay cancel") {
				t.Errorf("%q says neither which run nor what to do", s)
			}
			w.end(run.ID)
			w.until("2026-06-04T03:00:00Z")
			w.look()
			if len(w.runs()) != 2 {
				t.Error("the schedule does not go on")
			}
		})
	}
}

func TestOverlapQueueWaitsForTheRun(t *testing.T) {
	for _, catchUp := range []assay.CatchUp{assay.CatchUpOne, assay.CatchUpNone} { // a tick that waits is not missed
		t.Run(string(catchUp), func(t *testing.T) {
			w := newWorld(t)
			d := suite()
			d.Overlap, d.CatchUp = assay.OverlapQueue, catchUp
			w.apply("night", d)
			w.until("2026-06-02T03:00:00Z")
			w.look()
			first := w.only()
			w.until("2026-06-03T03:00:00Z")
			w.look()
			w.until("2026-06-03T18:00:00Z")
			w.look()
			w.only()
			w.owes("night", "2026-06-03T03:00:00Z")
			w.until("2026-06-04T03:00:01Z") // one more comes due and joins it
			w.look()
			w.only()
			w.end(first.ID)
			w.look()
			list := w.runs()
			if len(list) != 2 {
				t.Fatalf("%d runs, want the one that waited", len(list))
			}
			w.last("night", assay.Tick{At: at(t, "2026-06-04T03:00:00Z"), Outcome: assay.TickStarted, Run: list[1].ID, Coalesced: 1})
			w.owes("night", "2026-06-05T03:00:00Z")
		})
	}
}

func TestEveryNightHasOneRunOverShiftsOfTheClock(t *testing.T) {
	for _, shift := range []string{"2026-03-27T12:00:00Z", "2026-10-23T12:00:00Z"} {
		w := newWorld(t)
		w.until(shift)
		d := suite()
		d.Cron, d.Zone = "30 2 * * *", "Europe/Berlin"
		w.apply("night", d)
		for range 4 * 24 * 4 { // four days, by quarters of an hour
			w.set(w.Now().Add(15 * time.Minute))
			w.look()
			if list := w.runs(); len(list) > 0 && !list[len(list)-1].State.Terminal() {
				w.end(list[len(list)-1].ID)
			}
		}
		days := map[int]int{}
		zone, err := time.LoadLocation("Europe/Berlin")
		w.must(err)
		for _, run := range w.runs() {
			days[run.CreatedAt.In(zone).Day()]++
		}
		if len(days) != 4 || len(w.runs()) != 4 {
			t.Errorf("after %s: runs by day %v, want one on each of four", shift, days)
		}
	}
}

func TestAPausedScheduleStartsNothing(t *testing.T) {
	w := newWorld(t)
	w.apply("night", suite())
	_, err := w.store.Schedules().Pause(t.Context(), w.project.ID, "night", true, nil)
	w.must(err)
	w.until("2026-06-05T09:00:00Z")
	w.look()
	next, err := Next(w.get("night").Def, w.Now())
	w.must(err)
	_, err = w.store.Schedules().Pause(t.Context(), w.project.ID, "night", false, &next)
	w.must(err)
	w.look()
	if len(w.runs()) != 0 {
		t.Error("it started what it would have started while it was paused")
	}
	w.owes("night", "2026-06-06T03:00:00Z")
	w.until("2026-06-06T03:00:00Z")
	w.look()
	w.only()
}

// What a person does between the look and the start holds.
func TestWhatChangesWhileItIsDue(t *testing.T) {
	for name, change := range map[string]func(w *world) error{
		"deleted": func(w *world) error { return w.store.Schedules().Delete(w.t.Context(), w.project.ID, "night") },
		"paused": func(w *world) error {
			_, err := w.store.Schedules().Pause(w.t.Context(), w.project.ID, "night", true, nil)
			return err
		},
		"changed": func(w *world) error {
			d := suite()
			d.Cron = "0 5 * * *"
			w.apply("night", d)
			return nil
		},
		"deleted and made again": func(w *world) error {
			err := w.store.Schedules().Delete(w.t.Context(), w.project.ID, "night")
			w.apply("night", suite())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.apply("night", suite())
			w.until("2026-06-02T03:00:00Z")
			ticker := w.over(forgetful{Store: w.store, due: func() { w.must(change(w)) }})
			ticker.look(t.Context())
			if len(w.runs()) != 0 {
				t.Errorf("it started %d runs", len(w.runs()))
			}
		})
	}
}

func TestARefusedTickSaysWhyAndTheScheduleGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*assay.ScheduleDef)
		says   string
	}{
		"no such suite": {func(d *assay.ScheduleDef) { d.Suite.Name = "gone" }, "gone"},
		"a bad value":   {func(d *assay.ScheduleDef) { d.Suite.Params["bad"] = json.RawMessage(`1`) }, "parameter bad is not known; leave it out"},
		"no such judge": {func(d *assay.ScheduleDef) { d.Suite, d.Grade = nil, json.RawMessage(`{"judges":["gone"]}`) }, "gone"},
		"a since to come": {func(d *assay.ScheduleDef) {
			d.Suite, d.Grade = nil, json.RawMessage(`{"judges":["j"],"since":"2030-01-01T00:00:00Z"}`)
		}, "later than now"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			d := suite()
			c.change(&d)
			w.apply("night", d)
			w.apply("good", grade())
			w.until("2026-06-02T03:00:00Z")
			w.look()
			w.last("night", assay.Tick{At: at(t, "2026-06-02T03:00:00Z"), Outcome: assay.TickFailed})
			if s := w.owes("night", "2026-06-03T03:00:00Z").Last.Sentence; !strings.Contains(s, c.says) {
				t.Errorf("%q, want it to say %q", s, c.says)
			}
			if w.get("good").Last.Outcome != assay.TickStarted {
				t.Error("another schedule was held up")
			}
		})
	}
}

// away is an engine that cannot reach its store.
type away struct {
	Starter
	err error
}

func (a *away) StartSuite(ctx context.Context, p assay.Project, name string, q engine.SuiteRequest, idem *store.Idempotency) (assay.Run, bool, error) {
	if a.err != nil {
		return assay.Run{}, false, a.err
	}
	return a.Starter.StartSuite(ctx, p, name, q, idem)
}

func TestWhileTheStoreIsAwayATickStaysOwed(t *testing.T) {
	for _, back := range []time.Duration{5 * time.Minute, RetryFor + time.Minute} {
		w := newWorld(t)
		d := suite()
		d.CatchUp = assay.CatchUpNone // it was seen in time: it is not missed
		w.apply("night", d)
		e := &away{Starter: w.engine, err: assay.Errorf(assay.CodeUnavailable, "the store is away")}
		w.ticker.engine = e
		w.until("2026-06-02T03:00:00Z")
		for range 3 {
			w.look()
			w.owes("night", "2026-06-02T03:00:00Z")
			w.set(w.Now().Add(time.Minute))
		}
		if n := strings.Count(w.log.String(), "the store is away"); n != 1 {
			t.Errorf("it was said %d times, want once", n)
		}
		w.set(w.Now().Add(back))
		if back < RetryFor {
			e.err = nil
			w.look()
			w.last("night", assay.Tick{At: at(t, "2026-06-02T03:00:00Z"), Outcome: assay.TickStarted, Run: w.only().ID})
			continue
		}
		w.look()
		w.last("night", assay.Tick{At: at(t, "2026-06-02T03:00:00Z"), Outcome: assay.TickFailed})
		w.owes("night", "2026-06-03T03:00:00Z")
	}
}

func TestAScheduleThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	w := newWorld(t)
	next := at(t, "2026-06-02T03:00:00Z")
	broken := suite()
	broken.Zone = "Nowhere/Atall"
	_, err := w.store.Schedules().Apply(t.Context(), w.project.ID, []assay.Schedule{{Name: "broken", Def: broken, NextAt: &next}}, w.Now())
	w.must(err)
	w.apply("night", suite())
	w.until("2026-06-02T03:00:00Z")
	w.look()
	w.look()
	w.only()
	w.owes("broken", "2026-06-02T03:00:00Z")
	if n := strings.Count(w.log.String(), "Nowhere/Atall"); n != 1 {
		t.Errorf("it was said %d times, want once:\n%s", n, w.log.String())
	}
}

func TestRunLooksAtOnceAndEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	w.apply("night", suite())
	w.until("2026-06-02T03:00:00Z")
	ctx, stop := context.WithCancel(t.Context())
	recorded := make(chan struct{}, 9)
	ticker := w.over(forgetful{Store: w.store, ticked: func() error { recorded <- struct{}{}; return nil }})
	done := make(chan error, 1)
	go func() { done <- ticker.Run(ctx) }()
	for range 2 {
		select {
		case <-recorded:
		case <-time.After(20 * time.Second):
			t.Fatal("Run did not look")
		}
		w.until("2026-06-03T03:00:00Z") // seen by a look that is a second later
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
