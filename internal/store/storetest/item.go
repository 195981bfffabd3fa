package storetest

import (
	"errors"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

func testItems(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"attempts open and close", testAttempts},
		{"outcomes", testOutcomes},
		{"an item that waits", testRetryLater},
		{"an item that ended keeps its state", testEndedStays},
		{"one batch closes, ends and opens", testBatch},
		{"a batch that comes twice changes nothing the second time", testRepeated},
		{"a commit is a heartbeat, an ended item is progress", testProgress},
		{"end rest", testEndRest},
		{"lists", testItemList},
		{"counts of no run", func(w *world) {
			equal(w, "counts", w.counts(1<<40), assay.Counts{})
			spend, err := w.Items().Spend(w.ctx, 1<<40)
			w.ok(err)
			equal(w, "spend", spend, assay.Spend{})
		}},
	})
}

func testAttempts(w *world) {
	f := w.grading(w.newRun(), w.fill(2))
	a := opened(f, 1, 1)
	a.Alone = true
	w.commit(f, store.Batch{Open: []assay.Attempt{a, opened(f, 2, 1)}})
	equal(w, "open", w.attempts(f.Run, 1), []assay.Attempt{a})
	pending, err := w.Items().Pending(w.ctx, f.Run, 0, 10)
	w.ok(err)
	equal(w, "attempts of a pending item", pending[0].Attempts, 1)
	equal(w, "counts", w.counts(f.Run), assay.Counts{Total: 2, Pending: 2, InFlight: 2})

	done := closed(a, assay.ClassProviderError)
	done.RetryAfter, done.HTTPStatus, done.Error, done.Cost, done.EndedAt = 1500*time.Millisecond, 503, "bad gateway", nil, ptr(at(6).Add(time.Microsecond))
	w.commit(f, store.Batch{Done: []store.Outcome{{Attempt: done, State: assay.ItemPending, Error: "bad gateway", Counted: true}}})
	equal(w, "closed", w.attempts(f.Run, 1), []assay.Attempt{done})
	second := opened(f, 1, 2)
	w.commit(f, store.Batch{Open: []assay.Attempt{second}})
	equal(w, "two", w.attempts(f.Run, 1), []assay.Attempt{done, second})
	equal(w, "none", len(w.attempts(f.Run, 99)), 0)
	equal(w, "the other's", w.attempts(f.Run, 2), []assay.Attempt{opened(f, 2, 1)})
}

func testOutcomes(w *world) {
	heads := w.fill(6)
	f := w.grading(w.newRun(), heads)
	w.open(f, 1, 2, 3, 4)
	cut := failed(opened(f, 4, 1), assay.ItemUngradable, assay.ClassContextTooLong)
	cut.Cut = true // what is not graded was not cut
	control := w.commit(f, store.Batch{Now: at(50), Done: []store.Outcome{
		graded(opened(f, 1, 1), true),
		{Attempt: closed(opened(f, 2, 1), ""), State: assay.ItemGraded, Counted: true, Cut: true, Answers: []assay.Answer{{Findings: []assay.Finding{{Criterion: "c"}}}}},
		failed(opened(f, 3, 1), assay.ItemErrored, assay.ClassTimeout),
		cut,
	}, End: []store.EndItem{
		{Seq: 5, State: assay.ItemCancelled},
		{Seq: 6, State: assay.ItemErrored, Class: assay.ClassJudgeError, Error: "quarantined"},
	}})
	equal(w, "control", control, assay.RunControl{Concurrency: 4, Revision: w.get(f.Run).Revision})
	item := func(seq int64, state assay.ItemState, class assay.Class, text string) assay.Item {
		h := heads[seq-1]
		return assay.Item{Run: f.Run, Seq: seq, Session: h.Key, Content: h.Content, UserID: h.UserID, SessionID: h.SessionID, State: state, Class: class, Error: text,
			Attempts: 1, Counted: 1, EndedAt: ptr(at(50))}
	}
	want := []assay.Item{
		item(1, assay.ItemGraded, "", ""), item(2, assay.ItemGraded, "", ""), item(3, assay.ItemErrored, assay.ClassTimeout, "it broke"),
		item(4, assay.ItemUngradable, assay.ClassContextTooLong, "it broke"), item(5, assay.ItemCancelled, "", ""), item(6, assay.ItemErrored, assay.ClassJudgeError, "quarantined"),
	}
	want[0].Pass, want[0].Origin, want[1].Origin = ptr(true), &assay.Origin{Run: f.Run, Seq: 1}, &assay.Origin{Run: f.Run, Seq: 2}
	want[4].Attempts, want[4].Counted, want[5].Attempts, want[5].Counted = 0, 0, 0, 0
	want[1].Cut = true
	equal(w, "items", w.items(f.Run), want)
	equal(w, "counts", w.counts(f.Run), assay.Counts{Total: 6, Graded: 2, Passed: 1, Errored: 2, Ungradable: 1, Cancelled: 1,
		ByClass: map[assay.Class]int64{assay.ClassTimeout: 1, assay.ClassContextTooLong: 1, assay.ClassJudgeError: 1}})
	equal(w, "verdicts, of graded items only", len(w.verdictsOf(f.Run)), 2)
}

func testRetryLater(w *world) {
	f := w.grading(w.newRun(), w.fill(1))
	w.open(f, 1)
	o := failed(opened(f, 1, 1), assay.ItemPending, assay.ClassProviderError)
	o.NotBefore = ptr(at(100))
	w.commit(f, store.Batch{Done: []store.Outcome{o}})
	pending := func() assay.Item {
		list, err := w.Items().Pending(w.ctx, f.Run, 0, 10)
		w.ok(err)
		equal(w, "pending items", len(list), 1)
		return list[0]
	}
	got := pending()
	equal(w, "waiting", []any{got.State, got.Class, got.Error, got.NotBefore, got.Counted, got.Attempts, got.EndedAt == nil}, []any{assay.ItemPending, assay.ClassNone, "it broke", ptr(at(100)), 1, 1, true})
	equal(w, "counts before its time", w.counts(f.Run), assay.Counts{Total: 1, Pending: 1, Waiting: 1})
	n, err := w.Items().Counts(w.ctx, f.Run, at(100))
	w.ok(err)
	equal(w, "counts at its time", n, assay.Counts{Total: 1, Pending: 1})

	w.commit(f, store.Batch{Open: []assay.Attempt{opened(f, 1, 2)}})
	free := failed(opened(f, 1, 2), assay.ItemPending, assay.ClassRateLimited)
	free.Counted = false
	w.commit(f, store.Batch{Done: []store.Outcome{free}})
	got = pending()
	equal(w, "after an attempt that is not counted", []any{got.Counted, got.Attempts, got.NotBefore == nil}, []any{1, 2, true})
	w.commit(f, store.Batch{Open: []assay.Attempt{opened(f, 1, 3)}})
	w.commit(f, store.Batch{Done: []store.Outcome{graded(opened(f, 1, 3), true)}})
	item := w.items(f.Run)[0]
	equal(w, "graded in the end", []any{item.State, item.Class, item.Error, item.Counted, item.Attempts, item.NotBefore == nil}, []any{assay.ItemGraded, assay.ClassNone, "", 2, 3, true})
}

func testEndedStays(w *world) {
	f := w.grading(w.newRun(), w.fill(3))
	w.open(f, 1, 2)
	w.commit(f, store.Batch{End: []store.EndItem{{Seq: 1, State: assay.ItemCancelled}}})
	w.commit(f, store.Batch{Done: []store.Outcome{graded(opened(f, 2, 1), true)}})
	before := w.items(f.Run)
	w.commit(f, store.Batch{Now: at(90), Done: []store.Outcome{graded(opened(f, 1, 1), true)}, End: []store.EndItem{{Seq: 1, State: assay.ItemErrored}, {Seq: 2, State: assay.ItemErrored, Class: assay.ClassTimeout}}})
	equal(w, "items", w.items(f.Run), before)
	equal(w, "its attempt is stored all the same", w.attempts(f.Run, 1), []assay.Attempt{closed(opened(f, 1, 1), "")})
	equal(w, "verdicts", len(w.verdictsOf(f.Run)), 1)
	again := graded(opened(f, 2, 1), false)
	again.Answers[0].Findings[0].Reason = "second thoughts"
	w.commit(f, store.Batch{Now: at(91), Done: []store.Outcome{again}})
	equal(w, "items after a doubled batch", w.items(f.Run), before)
	equal(w, "verdicts are append-only", w.verdictsOf(f.Run)[0].Findings[0].Reason, "because")
}

func testBatch(w *world) {
	const n = 150
	f := w.grading(w.newRun(), w.fill(n))
	var first store.Batch
	for seq := int64(1); seq <= n/2; seq++ {
		first.Open = append(first.Open, opened(f, seq, 1))
	}
	w.commit(f, first)
	var second store.Batch
	for seq := int64(1); seq <= n/2; seq++ {
		if seq%3 == 0 {
			second.Done = append(second.Done, failed(opened(f, seq, 1), assay.ItemErrored, assay.ClassRefused))
		} else {
			second.Done = append(second.Done, graded(opened(f, seq, 1), seq%2 == 0))
		}
		second.Open = append(second.Open, opened(f, n/2+seq, 1))
	}
	w.commit(f, second)
	equal(w, "counts", w.counts(f.Run), assay.Counts{Total: n, Pending: n / 2, Graded: n / 3, Passed: n / 6, Failed: n / 6, Errored: n / 6, InFlight: n / 2, ByClass: map[assay.Class]int64{assay.ClassRefused: n / 6}})
	equal(w, "verdicts", len(w.verdictsOf(f.Run)), n/3)
	for _, item := range w.items(f.Run) {
		if item.Attempts != 1 {
			w.Fatalf("item %d has %d attempts", item.Seq, item.Attempts)
		}
	}
}

func testProgress(w *world) {
	f := w.grading(w.newRun(), w.fill(2))
	f = w.takeUp(f.Run, 1, true)
	equal(w, "stalls", w.get(f.Run).Stalls, 1)
	progress := w.get(f.Run).ProgressAt
	w.commit(f, store.Batch{Now: at(60), Open: []assay.Attempt{opened(f, 1, 1), opened(f, 2, 1)}})
	run := w.get(f.Run)
	equal(w, "after opening", []any{run.HeartbeatAt, run.ProgressAt, run.Stalls}, []any{ptr(at(60)), progress, 1})
	w.commit(f, store.Batch{Now: at(61), Done: []store.Outcome{failed(opened(f, 1, 1), assay.ItemPending, assay.ClassNetwork)}})
	run = w.get(f.Run)
	equal(w, "after an attempt without an end", []any{run.HeartbeatAt, run.ProgressAt, run.Stalls}, []any{ptr(at(61)), progress, 1})
	w.commit(f, store.Batch{Now: at(62), Done: []store.Outcome{graded(opened(f, 2, 1), true)}})
	run = w.get(f.Run)
	equal(w, "after an item ended", []any{run.HeartbeatAt, run.ProgressAt, run.Stalls}, []any{ptr(at(62)), ptr(at(62)), 0})
	f = w.takeUp(f.Run, 2, true)
	w.commit(f, store.Batch{Now: at(63), End: []store.EndItem{{Seq: 1, State: assay.ItemErrored, Class: assay.ClassJudgeError}}})
	equal(w, "stalls after a quarantine", w.get(f.Run).Stalls, 0)
}

func testEndRest(w *world) {
	heads := w.fill(10)
	f := w.grading(w.newRun(), heads)
	w.grade(f, 1, 2)
	w.open(f, 3, 4)
	f = w.takeUp(f.Run, 1, false) // 3 and 4 are open at an epoch that is over
	w.commit(f, store.Batch{Open: []assay.Attempt{opened(f, 5, 1)}})
	endAll := func(f store.Fence) (total int64) {
		for range 100 {
			n, err := w.Items().EndRest(w.ctx, f, assay.ItemAbandoned, 2, at(70))
			w.ok(err)
			if n > 2 {
				w.Fatalf("ended %d items with a limit of 2", n)
			}
			if total += n; n == 0 {
				return total
			}
		}
		w.Fatal("EndRest does not come to an end")
		return 0
	}
	equal(w, "ended", endAll(f), int64(7))
	equal(w, "counts", w.counts(f.Run), assay.Counts{Total: 10, Graded: 2, Passed: 2, Abandoned: 7, Pending: 1, InFlight: 1})
	w.commit(f, store.Batch{Done: []store.Outcome{graded(opened(f, 5, 1), true)}})
	equal(w, "ended once nothing is in flight", endAll(f), int64(0))
	for _, item := range w.items(f.Run) {
		if item.EndedAt == nil || (item.State == assay.ItemAbandoned && *item.EndedAt != at(70)) {
			w.Errorf("item %d ended at %v", item.Seq, item.EndedAt)
		}
	}

	other := w.grading(w.newRun(), heads)
	w.change(other.Run, store.Change{From: active, To: assay.RunPaused, Reason: assay.ReasonAsked, Sentence: "s"})
	_, err := w.Items().EndRest(w.ctx, other, assay.ItemAbandoned, 2, at(70))
	w.lost(err)
	other.States = []assay.RunState{assay.RunPaused}
	equal(w, "ended of a paused run", endAll(other), int64(10))
}

func testItemList(w *world) {
	f := w.grading(w.newRun(), w.fill(7))
	w.open(f, 1, 2, 3, 4, 5)
	w.commit(f, store.Batch{Done: []store.Outcome{
		graded(opened(f, 1, 1), true), failed(opened(f, 2, 1), assay.ItemErrored, assay.ClassTimeout), failed(opened(f, 3, 1), assay.ItemErrored, assay.ClassNetwork),
		failed(opened(f, 4, 1), assay.ItemErrored, assay.ClassTimeout), graded(opened(f, 5, 1), false),
	}})
	list := func(q store.ItemQuery) (seqs []int64) {
		for _, item := range pages(w, func(p store.Page) ([]assay.Item, string, error) { return w.Items().List(w.ctx, f.Run, q, p) }) {
			seqs = append(seqs, item.Seq)
		}
		return seqs
	}
	equal(w, "all", list(store.ItemQuery{}), []int64{1, 2, 3, 4, 5, 6, 7})
	equal(w, "nothing waits", list(store.ItemQuery{Waiting: true}), []int64(nil))
	w.commit(f, store.Batch{Open: []assay.Attempt{opened(f, 6, 1)}})
	limited := failed(opened(f, 6, 1), assay.ItemPending, assay.ClassRateLimited)
	limited.NotBefore = ptr(at(100))
	w.commit(f, store.Batch{Done: []store.Outcome{limited}})
	equal(w, "waiting", list(store.ItemQuery{Waiting: true}), []int64{6})
	equal(w, "graded", list(store.ItemQuery{State: assay.ItemGraded}), []int64{1, 5})
	equal(w, "timeouts", list(store.ItemQuery{Class: assay.ClassTimeout}), []int64{2, 4})
	equal(w, "pending timeouts", list(store.ItemQuery{State: assay.ItemPending, Class: assay.ClassTimeout}), []int64(nil))
}

func testRepeated(w *world) {
	f := w.grading(w.newRun(), w.fill(60))
	var seqs []int64
	for seq := int64(1); seq <= 40; seq++ {
		seqs = append(seqs, seq)
	}
	w.open(f, seqs...)
	later := failed(opened(f, 1, 1), assay.ItemPending, assay.ClassNetwork)
	later.NotBefore = ptr(at(100))
	b := store.Batch{Done: []store.Outcome{later, failed(opened(f, 2, 1), assay.ItemErrored, assay.ClassTimeout)}, End: []store.EndItem{{Seq: 41, State: assay.ItemCancelled}}}
	for _, seq := range seqs[2:] {
		o := graded(opened(f, seq, 1), true)
		o.Answers = answers()[seq%6]
		b.Done = append(b.Done, o)
	}
	for seq := int64(42); seq <= 60; seq++ {
		b.Open = append(b.Open, opened(f, seq, 1))
	}
	stored := func() []any {
		all := w.everything(f.Run).([]any)
		return all[1:] // all but the run's row, whose heartbeat moves
	}
	w.commit(f, b)
	before := stored()
	w.commit(f, b)
	equal(w, "everything", stored(), before)

	next := w.takeUp(f.Run, f.Epoch, true)
	before = stored()
	if _, err := w.Items().Commit(w.ctx, next, store.Batch{Now: at(9), Open: []assay.Attempt{opened(next, 1, 2), opened(next, 42, 1)}}); err == nil || errors.Is(err, assay.ErrLost) {
		w.Fatalf("opening a number that an older epoch used: error %v", err)
	}
	equal(w, "everything after a batch that was refused", stored(), before)
}
