package storetest

import (
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testCrashes(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"a death makes open attempts unknown and counts them", testDeath},
		{"a graceful handover leaves attempts and counters", func(w *world) {
			f := w.grading(w.newRun(), w.fill(1))
			w.open(f, 1)
			w.change(f.Run, store.Change{From: active, To: assay.RunQueued, Reason: assay.ReasonStopped, Sentence: "s"})
			next := w.takeUp(f.Run, 1, false)
			item := w.items(f.Run)[0]
			equal(w, "item", []any{item.Crashes, item.Alone, w.get(f.Run).Stalls}, []any{0, 0, 0})
			equal(w, "in flight counts the present epoch only", w.counts(f.Run).InFlight, int64(0))
			w.commit(next, store.Batch{Open: []assay.Attempt{opened(next, 1, 2)}})
			equal(w, "in flight", w.counts(f.Run).InFlight, int64(1))
		}},
		{"five deaths without progress", func(w *world) {
			f := w.grading(w.newRun(), w.fill(2))
			for i := range 5 {
				f = w.takeUp(f.Run, f.Epoch, true)
				equal(w, "stalls", w.get(f.Run).Stalls, i+1)
			}
			w.grade(f, 1)
			equal(w, "stalls after progress", w.get(f.Run).Stalls, 0)
		}},
	})
}

func testDeath(w *world) {
	f := w.grading(w.newRun(), w.fill(4))
	other := w.grading(w.newRun(), w.fill(4))
	w.open(other, 1)
	w.grade(f, 4)
	alone := opened(f, 2, 1)
	alone.Alone = true
	w.commit(f, store.Batch{Open: []assay.Attempt{opened(f, 1, 1), alone}})
	f2 := w.takeUp(f.Run, 1, true)
	unknown := opened(f, 1, 1)
	unknown.Status, unknown.Class = assay.AttemptUnknown, assay.ClassUnknown
	equal(w, "attempt", w.attempts(f.Run, 1), []assay.Attempt{unknown})
	told := func() (list [][2]int) {
		for _, item := range w.items(f.Run) {
			list = append(list, [2]int{item.Crashes, item.Alone})
		}
		return list
	}
	equal(w, "crashes and crashes alone", told(), [][2]int{{1, 0}, {0, 1}, {0, 0}, {0, 0}})
	equal(w, "counts", w.counts(f.Run), assay.Counts{Total: 4, Pending: 3, Graded: 1, Passed: 1})
	equal(w, "the other run's attempt", w.attempts(other.Run, 1), []assay.Attempt{opened(other, 1, 1)})

	w.commit(f2, store.Batch{Open: []assay.Attempt{opened(f2, 1, 2), opened(f2, 3, 1)}})
	f3 := w.takeUp(f.Run, 2, true)
	equal(w, "after a second death", told(), [][2]int{{2, 0}, {0, 1}, {1, 0}, {0, 0}})
	spend, err := w.Items().Spend(w.ctx, f.Run)
	w.ok(err)
	equal(w, "spend", []any{spend.Attempts, spend.Unknown, spend.Late}, []any{int64(5), int64(4), int64(0)})

	w.ok(w.Items().Late(w.ctx, []assay.Attempt{closed(opened(f, 1, 1), assay.ClassNone)}))
	spend, err = w.Items().Spend(w.ctx, f.Run)
	w.ok(err)
	equal(w, "spend once one of them got its facts", []any{spend.Attempts, spend.Unknown, spend.Late}, []any{int64(5), int64(3), int64(1)})
	w.commit(f3, store.Batch{Open: []assay.Attempt{opened(f3, 1, 3)}})
	w.commit(f3, store.Batch{Done: []store.Outcome{graded(opened(f3, 1, 3), true)}})
	equal(w, "crashes stay with an item that was graded", told()[0], [2]int{2, 0})
}
