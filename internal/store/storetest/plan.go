package storetest

import (
	"fmt"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testPlans(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"strata, items and finish", testPlan},
		{"planned items come back as they were", testPlannedItems},
		{"nothing is planned twice", func(w *world) {
			heads := w.fill(2)
			f := w.grading(w.newRun(), heads)
			for _, item := range []assay.Item{
				{Seq: 1, Session: heads[0].Key, Content: heads[0].Content, Repeat: 1}, // a sequence number that is taken
				{Seq: 3, Session: heads[0].Key, Content: heads[0].Content},            // a content that has its item
			} {
				if err := w.Plans().PutItems(w.ctx, f, []assay.Item{item}, at(3)); err == nil {
					w.Errorf("item %+v was planned twice", item)
				}
			}
			repeat := assay.Item{Seq: 3, Session: heads[0].Key, Content: heads[0].Content, Repeat: 1}
			w.ok(w.Plans().PutItems(w.ctx, f, []assay.Item{repeat}, at(3)))
			equal(w, "items", len(w.items(f.Run)), 3)
		}},
		{"a judge that the run does not have", func(w *world) {
			heads := w.fill(1)
			f := w.takeUp(w.create(w.newRun()).ID, 0, false)
			if err := w.Plans().PutItems(w.ctx, f, []assay.Item{{Seq: 1, Session: heads[0].Key, Content: heads[0].Content, Judge: 1}}, at(3)); err == nil {
				w.Error("an item of an unknown judge was planned")
			}
		}},
		{"reset", testReset},
		{"reusable", testReusable},
		{"reusable of many contents", func(w *world) {
			heads := w.fill(1000)
			f := w.grading(w.newRun(), heads)
			var seqs []int64
			var keys []assay.ContentKey
			for i, h := range heads {
				seqs, keys = append(seqs, int64(i+1)), append(keys, h.Content)
			}
			w.grade(f, seqs...)
			found, err := w.Plans().Reusable(w.ctx, w.project.ID, "v1", 0, keys, start)
			w.ok(err)
			equal(w, "found", len(found), 1000)
			found, err = w.Plans().Reusable(w.ctx, w.project.ID, "v1", 0, nil, start)
			w.ok(err)
			equal(w, "found among none", len(found), 0)
		}},
	})
}

func testPlan(w *world) {
	heads := w.fill(3)
	f := w.takeUp(w.create(w.newRun()).ID, 0, false)
	strata := []assay.PlannedStratum{
		{Index: 0, Stratum: assay.Stratum{Day: "2026-03-01", Arm: "a 'quoted' arm"}, Eligible: 1 << 40, Sampled: 2},
		{Index: 1, Stratum: assay.Stratum{Day: assay.Undated, Arm: assay.Untagged}, Eligible: 1, Sampled: 1},
	}
	left := assay.Excluded{Unsettled: 4, Undated: 5, Empty: 6, Late: 7}
	w.ok(w.Plans().PutStrata(w.ctx, f, strata, 3, left))
	got, err := w.Plans().Strata(w.ctx, f.Run)
	w.ok(err)
	equal(w, "strata", got, strata)
	run := w.get(f.Run)
	equal(w, "run", []any{run.Sampled, run.Left, run.Planned}, []any{int64(3), left, int64(0)})

	var items []assay.Item
	for i, h := range heads {
		items = append(items, assay.Item{Seq: int64(i + 1), Session: h.Key, Content: h.Content, Stratum: i / 2})
	}
	w.ok(w.Plans().PutItems(w.ctx, f, items[:2], at(3)))
	w.code(noHint(w.Plans().Finish(w.ctx, f, 3, at(3))), assay.CodeRefused)
	equal(w, "phase", w.get(f.Run).Phase, assay.PhasePlanning)
	w.ok(w.Plans().PutItems(w.ctx, f, items[2:], at(3)))
	w.code(noHint(w.Plans().Finish(w.ctx, f, 2, at(3))), assay.CodeRefused)
	w.change(f.Run, store.Change{From: active, To: assay.RunRunning, Phase: assay.PhasePlanning, Sentence: "planning"})
	w.ok(w.Plans().Finish(w.ctx, f, 3, at(3)))
	run = w.get(f.Run)
	equal(w, "run", []any{run.Phase, run.Planned, run.State}, []any{assay.PhaseGrading, int64(3), assay.RunRunning})
	equal(w, "the sentence of the planning", run.Sentence, "")

	empty := w.takeUp(w.create(w.newRun()).ID, 0, false)
	w.ok(w.Plans().PutStrata(w.ctx, empty, nil, 0, left))
	w.ok(w.Plans().PutItems(w.ctx, empty, nil, at(3)))
	w.ok(w.Plans().Finish(w.ctx, empty, 0, at(3)))
	equal(w, "counts of nothing", w.counts(empty.Run), assay.Counts{})
}

// noHint lets an error without a hint pass as one: the engine tells people what to do.
func noHint(err error) error {
	if e, ok := err.(*assay.Error); ok && e.Hint == "" {
		e.Hint = "none"
	}
	return err
}

func testPlannedItems(w *world) {
	heads := w.fill(2)
	n := w.newRun()
	n.Spec.Judges = []assay.RunJudge{{Name: "a", Version: "v1"}, {Name: "b", Version: "v2"}}
	n.Spec.Repeats = 2
	earlier := w.grading(w.newRun(), heads)
	w.grade(earlier, 1)
	f := w.takeUp(w.create(n).ID, 0, false)
	origin := &assay.Origin{Run: earlier.Run, Seq: 1}
	items := []assay.Item{
		{Run: f.Run, Seq: 1, Session: heads[0].Key, Content: heads[0].Content, Stratum: 3, State: assay.ItemGraded, Origin: origin, Pass: ptr(true)},
		{Run: f.Run, Seq: 2, Session: heads[0].Key, Content: heads[0].Content, Stratum: 3, Judge: 1, State: assay.ItemPending},
		{Run: f.Run, Seq: 3, Session: heads[1].Key, Content: heads[1].Content, Repeat: 1, State: assay.ItemPending},
		{Run: f.Run, Seq: 1 << 33, Session: heads[1].Key, Content: heads[1].Content, State: assay.ItemGraded, Origin: origin},
	}
	w.ok(w.Plans().PutItems(w.ctx, f, items, at(3)))
	pending, err := w.Items().Pending(w.ctx, f.Run, 0, 10)
	w.ok(err)
	equal(w, "pending", pending, items[1:3])
	pending, err = w.Items().Pending(w.ctx, f.Run, 2, 10)
	w.ok(err)
	equal(w, "pending after 2", pending, items[2:3])
	pending, err = w.Items().Pending(w.ctx, f.Run, 0, 1)
	w.ok(err)
	equal(w, "one pending", pending, items[1:2])
	for i := range items {
		items[i].UserID, items[i].SessionID = "u", fmt.Sprintf("s%04d", i/2)
		if items[i].Origin != nil {
			items[i].EndedAt = ptr(at(3))
		}
	}
	equal(w, "listed", w.items(f.Run), items)
	equal(w, "counts", w.counts(f.Run), assay.Counts{Total: 4, Pending: 2, Graded: 2, Passed: 1, Reused: 2})
}

func testReset(w *world) {
	heads := w.fill(3)
	f := w.takeUp(w.create(w.newRun()).ID, 0, false)
	put := func(f store.Fence) {
		var items []assay.Item
		for i, h := range heads {
			items = append(items, assay.Item{Seq: int64(i + 1), Session: h.Key, Content: h.Content})
		}
		w.ok(w.Plans().PutStrata(w.ctx, f, []assay.PlannedStratum{{Stratum: assay.Stratum{Day: "d", Arm: "a"}, Eligible: 3, Sampled: 3}}, 3, assay.Excluded{Unsettled: 1, Undated: 1, Empty: 1, Late: 1}))
		w.ok(w.Plans().PutItems(w.ctx, f, items, at(3)))
	}
	put(f)
	other := w.grading(w.newRun(), heads)
	f = w.takeUp(f.Run, 1, true)
	w.ok(w.Plans().Reset(w.ctx, f))
	strata, err := w.Plans().Strata(w.ctx, f.Run)
	w.ok(err)
	run := w.get(f.Run)
	equal(w, "after a reset", []any{len(strata), len(w.items(f.Run)), run.Sampled, run.Left}, []any{0, 0, int64(0), assay.Excluded{}})
	equal(w, "the other run's items", len(w.items(other.Run)), 3)
	put(f)
	w.ok(w.Plans().Finish(w.ctx, f, 3, at(3)))
	w.ok(w.Plans().Reset(w.ctx, w.takeUp(w.create(w.newRun()).ID, 0, false)))
}

func testReusable(w *world) {
	heads := w.fill(5)
	keys := []assay.ContentKey{heads[0].Content, heads[1].Content, heads[2].Content, heads[3].Content, 1 << 40}
	look := func(version assay.Hash, repeat int, since int) map[assay.ContentKey]store.Reuse {
		w.Helper()
		found, err := w.Plans().Reusable(w.ctx, w.project.ID, version, repeat, keys, at(since))
		w.ok(err)
		return found
	}
	equal(w, "found before anything ran", len(look("v1", 0, 0)), 0)

	first := w.grading(w.newRun(), heads)
	w.open(first, 1, 2, 3, 4, 5)
	w.commit(first, store.Batch{Now: at(10), Done: []store.Outcome{
		graded(opened(first, 1, 1), true),
		{Attempt: closed(opened(first, 2, 1), ""), State: assay.ItemGraded, Answers: []assay.Answer{{}}},
		failed(opened(first, 3, 1), assay.ItemErrored, assay.ClassTimeout),
		graded(opened(first, 5, 1), true), // not asked for
	}})
	of := func(f store.Fence, seq int64, pass *bool) store.Reuse {
		return store.Reuse{Origin: assay.Origin{Run: f.Run, Seq: seq}, Pass: pass}
	}
	want := map[assay.ContentKey]store.Reuse{keys[0]: of(first, 1, ptr(true)), keys[1]: of(first, 2, nil)}
	equal(w, "graded, also of a run that goes on", look("v1", 0, 0), want)
	equal(w, "graded at the time given", look("v1", 0, 10), want)
	equal(w, "graded after it", len(look("v1", 0, 11)), 0)
	equal(w, "of another version", len(look("v2", 0, 0)), 0)
	equal(w, "of another repeat", len(look("v1", 1, 0)), 0)
	other, err := w.Plans().Reusable(w.ctx, newWorld(w.T, w.Store).project.ID, "v1", 0, keys, start)
	w.ok(err)
	equal(w, "of another project", len(other), 0)

	second := w.takeUp(w.create(w.newRun()).ID, 0, false)
	w.ok(w.Plans().PutItems(w.ctx, second, []assay.Item{
		{Seq: 1, Session: heads[0].Key, Content: heads[0].Content, Origin: &assay.Origin{Run: first.Run, Seq: 1}, Pass: ptr(true)},
		{Seq: 2, Session: heads[1].Key, Content: heads[1].Content},
	}, at(20)))
	w.ok(w.Plans().Finish(w.ctx, second, 2, at(20)))
	equal(w, "an item that reused a verdict is no origin", look("v1", 0, 0), want)
	w.open(second, 2)
	w.commit(second, store.Batch{Now: at(30), Done: []store.Outcome{graded(opened(second, 2, 1), false)}})
	want[keys[1]] = of(second, 2, ptr(false))
	equal(w, "the newest", look("v1", 0, 0), want)
}
