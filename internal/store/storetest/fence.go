package storetest

import (
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testFence(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"a driver that lost its run writes nothing", testLost},
		{"a run that is not running", func(w *world) {
			f := w.grading(w.newRun(), w.fill(1))
			for _, to := range []assay.RunState{assay.RunPaused, assay.RunQueued, assay.RunFailed} {
				w.change(f.Run, store.Change{From: active, To: to, Reason: assay.ReasonAsked, Sentence: "s"})
				w.refusesAll(f)
				_, err := w.Runs().Control(w.ctx, store.Fence{Run: f.Run, Epoch: f.Epoch, States: []assay.RunState{assay.RunRunning, to}})
				w.ok(err)
			}
		}},
		{"a run that does not exist", func(w *world) { w.refusesAll(store.Fence{Run: 1 << 40, Epoch: 1}) }},
	})
}

// refusesAll calls every fenced method; all must say ErrLost and write nothing.
func (w *world) refusesAll(f store.Fence) {
	w.Helper()
	heads, _, err := w.Sessions().List(w.ctx, w.project.ID, store.SessionQuery{}, store.Page{Limit: 1})
	w.ok(err)
	var session assay.SessionKey
	var content assay.ContentKey
	if len(heads) > 0 {
		session, content = heads[0].Key, heads[0].Content
	}
	for name, call := range map[string]func() error{
		"Reset": func() error { return w.Plans().Reset(w.ctx, f) },
		"PutStrata": func() error {
			return w.Plans().PutStrata(w.ctx, f, []assay.PlannedStratum{{Index: 9, Stratum: assay.Stratum{Day: "d", Arm: "a"}}}, 9, assay.Excluded{Empty: 9})
		},
		"PutItems": func() error {
			return w.Plans().PutItems(w.ctx, f, []assay.Item{{Seq: 999, Session: session, Content: content, Repeat: 99}}, at(99))
		},
		"Finish":  func() error { return w.Plans().Finish(w.ctx, f, int64(len(w.items(f.Run))), at(99)) },
		"EndRest": func() error { _, err := w.Items().EndRest(w.ctx, f, assay.ItemAbandoned, 10, at(99)); return err },
		"Beat":    func() error { _, err := w.Runs().Beat(w.ctx, f, at(99)); return err },
		"Control": func() error { _, err := w.Runs().Control(w.ctx, f); return err },
		"Commit": func() error {
			_, err := w.Items().Commit(w.ctx, f, store.Batch{Now: at(99), Done: []store.Outcome{graded(opened(f, 1, 1), true)}, Open: []assay.Attempt{opened(f, 1, 7)}, End: []store.EndItem{{Seq: 1, State: assay.ItemErrored}}})
			return err
		},
		"an empty Commit": func() error { _, err := w.Items().Commit(w.ctx, f, store.Batch{Now: at(99)}); return err },
	} {
		before := w.everything(f.Run)
		if err := call(); err == nil {
			w.Errorf("%s was done without a claim", name)
		} else {
			w.lost(err)
		}
		equal(w, "everything after "+name, w.everything(f.Run), before)
	}
}

// everything is all that is stored of a run.
func (w *world) everything(id assay.RunID) any {
	w.Helper()
	run, err := w.Runs().Get(w.ctx, id)
	if assay.CodeOf(err) != assay.CodeNotFound {
		w.ok(err)
	}
	strata, err := w.Plans().Strata(w.ctx, id)
	w.ok(err)
	all := []any{run, strata, w.verdictsOf(id)}
	for _, item := range w.items(id) {
		all = append(all, item, w.attempts(id, item.Seq))
	}
	return all
}

func testLost(w *world) {
	f := w.grading(w.newRun(), w.fill(3))
	w.open(f, 1, 2)
	next := w.takeUp(f.Run, f.Epoch, true)
	w.refusesAll(f)
	w.commit(next, store.Batch{Open: []assay.Attempt{opened(next, 1, 2)}})
	w.refusesAll(f)

	// The old driver's paid answer is kept as a late attempt and makes no verdict.
	late := closed(opened(f, 1, 1), assay.ClassNone)
	w.ok(w.Items().Late(w.ctx, []assay.Attempt{late}))
	late.Late = true
	equal(w, "attempts", w.attempts(f.Run, 1), []assay.Attempt{late, opened(next, 1, 2)})
	equal(w, "state", w.items(f.Run)[0].State, assay.ItemPending)
	equal(w, "verdicts", len(w.verdictsOf(f.Run)), 0)
	w.commit(next, store.Batch{Done: []store.Outcome{graded(opened(next, 1, 2), false)}})
	equal(w, "verdict", *w.verdictsOf(f.Run)[0].Pass, false)
	w.ok(w.Items().Late(w.ctx, []assay.Attempt{closed(opened(next, 1, 2), assay.ClassTimeout), late}))
	equal(w, "attempts that are done are left", w.attempts(f.Run, 1), []assay.Attempt{late, closed(opened(next, 1, 2), "")})

	w.end(f.Run, assay.RunFailed)
	w.ok(w.Items().Late(w.ctx, []assay.Attempt{closed(opened(f, 2, 1), assay.ClassTimeout), closed(opened(f, 3, 1), assay.ClassTimeout)}))
	equal(w, "a late attempt of a run that has ended", w.attempts(f.Run, 2)[0].Late, true)
	equal(w, "a late attempt that was never stored as open", w.attempts(f.Run, 3)[0].Late, true)
	spend, err := w.Items().Spend(w.ctx, f.Run)
	w.ok(err)
	equal(w, "spend counts late attempts", []any{spend.Attempts, spend.Late, spend.Unknown, int64(spend.Cost)}, []any{int64(4), int64(3), int64(0), int64(1200)})
	w.ok(w.Items().Late(w.ctx, nil))
}
