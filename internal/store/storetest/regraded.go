package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testRegraded(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"tallies of repeats", testRepeats},
		{"what repeats answered, over a chain", testRegradedChain},
		{"regraded of nothing, and of one that ends early", testRegradedEnds},
	})
}

// regraded tells each content in a line, in the order of contents and judges.
func (w *world) regraded(through int64, chain ...assay.RunID) (lines []string) {
	w.Helper()
	w.ok(w.Verdicts().Regraded(w.ctx, chain, through, func(r *store.Regraded) error {
		var b strings.Builder
		fmt.Fprintf(&b, "c%d s%d j%d:", r.Content, r.Stratum, r.Judge)
		for _, one := range r.Repeats {
			pass := "-"
			if one.Pass != nil {
				pass = fmt.Sprint(*one.Pass)
			}
			fmt.Fprintf(&b, " %d %s", one.No, pass)
			for _, f := range one.Findings {
				fmt.Fprintf(&b, " [%s %t %t %s]", f.Criterion, f.Applies, f.Abstained, f.Value)
			}
		}
		lines = append(lines, b.String())
		return nil
	}))
	return lines
}

// repeats makes a run of two judges and three repeats over some contents. Items of one content do not
// stand together: no store may count on it.
func (w *world) repeats(heads []assay.Head) (f store.Fence, seq func(head, judge, repeat int) int64) {
	w.Helper()
	n := w.newRun()
	n.Spec.Repeats, n.Spec.Force = 3, true
	n.Spec.Judges = append(n.Spec.Judges, assay.RunJudge{Name: "k", Version: "v2"})
	f = w.takeUp(w.create(n).ID, 0, false)
	w.ok(w.Plans().PutStrata(w.ctx, f, []assay.PlannedStratum{{Eligible: 9, Sampled: 2}, {Index: 1, Eligible: 1, Sampled: 1}}, int64(len(heads)), assay.Excluded{}))
	var items []assay.Item
	at3 := map[[3]int]int64{}
	for repeat := range 3 {
		for judge := range 2 {
			for h := range heads {
				key := [3]int{h, judge, repeat}
				at3[key] = int64(len(items) + 1)
				items = append(items, assay.Item{Seq: at3[key], Session: heads[h].Key, Content: heads[h].Content, Judge: judge, Repeat: repeat, Stratum: h / 2})
			}
		}
	}
	w.ok(w.Plans().PutItems(w.ctx, f, items, at(3)))
	w.ok(w.Plans().Finish(w.ctx, f, int64(len(items)), at(3)))
	return f, func(head, judge, repeat int) int64 { return at3[[3]int{head, judge, repeat}] }
}

func testRepeats(w *world) {
	heads := w.fill(3)
	f, seq := w.repeats(heads)
	w.grade(f, seq(0, 0, 0), seq(0, 0, 1), seq(1, 0, 0), seq(2, 1, 2))
	w.commit(f, store.Batch{End: []store.EndItem{{Seq: seq(0, 0, 2), State: assay.ItemCancelled}}})
	list, err := w.Verdicts().Tally(w.ctx, []assay.RunID{f.Run}, 0)
	w.ok(err)
	var got []string
	for _, t := range list {
		if t.State != assay.ItemPending {
			got = append(got, fmt.Sprint(t.Stratum, t.Judge, t.Repeat, " ", t.State, " ", t.N))
		}
	}
	equal(w, "tally", got, []string{"0 0 0 graded 2", "0 0 1 graded 1", "0 0 2 cancelled 1", "1 1 2 graded 1"})
	findings, err := w.Verdicts().TallyFindings(w.ctx, []assay.RunID{f.Run}, 0)
	w.ok(err)
	equal(w, "findings are those of the first repeat", findings, []store.FindingTally{{Criterion: "done", Applies: true, Value: "true", N: 2}})
}

func testRegradedChain(w *world) {
	heads := w.fill(3)
	unrelated, other := w.repeats(heads)
	w.grade(unrelated, other(0, 0, 0), other(0, 0, 1))
	w.end(unrelated.Run, assay.RunCompleted)

	f, seq := w.repeats(heads)
	all := []int64{seq(0, 0, 0), seq(0, 0, 1), seq(0, 0, 2), seq(0, 1, 2), seq(2, 0, 0), seq(2, 0, 2)}
	w.open(f, all...)
	abstains := graded(opened(f, seq(0, 0, 2), 1), true)
	abstains.Pass, abstains.Answers[0].Pass = nil, nil
	abstains.Answers[0].Findings = []assay.Finding{{Criterion: "z", Applies: true, Abstained: true}, {Criterion: "done"}}
	silent := graded(opened(f, seq(0, 1, 2), 1), false)
	silent.Answers[0].Findings = nil
	w.commit(f, store.Batch{Done: []store.Outcome{
		graded(opened(f, seq(0, 0, 0), 1), true), graded(opened(f, seq(0, 0, 1), 1), false), abstains, silent,
		failed(opened(f, seq(2, 0, 0), 1), assay.ItemErrored, assay.ClassTimeout), graded(opened(f, seq(2, 0, 2), 1), true),
	}})
	line := func(h, stratum, judge int, rest string) string {
		return fmt.Sprintf("c%d s%d j%d: %s", heads[h].Content, stratum, judge, rest)
	}
	yes, no := "[done true false true]", "[done true false false]"
	first := []string{
		line(0, 0, 0, "0 true "+yes+" 1 false "+no+" 2 - [z true true ] [done false false ]"),
		line(0, 0, 1, "2 false"),
		line(2, 1, 0, "2 true "+yes),
	}
	equal(w, "regraded", w.regraded(0, f.Run), first)
	equal(w, "regraded through the second repeat", w.regraded(seq(2, 1, 1), f.Run), []string{line(0, 0, 0, "0 true "+yes+" 1 false "+no)})
	w.end(f.Run, assay.RunCompleted)

	// A retry grades what errored, and adopts what another run has stored.
	n := w.newRun()
	n.RetryOf, n.Spec.Repeats, n.Spec.Force = f.Run, 3, true
	n.Spec.Judges = append(n.Spec.Judges, assay.RunJudge{Name: "k", Version: "v2"})
	retry := w.takeUp(w.create(n).ID, 0, false)
	w.ok(w.Plans().PutItems(w.ctx, retry, []assay.Item{
		{Seq: 1, Session: heads[2].Key, Content: heads[2].Content, Stratum: 1},
		{Seq: 2, Session: heads[0].Key, Content: heads[0].Content, Judge: 1, Repeat: 1, Origin: &assay.Origin{Run: unrelated.Run, Seq: other(0, 0, 1)}, Pass: ptr(true)},
	}, at(30)))
	w.ok(w.Plans().Finish(w.ctx, retry, 2, at(30)))
	w.open(retry, 1)
	w.commit(retry, store.Batch{Done: []store.Outcome{graded(opened(retry, 1, 1), false)}})
	equal(w, "regraded over the chain", w.regraded(0, retry.Run, f.Run), []string{
		first[0], line(0, 0, 1, "1 true "+yes+" 2 false"), line(2, 1, 0, "0 false "+no+" 2 true "+yes),
	})
	tally := func() map[string]int64 {
		list, err := w.Verdicts().Tally(w.ctx, []assay.RunID{retry.Run, f.Run}, 0)
		w.ok(err)
		got := map[string]int64{}
		for _, t := range list {
			if t.Stratum == 1 && t.Judge == 0 {
				got[fmt.Sprint(t.Repeat, " ", t.State)] += t.N
			}
		}
		return got
	}
	equal(w, "tally of the retried repeat", tally(), map[string]int64{"0 graded": 1, "1 pending": 1, "2 graded": 1})
}

func testRegradedEnds(w *world) {
	f, seq := w.repeats(w.fill(3))
	equal(w, "of no chain", w.regraded(0), []string(nil))
	equal(w, "of nothing graded", w.regraded(0, f.Run), []string(nil))
	w.grade(f, seq(0, 0, 0), seq(1, 0, 0), seq(1, 0, 1))
	enough, n := errors.New("enough"), 0
	equal(w, "error of the callback", w.Verdicts().Regraded(w.ctx, []assay.RunID{f.Run}, 0, func(*store.Regraded) error { n++; return enough }), enough)
	equal(w, "calls", n, 1)
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	if err := w.Verdicts().Regraded(ctx, []assay.RunID{f.Run}, 0, func(*store.Regraded) error { return nil }); err == nil {
		w.Error("a query that nobody waits for went on")
	}
}
