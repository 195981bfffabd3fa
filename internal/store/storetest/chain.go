package storetest

import (
	"errors"
	"fmt"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testChains(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"retryable and tallies over a chain", testChain},
		{"an error of the callback ends retryable", func(w *world) {
			f := w.grading(w.newRun(), w.fill(3))
			w.commit(f, store.Batch{End: []store.EndItem{{Seq: 1, State: assay.ItemErrored}, {Seq: 2, State: assay.ItemErrored}}})
			sentinel, n := errors.New("enough"), 0
			equal(w, "error", w.Plans().Retryable(w.ctx, f.Run, func(assay.Item) error { n++; return sentinel }), sentinel)
			equal(w, "calls", n, 1)
			w.code(w.Plans().Retryable(w.ctx, 1<<40, func(assay.Item) error { return nil }), assay.CodeNotFound)
		}},
	})
}

func (w *world) retryable(run assay.RunID) (list []string) {
	w.Helper()
	w.ok(w.Plans().Retryable(w.ctx, run, func(item assay.Item) error {
		list = append(list, fmt.Sprint(int64(item.Content), " ", item.Judge, " ", item.Repeat, " ", item.State))
		if item.Session == 0 || item.Run == 0 || item.Seq == 0 {
			w.Errorf("item %+v is not whole", item)
		}
		return nil
	}))
	return list
}

// retry makes a run over some contents of the runs before, and ends its items with the outcomes.
func (w *world) retry(of assay.RunID, heads []assay.Head, end func(store.Fence)) assay.RunID {
	w.Helper()
	n := w.newRun()
	n.RetryOf = of
	f := w.grading(n, heads)
	end(f)
	w.end(f.Run, assay.RunCompleted)
	return f.Run
}

func testChain(w *world) {
	heads := w.fill(7)
	unrelated := w.grading(w.newRun(), heads)
	w.grade(unrelated, 1, 2, 3, 4, 5, 6, 7)

	first := w.retry(0, heads, func(f store.Fence) {
		w.open(f, 1, 2, 3, 4)
		w.commit(f, store.Batch{Done: []store.Outcome{
			graded(opened(f, 1, 1), true), failed(opened(f, 2, 1), assay.ItemErrored, assay.ClassTimeout), failed(opened(f, 3, 1), assay.ItemErrored, assay.ClassRefused),
			failed(opened(f, 4, 1), assay.ItemUngradable, assay.ClassContextTooLong),
		}, End: []store.EndItem{{Seq: 5, State: assay.ItemCancelled}, {Seq: 6, State: assay.ItemAbandoned}}})
	})
	row := func(i int, state assay.ItemState) string { return fmt.Sprint(int64(heads[i].Content), " 0 0 ", state) }
	equal(w, "retryable at first", w.retryable(first), []string{row(1, assay.ItemErrored), row(2, assay.ItemErrored), row(4, assay.ItemCancelled), row(5, assay.ItemAbandoned)})

	second := w.retry(first, []assay.Head{heads[1], heads[2], heads[4]}, func(f store.Fence) {
		w.open(f, 1, 2)
		w.commit(f, store.Batch{Done: []store.Outcome{graded(opened(f, 1, 1), false), failed(opened(f, 2, 1), assay.ItemErrored, assay.ClassNetwork)}, End: []store.EndItem{{Seq: 3, State: assay.ItemAbandoned}}})
	})
	equal(w, "retryable over the chain", w.retryable(second), []string{row(2, assay.ItemErrored), row(4, assay.ItemAbandoned), row(5, assay.ItemAbandoned)})
	equal(w, "retryable of the first run alone stays", len(w.retryable(first)), 4)

	third := w.retry(second, []assay.Head{heads[2]}, func(f store.Fence) { w.grade(f, 1) })
	equal(w, "retryable over three runs", w.retryable(third), []string{row(4, assay.ItemAbandoned), row(5, assay.ItemAbandoned)})

	tally := func(chain ...assay.RunID) map[string]int64 {
		list, err := w.Verdicts().Tally(w.ctx, chain, 0)
		w.ok(err)
		got := map[string]int64{}
		for _, t := range list {
			pass := ""
			if t.Pass != nil {
				pass = fmt.Sprint(*t.Pass)
			}
			got[fmt.Sprint(t.State, " ", t.Class, " ", pass)] += t.N
		}
		return got
	}
	equal(w, "tally over two runs", tally(second, first), map[string]int64{
		"graded  true": 1, "graded  false": 1, "errored network ": 1, "ungradable context_too_long ": 1, "abandoned  ": 2, "pending  ": 1,
	})
	equal(w, "tally over three runs", tally(third, second, first), map[string]int64{
		"graded  true": 2, "graded  false": 1, "ungradable context_too_long ": 1, "abandoned  ": 2, "pending  ": 1,
	})
	list, err := w.Verdicts().TallyFindings(w.ctx, []assay.RunID{third, second, first}, 0)
	w.ok(err)
	equal(w, "findings over three runs", list, []store.FindingTally{
		{Criterion: "done", Applies: true, Value: "false", N: 1}, {Criterion: "done", Applies: true, Value: "true", N: 2},
	})
}
