package storetest

import (
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testChanges(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"change stores state, phase, reason and sentence", testChange},
		{"change is refused from another state or epoch", testChangeRefused},
		{"a terminal state never changes", testTerminal},
		{"a cancel request beats every other end", testCancelBeats},
		{"asks are stored once", testAsks},
		{"concurrency", testConcurrency},
		{"budget", testBudget},
		{"revision grows with every change", testRevision},
		{"take up", testTakeUp},
		{"100 simultaneous drivers take a run up once", testSimultaneousTakeUp},
		{"beat and control", testBeat},
	})
	t.Run("waiting", func(t *testing.T) { testWaiting(newWorld(t, open(t))) })
}

func testChange(w *world) {
	run := w.create(w.newRun())
	f := w.takeUp(run.ID, 0, false)
	before := w.get(run.ID)

	paused := w.change(run.ID, store.Change{From: []assay.RunState{assay.RunRunning}, Epoch: &f.Epoch, To: assay.RunPaused, Phase: assay.PhaseGrading,
		Reason: assay.ReasonRateLimited, Sentence: "the provider says no", WakeAt: ptr(at(60)), Now: at(9)})
	want := before
	want.State, want.Phase, want.Reason, want.Sentence, want.WakeAt, want.Revision = assay.RunPaused, assay.PhaseGrading, assay.ReasonRateLimited, "the provider says no", ptr(at(60)), paused.Revision
	equal(w, "paused", paused, want)
	equal(w, "paused, read again", w.get(run.ID), want)

	asked, err := w.Runs().Ask(w.ctx, run.ID, store.AskPause, "", at(10))
	w.ok(err)
	if asked.PauseRequestedAt == nil {
		w.Fatal("a pause request is not stored")
	}
	queued := w.change(run.ID, store.Change{From: []assay.RunState{assay.RunPaused}, To: assay.RunQueued, Reason: assay.ReasonResumed, ClearPause: true})
	want.State, want.Reason, want.Sentence, want.WakeAt, want.Revision = assay.RunQueued, assay.ReasonResumed, "", nil, queued.Revision
	equal(w, "queued again", queued, want)

	same := w.change(run.ID, store.Change{From: []assay.RunState{assay.RunQueued}, To: assay.RunQueued, Phase: assay.PhaseFinishing, Reason: assay.ReasonStopped, Sentence: "s"})
	equal(w, "a change to the same state", []any{same.State, same.Phase, same.Reason}, []any{assay.RunQueued, assay.PhaseFinishing, assay.ReasonStopped})

	done := w.change(run.ID, store.Change{From: active, To: assay.RunCompleted, Reason: assay.ReasonEnded, Sentence: "e", Partial: true, Now: at(20).Add(500)})
	equal(w, "completed", []any{done.State, done.Partial, done.EndedAt, done.Phase}, []any{assay.RunCompleted, true, ptr(at(20)), assay.PhaseFinishing})
}

func testChangeRefused(w *world) {
	run := w.create(w.newRun())
	f := w.takeUp(run.ID, 0, false)
	w.takeUp(run.ID, 1, true)
	before := w.get(run.ID)
	_, err := w.Runs().Change(w.ctx, run.ID, store.Change{From: []assay.RunState{assay.RunQueued, assay.RunPaused}, To: assay.RunCompleted, Now: at(9)})
	e := w.code(err, assay.CodeRefused)
	equal(w, "details", []string{e.Details["run"], e.Details["state"]}, []string{run.ID.String(), "running"})
	_, err = w.Runs().Change(w.ctx, run.ID, store.Change{From: active, Epoch: &f.Epoch, To: assay.RunCompleted, Now: at(9)})
	w.lost(err)
	_, err = w.Runs().Beat(w.ctx, store.Fence{Run: run.ID, Epoch: 2}, at(8))
	w.ok(err)
	silent := store.Change{From: active, Heartbeat: before.HeartbeatAt, To: assay.RunStateLost, Now: at(9)}
	_, err = w.Runs().Change(w.ctx, run.ID, silent)
	w.code(err, assay.CodeRefused)
	before.HeartbeatAt, before.Revision = ptr(at(8)), before.Revision+1
	equal(w, "run", w.get(run.ID), before)
	_, err = w.Runs().Change(w.ctx, 1<<40, store.Change{From: active, To: assay.RunCompleted, Now: at(9)})
	w.code(err, assay.CodeNotFound)
}

func testTerminal(w *world) {
	all := []assay.RunState{assay.RunQueued, assay.RunRunning, assay.RunPaused, assay.RunCompleted, assay.RunFailed, assay.RunCancelled, assay.RunStateLost}
	for _, terminal := range all[3:] {
		run := w.create(w.newRun())
		w.takeUp(run.ID, 0, false)
		ended := w.end(run.ID, terminal)
		if ended.EndedAt == nil {
			w.Errorf("%s without an end", terminal)
		}
		for _, to := range all {
			_, err := w.Runs().Change(w.ctx, run.ID, store.Change{From: all, To: to, Now: at(99)})
			w.code(err, assay.CodeRefused)
		}
		for _, ask := range []store.Ask{store.AskCancel, store.AskCancelNow, store.AskPause, store.AskEnd} {
			got, err := w.Runs().Ask(w.ctx, run.ID, ask, "", at(99))
			w.ok(err)
			equal(w, "a terminal run asked for something", got, ended)
		}
		_, err := w.Runs().SetConcurrency(w.ctx, run.ID, 9)
		w.code(err, assay.CodeRefused)
		_, err = w.Runs().TakeUp(w.ctx, run.ID, 1, true, at(99))
		w.code(err, assay.CodeRefused)
		equal(w, "a terminal run", w.get(run.ID), ended)
	}
}

func testCancelBeats(w *world) {
	for _, from := range active {
		for _, ask := range []store.Ask{store.AskCancel, store.AskCancelNow} {
			run := w.create(w.newRun())
			w.takeUp(run.ID, 0, false)
			w.change(run.ID, store.Change{From: active, To: from, Reason: assay.ReasonAsked, Sentence: "s"})
			_, err := w.Runs().Ask(w.ctx, run.ID, ask, "", at(5))
			w.ok(err)
			for _, to := range []assay.RunState{assay.RunPaused, assay.RunCompleted, assay.RunFailed, assay.RunStateLost} {
				_, err := w.Runs().Change(w.ctx, run.ID, store.Change{From: active, To: to, Now: at(6)})
				w.code(err, assay.CodeRefused)
			}
			equal(w, "state", w.end(run.ID, assay.RunCancelled).State, assay.RunCancelled)
		}
	}
}

func testAsks(w *world) {
	run := w.create(w.newRun())
	ask := func(a store.Ask, sec int) assay.Run {
		w.Helper()
		got, err := w.Runs().Ask(w.ctx, run.ID, a, "", at(sec))
		w.ok(err)
		equal(w, "stored", w.get(run.ID), got)
		return got
	}
	equal(w, "pause", ask(store.AskPause, 1).PauseRequestedAt, ptr(at(1)))
	equal(w, "pause again", ask(store.AskPause, 2).PauseRequestedAt, ptr(at(1)))
	wakes := w.create(w.newRun())
	w.takeUp(wakes.ID, 0, false)
	w.change(wakes.ID, store.Change{From: active, To: assay.RunPaused, Reason: assay.ReasonRateLimited, Sentence: "s", WakeAt: ptr(at(9))})
	held, err := w.Runs().Ask(w.ctx, wakes.ID, store.AskPause, "", at(1))
	w.ok(err)
	equal(w, "pause of a run that would wake", []any{held.State, held.WakeAt == nil}, []any{assay.RunPaused, true})
	asked := w.create(w.newRun())
	w.takeUp(asked.ID, 0, false)
	_, err = w.Runs().Ask(w.ctx, asked.ID, store.AskPause, "", at(1))
	w.ok(err)
	held = w.change(asked.ID, store.Change{From: active, To: assay.RunPaused, Reason: assay.ReasonRateLimited, Sentence: "s", WakeAt: ptr(at(9))})
	equal(w, "a run that paused by itself right after a pause was asked for", []any{held.State, held.WakeAt == nil}, []any{assay.RunPaused, true})
	equal(w, "end", ask(store.AskEnd, 3).EndRequestedAt, ptr(at(3)))
	equal(w, "end again", ask(store.AskEnd, 4).EndRequestedAt, ptr(at(3)))
	got := ask(store.AskCancel, 5)
	equal(w, "cancel", []any{got.CancelRequestedAt, got.CancelNow, got.Cancelling(), got.State}, []any{ptr(at(5)), false, true, assay.RunQueued})
	equal(w, "cancel again changes nothing", ask(store.AskCancel, 6), got)
	got = ask(store.AskCancelNow, 7)
	equal(w, "cancel now", []any{got.CancelRequestedAt, got.CancelNow}, []any{ptr(at(5)), true})
	equal(w, "a cancel takes no now back", ask(store.AskCancel, 8), got)
	testCancelledBy(w)
	_, err = w.Runs().Ask(w.ctx, 1<<40, store.AskCancel, "", at(1))
	w.code(err, assay.CodeNotFound)
}

// Of a cancel the first who asked is kept, and the sentence of its end names them.
func testCancelledBy(w *world) {
	for _, c := range []struct {
		first, second store.Ask
		by, want      string
	}{{store.AskCancel, store.AskCancelNow, "ann", "cancelled by ann: s"}, {store.AskCancelNow, store.AskCancel, "ann", "cancelled by ann: s"},
		{store.AskCancel, store.AskCancelNow, "", "cancelled: s"}} {
		run := w.create(w.newRun())
		for i, ask := range []store.Ask{c.first, c.second} {
			by := []string{c.by, "bob"}[i]
			got, err := w.Runs().Ask(w.ctx, run.ID, ask, by, at(i))
			w.ok(err)
			equal(w, "who cancelled", got.CancelRequestedBy, c.by)
		}
		got := w.change(run.ID, store.Change{From: active, To: assay.RunCancelled, Reason: assay.ReasonAsked, Sentence: "cancelled: s", Now: at(9)})
		equal(w, "sentence", got.Sentence, c.want)
	}
}

func testConcurrency(w *world) {
	run := w.create(w.newRun())
	got, err := w.Runs().SetConcurrency(w.ctx, run.ID, 99)
	w.ok(err)
	equal(w, "concurrency", got.Concurrency, 99)
	f := w.takeUp(run.ID, 0, false)
	_, err = w.Runs().SetConcurrency(w.ctx, run.ID, 3)
	w.ok(err)
	control, err := w.Runs().Control(w.ctx, f)
	w.ok(err)
	equal(w, "what the driver reads", control.Concurrency, 3)
	_, err = w.Runs().SetConcurrency(w.ctx, 1<<40, 3)
	w.code(err, assay.CodeNotFound)
}

func testBudget(w *world) {
	n := w.newRun()
	n.Budget = usd(1_234_567_890_123)
	run := w.create(n)
	equal(w, "budget of a new run", []any{run.Budget, w.get(run.ID).Budget}, []any{n.Budget, n.Budget})
	list, _, err := w.Runs().List(w.ctx, store.RunQuery{Project: w.project.ID}, store.Page{})
	w.ok(err)
	equal(w, "budget in a list", list[0].Budget, n.Budget)
	f := w.takeUp(run.ID, 0, false)
	w.plan(f, w.fill(2))
	// told is what each of the driver's doors says.
	told := func() (budgets []*assay.USD) {
		control, err := w.Runs().Control(w.ctx, f)
		w.ok(err)
		beat, err := w.Runs().Beat(w.ctx, f, at(5))
		w.ok(err)
		return []*assay.USD{control.Budget, beat.Budget, w.commit(f, store.Batch{}).Budget, w.get(run.ID).Budget}
	}
	equal(w, "what the driver reads", told(), []*assay.USD{n.Budget, n.Budget, n.Budget, n.Budget})
	for _, budget := range []*assay.USD{nil, usd(0), usd(5)} {
		before := w.get(run.ID)
		got, err := w.Runs().SetBudget(w.ctx, run.ID, budget)
		w.ok(err)
		equal(w, "a new budget", got.Budget, budget)
		equal(w, "what the driver reads", told(), []*assay.USD{budget, budget, budget, budget})
		if got.Revision <= before.Revision {
			w.Errorf("revision %d after setting the budget, %d before", got.Revision, before.Revision)
		}
		before.Budget, before.Revision = got.Budget, got.Revision
		equal(w, "nothing else changes", got, before)
	}
	next, err := w.Runs().TakeUp(w.ctx, run.ID, f.Epoch, true, at(6))
	w.ok(err)
	equal(w, "budget after a takeover", next.Budget, usd(5))
	w.change(run.ID, store.Change{From: active, To: assay.RunPaused, Reason: assay.Reason(assay.ClassBudget), Sentence: "s"})
	got, err := w.Runs().SetBudget(w.ctx, run.ID, usd(6))
	w.ok(err)
	equal(w, "budget of a paused run", []any{got.Budget, got.State}, []any{usd(6), assay.RunPaused})
	ended := w.end(run.ID, assay.RunCancelled)
	_, err = w.Runs().SetBudget(w.ctx, run.ID, nil)
	w.code(err, assay.CodeRefused)
	equal(w, "a run that has ended", w.get(run.ID), ended)
	_, err = w.Runs().SetBudget(w.ctx, 1<<40, nil)
	w.code(err, assay.CodeNotFound)
}

func testRevision(w *world) {
	run := w.create(w.newRun())
	last := run.Revision
	grown := func(what string) {
		w.Helper()
		now := w.get(run.ID).Revision
		if now <= last {
			w.Errorf("revision after %s: %d, before %d", what, now, last)
		}
		last = now
	}
	f := w.takeUp(run.ID, 0, false)
	grown("taking up")
	heads := w.fill(1)
	w.plan(f, heads)
	grown("planning")
	w.open(f, 1)
	grown("a commit")
	_, err := w.Runs().Beat(w.ctx, f, at(5))
	w.ok(err)
	grown("a heartbeat")
	_, err = w.Runs().SetConcurrency(w.ctx, run.ID, 2)
	w.ok(err)
	grown("setting the concurrency")
	_, err = w.Runs().Ask(w.ctx, run.ID, store.AskPause, "", at(5))
	w.ok(err)
	grown("an ask")
	w.change(run.ID, store.Change{From: active, To: assay.RunQueued, Reason: assay.ReasonStopped, Sentence: "s"})
	grown("a change")
}

func testTakeUp(w *world) {
	n := w.newRun()
	run := w.create(n)
	first, err := w.Runs().TakeUp(w.ctx, run.ID, 0, false, at(2))
	w.ok(err)
	want := run
	want.State, want.Phase, want.Reason, want.Sentence, want.Epoch, want.Revision = assay.RunRunning, assay.PhasePlanning, "", "", 1, first.Revision
	want.StartedAt, want.HeartbeatAt = ptr(at(2)), ptr(at(2))
	equal(w, "first", first, want)

	_, err = w.Runs().TakeUp(w.ctx, run.ID, 0, true, at(3))
	w.lost(err)
	second, err := w.Runs().TakeUp(w.ctx, run.ID, 1, true, at(4))
	w.ok(err)
	equal(w, "after a death", []any{second.Epoch, second.Stalls, second.StartedAt, second.HeartbeatAt}, []any{int64(2), 1, ptr(at(2)), ptr(at(4))})

	w.change(run.ID, store.Change{From: active, To: assay.RunPaused, Phase: assay.PhaseGrading, Reason: assay.ReasonAsked, Sentence: "s", WakeAt: ptr(at(50))})
	_, err = w.Runs().TakeUp(w.ctx, run.ID, 2, false, at(5))
	w.code(err, assay.CodeRefused)
	w.change(run.ID, store.Change{From: active, To: assay.RunQueued, Reason: assay.ReasonResumed, Sentence: "s"})
	third, err := w.Runs().TakeUp(w.ctx, run.ID, 2, false, at(6))
	w.ok(err)
	equal(w, "after a pause", []any{third.Epoch, third.Stalls, third.Phase, third.Reason, third.Sentence, third.WakeAt == nil},
		[]any{int64(3), 1, assay.PhaseGrading, assay.ReasonNone, "", true})
	_, err = w.Runs().TakeUp(w.ctx, 1<<40, 0, false, at(6))
	w.code(err, assay.CodeNotFound)
}

func testSimultaneousTakeUp(w *world) {
	run := w.create(w.newRun())
	errs := make([]error, 100)
	together(len(errs), func(i int) { _, errs[i] = w.Runs().TakeUp(w.ctx, run.ID, 0, false, at(2)) })
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			w.lost(err)
		}
	}
	equal(w, "drivers that got the run", won, 1)
	equal(w, "epoch", w.get(run.ID).Epoch, int64(1))
}

func testBeat(w *world) {
	run := w.create(w.newRun())
	f := w.takeUp(run.ID, 0, false)
	control, err := w.Runs().Beat(w.ctx, f, at(30))
	w.ok(err)
	got := w.get(run.ID)
	equal(w, "heartbeat", []any{got.HeartbeatAt, got.ProgressAt}, []any{ptr(at(30)), got.ProgressAt})
	equal(w, "control", control, assay.RunControl{Concurrency: 4, Revision: got.Revision})
	for _, ask := range []store.Ask{store.AskPause, store.AskEnd, store.AskCancelNow} {
		_, err := w.Runs().Ask(w.ctx, run.ID, ask, "", at(31))
		w.ok(err)
	}
	control, err = w.Runs().Control(w.ctx, f)
	w.ok(err)
	equal(w, "control after asks", control, assay.RunControl{Cancel: true, Now: true, Pause: true, End: true, Concurrency: 4, Revision: w.get(run.ID).Revision})
	beaten, err := w.Runs().Beat(w.ctx, f, at(32))
	w.ok(err)
	control.Revision = beaten.Revision
	equal(w, "a beat tells the same", beaten, control)
}

func testWaiting(w *world) {
	make := func(states ...func(id assay.RunID)) assay.RunID {
		run := w.create(w.newRun())
		for _, f := range states {
			f(run.ID)
		}
		return run.ID
	}
	to := func(c store.Change) func(assay.RunID) {
		return func(id assay.RunID) {
			c.From, c.Reason, c.Sentence = active, assay.ReasonAsked, "s"
			w.change(id, c)
		}
	}
	ask := func(a store.Ask) func(assay.RunID) {
		return func(id assay.RunID) {
			_, err := w.Runs().Ask(w.ctx, id, a, "", at(1))
			w.ok(err)
		}
	}
	want := []assay.RunID{
		make(),
		make(func(id assay.RunID) { w.takeUp(id, 0, false) }),
		make(ask(store.AskCancel)),
		make(to(store.Change{To: assay.RunPaused, WakeAt: ptr(at(100))})),
		make(to(store.Change{To: assay.RunPaused}), ask(store.AskCancel)),
		make(to(store.Change{To: assay.RunPaused}), ask(store.AskEnd)),
	}
	make(to(store.Change{To: assay.RunPaused}))
	make(to(store.Change{To: assay.RunPaused, WakeAt: ptr(at(101))}))
	make(to(store.Change{To: assay.RunPaused}), ask(store.AskPause))
	make(ask(store.AskCancel), to(store.Change{To: assay.RunCancelled}))
	make(to(store.Change{To: assay.RunCompleted}))
	other := newWorld(w.T, w.Store)
	want = append(want, other.create(other.newRun()).ID)
	waiting, err := w.Runs().Waiting(w.ctx, at(100))
	w.ok(err)
	var got []assay.RunID
	for _, run := range waiting {
		got = append(got, run.ID)
	}
	equal(w, "waiting, oldest first", got, want)
	equal(w, "a waiting run is whole", waiting[0], w.get(want[0]))
}
