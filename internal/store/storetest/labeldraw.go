package storetest

import (
	"fmt"

	"assay/internal/assay"
	"assay/internal/store"
)

// member is a session's present content in a draw.
func member(h assay.Head, probability float64) assay.DrawMember {
	return assay.DrawMember{Content: h.Content, UserID: h.UserID, SessionID: h.SessionID, ContentHash: h.ContentHash, Current: true,
		Stratum: assay.Stratum{Day: h.Day, Arm: h.Arm}, Probability: probability}
}

func (w *world) drawOf(run assay.RunID, method assay.DrawMethod, members ...assay.DrawMember) assay.Draw {
	w.Helper()
	d, err := w.Labels().CreateDraw(w.ctx, w.project.ID, assay.Draw{
		Run: run, Judge: "j", Version: "v1", Criterion: "pass", Method: method, Seed: "seed", Frame: 1 << 33, By: "tester",
	}, members, at(3))
	w.ok(err)
	return d
}

func (w *world) members(draw int64, open bool, rater string) (nos []int) {
	w.Helper()
	for _, m := range pages(w, func(p store.Page) ([]assay.DrawMember, string, error) {
		return w.Labels().Members(w.ctx, w.project.ID, draw, open, rater, p)
	}) {
		nos = append(nos, m.No)
	}
	return nos
}

func testDraws(w *world) {
	heads := w.fill(3)
	run := w.create(w.newRun()).ID
	members := []assay.DrawMember{member(heads[2], 0.1), member(heads[0], 1), member(heads[1], 0.25)}
	first := w.drawOf(run, assay.DrawRandom, members...)
	equal(w, "draw", first, assay.Draw{
		ID: first.ID, Run: run, Judge: "j", Version: "v1", Criterion: "pass", Method: assay.DrawRandom, Seed: "seed", Frame: 1 << 33, Members: 3, By: "tester", CreatedAt: at(3),
	})
	second, third := w.drawOf(run, assay.DrawQueue, member(heads[0], 0)), w.drawOf(run, assay.DrawVerdicts)
	equal(w, "draws, newest first", pages(w, func(p store.Page) ([]assay.Draw, string, error) {
		return w.Labels().Draws(w.ctx, w.project.ID, p)
	}), []assay.Draw{third, second, first})
	_, err := w.Labels().Draw(w.ctx, w.project.ID, third.ID+1<<40)
	w.code(err, assay.CodeNotFound)

	for i := range members {
		members[i].No = i + 1
	}
	got := pages(w, func(p store.Page) ([]assay.DrawMember, string, error) {
		return w.Labels().Members(w.ctx, w.project.ID, first.ID, false, "", p)
	})
	equal(w, "members in the order as drawn", got, members)
	var drawn []string
	w.ok(w.Labels().Drawn(w.ctx, first.ID, func(content assay.ContentKey, stratum assay.Stratum, probability float64) error {
		drawn = append(drawn, fmt.Sprint(int64(content), stratum, probability))
		return nil
	}))
	var want []string
	for _, m := range []assay.DrawMember{members[1], members[2], members[0]} {
		want = append(want, fmt.Sprint(int64(m.Content), m.Stratum, m.Probability))
	}
	equal(w, "drawn, in order of content", drawn, want)

	w.put(session("u", "s0002", "changed"))
	got = pages(w, func(p store.Page) ([]assay.DrawMember, string, error) {
		return w.Labels().Members(w.ctx, w.project.ID, first.ID, false, "", p)
	})
	members[0].Current = false
	equal(w, "members after one changed", got, members)
}

func testOpenMembers(w *world) {
	heads := w.fill(4)
	d := w.drawOf(w.create(w.newRun()).ID, assay.DrawRandom, member(heads[3], 1), member(heads[2], 1), member(heads[1], 1), member(heads[0], 1)).ID
	put := func(i int, rater, criterion string) {
		l := answer("true")
		l.SessionID, l.Rater, l.Criterion = heads[i].SessionID, rater, criterion
		w.label(l)
	}
	put(3, "ann", "pass")
	put(3, "bob", "pass")
	put(1, "bob", "pass")
	put(2, "ann", "another")
	equal(w, "all", w.members(d, false, ""), []int{1, 2, 3, 4})
	equal(w, "without a label", w.members(d, true, ""), []int{2, 4})
	equal(w, "without one of ann's", w.members(d, true, "ann"), []int{2, 3, 4})
	equal(w, "without one of carol's", w.members(d, true, "carol"), []int{1, 2, 3, 4})
	draw, err := w.Labels().Draw(w.ctx, w.project.ID, d)
	w.ok(err)
	equal(w, "labelled", draw.Labelled, int64(2))
	list, _, err := w.Labels().Members(w.ctx, w.project.ID, d, false, "", store.Page{})
	w.ok(err)
	equal(w, "labels of each", []int64{list[0].Labels, list[1].Labels, list[2].Labels, list[3].Labels}, []int64{2, 0, 1, 0})
}

func testDrawnLabels(w *world) {
	w.put(session("u", "s", "h"), session("u", "t", "h"))
	run := w.create(w.newRun()).ID
	random, queue := w.drawOf(run, assay.DrawRandom, member(w.head("u", "s"), 0.1)).ID, w.drawOf(run, assay.DrawQueue, member(w.head("u", "s"), 0)).ID
	with := func(draw int64, use assay.LabelUse, rater string) assay.Label {
		l := answer("true")
		l.Draw, l.Use, l.Rater, l.Probability = draw, use, rater, 0.75
		return l
	}
	outside := with(random, assay.UseMeasure, "ann")
	outside.SessionID = "t"
	none := with(1<<40, assay.UseMeasure, "ann")
	equal(w, "results", w.label(with(random, assay.UseMeasure, "a"), outside, none, with(queue, assay.UseMeasure, "b"), with(queue, assay.UsePrompt, "c"), with(random, assay.UsePrompt, "d")),
		[]store.LabelResult{store.LabelNew, store.LabelNotDrawn, store.LabelNotDrawn, store.LabelNew, store.LabelNew, store.LabelNew})
	var got []choice
	for _, l := range w.labels() {
		got = append(got, choiceOf(l))
	}
	equal(w, "how each was chosen", got, []choice{
		{assay.UseMeasure, random, 0.1}, {assay.UseQueue, queue, 0}, {assay.UsePrompt, queue, 0}, {assay.UsePrompt, random, 0.1},
	})
	list, _, err := w.Labels().List(w.ctx, w.project.ID, store.LabelQuery{Draw: queue}, store.Page{})
	w.ok(err)
	equal(w, "labels of a draw", len(list), 2)

	w.put(session("u", "s", "another"))
	late := with(random, assay.UseMeasure, "e")
	equal(w, "a label on what the session became since", w.label(late), []store.LabelResult{store.LabelNotDrawn})
	late.ContentHash = "h"
	equal(w, "a label on what was drawn", w.label(late), []store.LabelResult{store.LabelNew})
}

func (w *world) newestDraw() int64 {
	w.Helper()
	list, _, err := w.Labels().Draws(w.ctx, w.project.ID, store.Page{Limit: 1})
	w.ok(err)
	return list[0].ID
}

// drawn counts a draw's members.
func (w *world) drawn(draw int64) (n int) {
	w.Helper()
	w.ok(w.Labels().Drawn(w.ctx, draw, func(assay.ContentKey, assay.Stratum, float64) error { n++; return nil }))
	return n
}
