package storetest

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
)

func testSchedules(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"a schedule comes back as it was applied", testApplySchedule},
		{"pause and go on", testPauseSchedule},
		{"no such schedule or project", func(w *world) {
			_, err := w.Schedules().Get(w.ctx, w.project.ID, "nobody")
			w.code(err, assay.CodeNotFound)
			_, err = w.Schedules().Pause(w.ctx, w.project.ID, "nobody", true, nil)
			w.code(err, assay.CodeNotFound)
			w.code(w.Schedules().Delete(w.ctx, w.project.ID, "nobody"), assay.CodeNotFound)
			_, err = w.Schedules().Apply(w.ctx, 1<<40, []assay.Schedule{schedule("s")}, start)
			w.code(err, assay.CodeNotFound)
			done, err := w.Schedules().Ticked(w.ctx, 1<<40, start, assay.Tick{}, nil)
			w.ok(err)
			equal(w, "a tick of none", done, false)
		}},
		{"a tick is stored once", testTicked},
		{"two tickers, one wins", testTickers},
		{"a tick of what was changed meanwhile", testTickedLate},
	})
	t.Run("due", func(t *testing.T) { testDue(newWorld(t, open(t))) }) // of every project, so alone in its store
}

func schedule(name string) assay.Schedule {
	return assay.Schedule{Name: name, Source: "# " + name, NextAt: ptr(at(100)), Def: assay.ScheduleDef{
		Description: "each night", Cron: "0 3 * * *", Zone: "Europe/Berlin", CatchUp: assay.CatchUpOne, Overlap: assay.OverlapQueue,
		Suite: &assay.ScheduledSuite{Name: "nightly", Params: map[string]json.RawMessage{"limit": json.RawMessage("10"), "a": json.RawMessage(`"<b>"`)}},
	}}
}

func (w *world) schedule(name string) assay.Schedule {
	w.Helper()
	s, err := w.Schedules().Get(w.ctx, w.project.ID, name)
	w.ok(err)
	return s
}

func (w *world) applySchedule(s assay.Schedule, now time.Time) bool {
	w.Helper()
	changed, err := w.Schedules().Apply(w.ctx, w.project.ID, []assay.Schedule{s}, now)
	w.ok(err)
	return changed[0]
}

// ticked stores a tick that was owed.
func (w *world) ticked(s assay.Schedule, owed time.Time, last assay.Tick, next *time.Time) bool {
	w.Helper()
	done, err := w.Schedules().Ticked(w.ctx, s.ID, owed, last, next)
	w.ok(err)
	return done
}

func testApplySchedule(w *world) {
	b, a := schedule("b"), schedule("a")
	a.Def.Suite, a.Def.Grade, a.NextAt = nil, json.RawMessage(`{"judges":["j"]}`), nil
	equal(w, "changed, the first time", w.applySchedule(b, at(1)), true)
	equal(w, "changed, another name", w.applySchedule(a, at(2)), true)
	got := w.schedule("b")
	b.ID, b.ProjectID, b.Project, b.UpdatedAt = got.ID, w.project.ID, w.project.Name, at(1)
	equal(w, "schedule", got, b)

	later := b
	later.NextAt = ptr(at(999))
	equal(w, "changed, the same", w.applySchedule(later, at(3)), false)
	equal(w, "schedule, of which the same changes nothing", w.schedule("b"), b)

	last := assay.Tick{At: at(100), DoneAt: at(101), Outcome: assay.TickStarted, Run: 7}
	equal(w, "ticked", w.ticked(b, at(100), last, ptr(at(200))), true)
	_, err := w.Schedules().Pause(w.ctx, w.project.ID, "b", true, nil)
	w.ok(err)
	later.Def.Cron = "0 4 * * *"
	equal(w, "changed, another definition", w.applySchedule(later, at(4)), true)
	b.Def, b.NextAt, b.UpdatedAt, b.Last, b.Paused = later.Def, later.NextAt, at(4), &last, true
	equal(w, "schedule: what a person paused stays so, and what it did last", w.schedule("b"), b)
	later.Source += "\n# a comment"
	equal(w, "changed, another source", w.applySchedule(later, at(5)), true)
	b.Source, b.UpdatedAt = later.Source, at(5)

	other := newWorld(w.T, w.Store)
	other.applySchedule(schedule("b"), at(6))
	list, err := w.Schedules().List(w.ctx, w.project.ID)
	w.ok(err)
	a.ID, a.ProjectID, a.Project, a.UpdatedAt = w.schedule("a").ID, w.project.ID, w.project.Name, at(2)
	equal(w, "schedules in the order of names", list, []assay.Schedule{a, b})
	w.ok(w.Schedules().Delete(w.ctx, w.project.ID, "b"))
	_, err = w.Schedules().Get(w.ctx, w.project.ID, "b")
	w.code(err, assay.CodeNotFound)
	other.schedule("b")
	w.applySchedule(b, at(7))
	if again := w.schedule("b"); again.ID == b.ID || again.Last != nil {
		w.Errorf("a schedule that was deleted and applied again goes on as %+v", again)
	}
	bad := schedule("bad")
	bad.Def.Grade = json.RawMessage("{")
	_, err = w.Schedules().Apply(w.ctx, w.project.ID, []assay.Schedule{bad}, at(8))
	w.code(err, assay.CodeInvalid)

	changed := schedule("a")
	changed.Def.Cron = "0 5 * * *"
	_, err = w.Schedules().Apply(w.ctx, w.project.ID, []assay.Schedule{changed, schedule("new"), bad, schedule("newer")}, at(9))
	w.code(err, assay.CodeInvalid)
	equal(w, "schedule, of a list that is not applied", w.schedule("a"), a)
	list, err = w.Schedules().List(w.ctx, w.project.ID)
	w.ok(err)
	equal(w, "schedules after a list that is not applied", len(list), 2)
	several, err := w.Schedules().Apply(w.ctx, w.project.ID, []assay.Schedule{changed, schedule("new"), w.schedule("b")}, at(9))
	w.ok(err)
	equal(w, "changed of several", several, []bool{true, true, false})
}

func testPauseSchedule(w *world) {
	w.applySchedule(schedule("s"), at(1))
	paused, err := w.Schedules().Pause(w.ctx, w.project.ID, "s", true, nil)
	w.ok(err)
	equal(w, "paused", []any{paused.Paused, paused.NextAt}, []any{true, (*time.Time)(nil)})
	equal(w, "stored", w.schedule("s"), paused)
	on, err := w.Schedules().Pause(w.ctx, w.project.ID, "s", false, ptr(at(300)))
	w.ok(err)
	equal(w, "going on", []any{on.Paused, on.NextAt, on.UpdatedAt}, []any{false, ptr(at(300)), at(1)})
	equal(w, "stored", w.schedule("s"), on)
}

func testTicked(w *world) {
	w.applySchedule(schedule("s"), at(1))
	s := w.schedule("s")
	last := assay.Tick{At: at(100), DoneAt: at(105).Add(7), Outcome: assay.TickSkipped, Run: 12, Coalesced: 3, Sentence: "r12 is running"}
	equal(w, "a tick that is not owed", w.ticked(s, at(99), last, ptr(at(200))), false)
	equal(w, "schedule", w.schedule("s"), s)
	equal(w, "the tick that is owed", w.ticked(s, at(100).In(time.FixedZone("x", 3600)), last, ptr(at(200))), true)
	last.DoneAt = at(105)
	s.Last, s.NextAt = &last, ptr(at(200))
	equal(w, "schedule", w.schedule("s"), s)
	equal(w, "the same tick again", w.ticked(s, at(100), assay.Tick{Outcome: assay.TickFailed}, ptr(at(300))), false)
	equal(w, "schedule", w.schedule("s"), s)
	equal(w, "the last tick of all", w.ticked(s, at(200), last, nil), true)
	s.NextAt = nil
	equal(w, "schedule", w.schedule("s"), s)
	equal(w, "a tick when none is owed", w.ticked(s, at(200), last, ptr(at(400))), false)
}

func testTickers(w *world) {
	w.applySchedule(schedule("s"), at(1))
	s := w.schedule("s")
	owed := *s.NextAt
	for range 20 {
		var won atomic.Int64
		var winner atomic.Int64
		next := owed.Add(time.Hour)
		together(8, func(i int) {
			done, err := w.Schedules().Ticked(w.ctx, s.ID, owed, assay.Tick{At: owed, DoneAt: owed, Outcome: assay.TickStarted, Run: assay.RunID(i + 1)}, &next)
			if err != nil {
				w.Error(err)
			}
			if done {
				won.Add(1)
				winner.Store(int64(i + 1))
			}
		})
		equal(w, "winners", won.Load(), int64(1))
		got := w.schedule("s")
		equal(w, "the run of the last tick, and the next", []any{got.Last.Run, got.NextAt}, []any{assay.RunID(winner.Load()), &next})
		owed = next
	}
}

func testTickedLate(w *world) {
	w.applySchedule(schedule("s"), at(1))
	s := w.schedule("s")
	changed := schedule("s")
	changed.Def.Cron, changed.NextAt = "* * * * *", ptr(at(130))
	w.applySchedule(changed, at(110))
	equal(w, "what it owed by its older definition is dropped", w.ticked(s, at(100), assay.Tick{}, ptr(at(200))), false)
	equal(w, "next", w.schedule("s").NextAt, ptr(at(130)))
	_, err := w.Schedules().Pause(w.ctx, w.project.ID, "s", true, nil)
	w.ok(err)
	equal(w, "a tick of a paused one", w.ticked(s, at(130), assay.Tick{}, ptr(at(200))), false)
	equal(w, "next of a paused one", w.schedule("s").NextAt, (*time.Time)(nil))
	equal(w, "last, when nothing was started", w.schedule("s").Last, (*assay.Tick)(nil))

	started := func(sec int, run assay.RunID) *assay.Tick {
		return &assay.Tick{At: at(sec), DoneAt: at(sec + 1), Outcome: assay.TickStarted, Run: run}
	}
	equal(w, "a tick of a paused one that started a run", w.ticked(s, at(130), *started(130, 7), ptr(at(200))), false)
	equal(w, "last", w.schedule("s").Last, started(130, 7))
	equal(w, "next of a paused one", w.schedule("s").NextAt, (*time.Time)(nil))
	for _, known := range []*assay.Tick{started(150, 7), started(120, 6), {At: at(150), Outcome: assay.TickFailed}} {
		equal(w, "a tick that tells nothing more", w.ticked(s, at(130), *known, nil), false)
		equal(w, "last", w.schedule("s").Last, started(130, 7))
	}
	w.ok(w.Schedules().Delete(w.ctx, w.project.ID, "s"))
	w.applySchedule(schedule("s"), at(2))
	equal(w, "a tick of one that was deleted and applied again", w.ticked(s, at(100), assay.Tick{}, nil), false)
}

func testDue(w *world) {
	other := newWorld(w.T, w.Store)
	due := func(now time.Time) (names []string) {
		w.Helper()
		list, err := w.Schedules().Due(w.ctx, now)
		w.ok(err)
		for _, s := range list {
			names = append(names, s.Project+"/"+s.Name)
		}
		return names
	}
	add := func(w *world, name string, next *time.Time) {
		s := schedule(name)
		s.NextAt = next
		w.applySchedule(s, at(1))
	}
	add(w, "second", ptr(at(20)))
	add(w, "never", nil)
	add(other, "first", ptr(at(10)))
	add(w, "third", ptr(at(20)))
	add(w, "later", ptr(at(30).Add(time.Microsecond)))
	add(w, "paused", ptr(at(10)))
	_, err := w.Schedules().Pause(w.ctx, w.project.ID, "paused", true, ptr(at(10)))
	w.ok(err)
	var none []string
	equal(w, "before", due(at(9)), none)
	equal(w, "at the tick", due(at(10)), []string{other.project.Name + "/first"})
	p := w.project.Name
	equal(w, "later, oldest first", due(at(30)), []string{other.project.Name + "/first", p + "/second", p + "/third"})
	w.ok(other.Projects().Delete(w.ctx, other.project.ID, nil))
	equal(w, "once a project is gone", due(at(30)), []string{p + "/second", p + "/third"})
}
