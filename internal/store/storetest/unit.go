package storetest

import (
	"fmt"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

// Answers about units may come over several attempts. They count once the item is graded.
func testUnits(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"answers over several attempts", testParts},
		{"answers of an item that is never graded", testPartsLost},
		{"answers are kept over a death", testPartsDeath},
		{"many units over many attempts", testManyParts},
	})
}

// part is an outcome that answers about some units and leaves the item pending.
func part(a assay.Attempt, answers ...assay.Answer) store.Outcome {
	return store.Outcome{Attempt: closed(a, assay.ClassNone), State: assay.ItemPending, Answers: answers}
}

// parts are answers to be given in three attempts.
func parts() [3][]assay.Answer {
	all := answers()[5]
	unit := func(name string, a assay.Answer) assay.Answer {
		a.Unit = name
		return a
	}
	return [3][]assay.Answer{
		{unit("t9", answers()[0][0]), unit("t10", all[1])},
		{unit("t1", all[2]), unit("t2m1c0", all[0]), unit("t0", assay.Answer{})},
		{unit("a", all[0]), all[3]},
	}
}

func (w *world) answers(run assay.RunID, seq int64) []assay.Answer {
	w.Helper()
	list, err := w.Items().Answers(w.ctx, run, seq)
	w.ok(err)
	return list
}

func testParts(w *world) {
	heads := w.fill(2)
	f := w.grading(w.newRun(), heads)
	given := parts()
	equal(w, "answers before the first", w.answers(f.Run, 1), []assay.Answer(nil))
	var sofar []assay.Answer
	for n, some := range given[:2] {
		w.commit(f, store.Batch{Open: []assay.Attempt{opened(f, 1, n+1)}})
		b := store.Batch{Done: []store.Outcome{part(opened(f, 1, n+1), some...)}}
		w.commit(f, b)
		sofar = append(sofar, some...)
		equal(w, "answers so far", w.answers(f.Run, 1), sofar)
		stored := w.everything(f.Run).([]any)[1:]
		w.commit(f, b)
		equal(w, "answers after the batch came twice", w.answers(f.Run, 1), sofar)
		equal(w, "everything after the batch came twice", w.everything(f.Run).([]any)[1:], stored)
		other := part(opened(f, 1, n+1), assay.Answer{Unit: "new"})
		w.commit(f, store.Batch{Done: []store.Outcome{other}})
		equal(w, "answers after another outcome of a closed attempt", w.answers(f.Run, 1), sofar)

		item := w.items(f.Run)[0]
		equal(w, "item", []any{item.State, item.Counted, item.Attempts, item.Pass == nil, item.Cut}, []any{assay.ItemPending, 0, n + 1, true, false})
		equal(w, "verdicts", len(w.verdictsOf(f.Run)), 0)
		w.uncounted(f.Run, heads[0])
	}
	equal(w, "the other item's", w.answers(f.Run, 2), []assay.Answer(nil))

	w.commit(f, store.Batch{Open: []assay.Attempt{opened(f, 1, 3), opened(f, 2, 1)}})
	last := store.Outcome{Attempt: closed(opened(f, 1, 3), ""), State: assay.ItemGraded, Pass: ptr(false), Cut: true, Answers: given[2]}
	w.commit(f, store.Batch{Done: []store.Outcome{graded(opened(f, 2, 1), true), last}})
	all := append(sofar, given[2]...)
	var got []assay.Answer
	for _, v := range pages(w, func(p store.Page) ([]assay.Verdict, string, error) {
		return w.Verdicts().List(w.ctx, store.VerdictQuery{Run: f.Run}, p)
	}) {
		if v.Seq == 1 {
			got = append(got, v.Answer)
		}
	}
	equal(w, "verdicts in the order as answered", got, all)
	equal(w, "answers of an item that is graded", w.answers(f.Run, 1), []assay.Answer(nil))
	equal(w, "cut", []bool{w.items(f.Run)[0].Cut, w.items(f.Run)[1].Cut}, []bool{true, false})

	// Counts are of the session's answer: units nest in it.
	list, err := w.Verdicts().TallyFindings(w.ctx, []assay.RunID{f.Run}, 0)
	w.ok(err)
	equal(w, "findings", list, []store.FindingTally{{Criterion: "c", Applies: true, Value: "0", N: 1}, {Criterion: "done", Applies: true, Value: "true", N: 1}})
	w.reuse(f, heads[0], all)
}

// uncounted checks that the only item of a content that was asked about counts nowhere yet.
func (w *world) uncounted(run assay.RunID, h assay.Head) {
	w.Helper()
	list, err := w.Verdicts().TallyFindings(w.ctx, []assay.RunID{run}, 0)
	w.ok(err)
	equal(w, "findings", len(list), 0)
	found, err := w.Plans().Reusable(w.ctx, w.project.ID, "v1", 0, []assay.ContentKey{h.Content}, start)
	w.ok(err)
	equal(w, "reusable", len(found), 0)
	verdicts, _, err := w.Verdicts().List(w.ctx, store.VerdictQuery{Session: h.Key}, store.Page{})
	w.ok(err)
	equal(w, "verdicts of the session", len(verdicts), 0)
}

// reuse lets another run adopt a verdict of a session that was cut, with all its units.
func (w *world) reuse(first store.Fence, h assay.Head, want []assay.Answer) {
	w.Helper()
	found, err := w.Plans().Reusable(w.ctx, w.project.ID, "v1", 0, []assay.ContentKey{h.Content}, start)
	w.ok(err)
	r := found[h.Content]
	equal(w, "reusable", r, store.Reuse{Origin: assay.Origin{Run: first.Run, Seq: 1}, Pass: ptr(false), Cut: true})
	f := w.takeUp(w.create(w.newRun()).ID, 0, false)
	w.ok(w.Plans().PutItems(w.ctx, f, []assay.Item{{Seq: 1, Session: h.Key, Content: h.Content, Origin: &r.Origin, Pass: r.Pass, Cut: r.Cut}}, at(30)))
	w.ok(w.Plans().Finish(w.ctx, f, 1, at(30)))
	var got []assay.Answer
	for _, v := range w.verdictsOf(f.Run) {
		got = append(got, v.Answer)
	}
	equal(w, "reused verdicts", got, want)
	equal(w, "cut is reused", w.items(f.Run)[0].Cut, true)
	for run, reused := range map[assay.RunID]bool{first.Run: false, f.Run: true} {
		list, err := w.Verdicts().Tally(w.ctx, []assay.RunID{run}, 1)
		w.ok(err)
		equal(w, "tally", list, []store.Tally{{State: assay.ItemGraded, Pass: ptr(false), Cut: true, Reused: reused, N: 1}})
	}
}

func testPartsLost(w *world) {
	heads := w.fill(3)
	f := w.grading(w.newRun(), heads)
	w.open(f, 1, 2, 3)
	some := parts()[0]
	w.commit(f, store.Batch{End: []store.EndItem{{Seq: 3, State: assay.ItemCancelled}}})
	w.commit(f, store.Batch{Done: []store.Outcome{part(opened(f, 1, 1), some...), part(opened(f, 2, 1), some...), part(opened(f, 3, 1), some...)}})
	equal(w, "an attempt of an item that had ended", w.attempts(f.Run, 3)[0].Status, assay.AttemptDone)
	w.commit(f, store.Batch{Open: []assay.Attempt{opened(f, 1, 2)}})
	w.commit(f, store.Batch{Done: []store.Outcome{failed(opened(f, 1, 2), assay.ItemErrored, assay.ClassMalformed)}, End: []store.EndItem{{Seq: 2, State: assay.ItemAbandoned}}})
	equal(w, "verdicts", len(w.verdictsOf(f.Run)), 0)
	for seq := int64(1); seq <= 3; seq++ {
		equal(w, "answers", len(w.answers(f.Run, seq)), 0)
		w.uncounted(f.Run, heads[seq-1])
	}
	w.end(f.Run, assay.RunFailed)
	w.healthy()

	// A retry asks about every unit again.
	next := w.takeUp(w.create(w.newRun()).ID, 0, false)
	w.plan(next, heads)
	equal(w, "answers in the retry", len(w.answers(next.Run, 1)), 0)
	w.grade(next, 1)
	equal(w, "verdicts of the retry", len(w.verdictsOf(next.Run)), 1)
}

func (w *world) healthy() {
	w.Helper()
	findings, err := w.Check(w.ctx)
	w.ok(err)
	equal(w, "findings", findings, []string(nil))
}

func testPartsDeath(w *world) {
	f := w.grading(w.newRun(), w.fill(1))
	given := parts()
	w.open(f, 1)
	w.commit(f, store.Batch{Done: []store.Outcome{part(opened(f, 1, 1), given[0]...)}, Open: []assay.Attempt{opened(f, 1, 2)}})
	next := w.takeUp(f.Run, f.Epoch, true)
	_, err := w.Items().Commit(w.ctx, f, store.Batch{Now: at(9), Done: []store.Outcome{part(opened(f, 1, 2), given[1]...)}})
	w.lost(err)
	late := closed(opened(f, 1, 2), "")
	w.ok(w.Items().Late(w.ctx, []assay.Attempt{late}))
	equal(w, "answers after the takeover", w.answers(f.Run, 1), given[0])
	w.commit(next, store.Batch{Open: []assay.Attempt{opened(next, 1, 3)}})
	w.commit(next, store.Batch{Done: []store.Outcome{{Attempt: closed(opened(next, 1, 3), ""), State: assay.ItemGraded, Answers: given[2]}}})
	var got []assay.Answer
	for _, v := range w.verdictsOf(f.Run) {
		got = append(got, v.Answer)
	}
	equal(w, "verdicts", got, append(given[0][:2:2], given[2]...))
	w.healthy()
}

// testManyParts grades two items at once, one unit an attempt, with more units than go into one statement.
func testManyParts(w *world) {
	const units = 40
	f := w.grading(w.newRun(), w.fill(2))
	b := store.Batch{Open: []assay.Attempt{opened(f, 1, 1), opened(f, 2, 1)}}
	for n := 1; n <= units; n++ {
		w.commit(f, b)
		b = store.Batch{}
		for seq := int64(1); seq <= 2; seq++ {
			o := part(opened(f, seq, n), assay.Answer{Unit: fmt.Sprint("t", units-n), Findings: []assay.Finding{{Criterion: "a", Value: fmt.Append(nil, n)}, {Criterion: "b"}}})
			if n == units {
				o.State, o.Answers = assay.ItemGraded, append(o.Answers, assay.Answer{Findings: []assay.Finding{{Criterion: "a"}}})
			} else {
				b.Open = append(b.Open, opened(f, seq, n+1))
			}
			b.Done = append(b.Done, o)
		}
	}
	w.commit(f, b)
	var got, want []string
	for _, v := range pages(w, func(p store.Page) ([]assay.Verdict, string, error) {
		return w.Verdicts().List(w.ctx, store.VerdictQuery{Run: f.Run}, p)
	}) {
		got = append(got, fmt.Sprintf("%d %s %s %d", v.Seq, v.Unit, v.Findings[0].Value, len(v.Findings)))
	}
	for seq := 1; seq <= 2; seq++ {
		for n := 1; n <= units; n++ {
			want = append(want, fmt.Sprintf("%d t%d %d 2", seq, units-n, n))
		}
		want = append(want, fmt.Sprintf("%d   1", seq))
	}
	equal(w, "verdicts", got, want)
}
