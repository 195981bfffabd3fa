package storetest

import (
	"encoding/json"
	"fmt"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testVerdicts(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"answers come back unchanged", testAnswers},
		{"a verdict tells where it came from", testVerdictFields},
		{"reused verdicts", testReused},
		{"of a session, newest first", testSessionVerdicts},
		{"pages", testVerdictPages},
		{"tallies", testTallies},
	})
}

// answers are what a store must give back exactly.
func answers() [][]assay.Answer {
	evidence := []assay.Evidence{{Turn: 1, Message: 2, Start: 3, End: 9, Quote: "it's \"done\"", Verified: true}, {Quote: "made up"}}
	return [][]assay.Answer{
		{{Pass: ptr(true), Findings: []assay.Finding{
			{Criterion: "z-first", Value: json.RawMessage("true"), Applies: true, Reason: "r", Evidence: evidence},
			{Criterion: "a-second", Value: json.RawMessage(`"good"`), Applies: true},
			{Criterion: "number", Value: json.RawMessage("-0.50"), Applies: true, Reason: "because of 'this'"},
			{Criterion: "not-applicable"},
			{Criterion: "abstained", Applies: true, Abstained: true, Reason: "cannot tell"},
		}}},
		{{Pass: ptr(false), Findings: []assay.Finding{{Criterion: "c", Value: json.RawMessage("false"), Applies: true, Evidence: []assay.Evidence{}}}}},
		{{Findings: []assay.Finding{{Criterion: "c", Value: json.RawMessage("null"), Applies: true}}}},
		{{Pass: ptr(true), Findings: []assay.Finding{}}},
		{{}},
		{
			{Unit: "turn:10", Pass: ptr(true), Findings: []assay.Finding{{Criterion: "c", Value: json.RawMessage("1"), Applies: true}, {Criterion: "b"}}},
			{Unit: "turn:2", Findings: []assay.Finding{{Criterion: "c", Applies: true, Abstained: true}}},
			{Unit: "turn:1", Pass: ptr(false), Findings: []assay.Finding{}},
			{Unit: "", Pass: ptr(false), Findings: []assay.Finding{{Criterion: "c", Value: json.RawMessage("0"), Applies: true}}},
		},
	}
}

func testAnswers(w *world) {
	want := answers()
	f := w.grading(w.newRun(), w.fill(len(want)))
	b := store.Batch{}
	for i := range want {
		seq := int64(i + 1)
		w.open(f, seq)
		b.Done = append(b.Done, store.Outcome{Attempt: closed(opened(f, seq, 1), ""), State: assay.ItemGraded, Answers: want[i], Pass: ptr(i%2 == 0)})
	}
	w.commit(f, b)
	got := make([][]assay.Answer, len(want))
	for _, v := range w.verdictsOf(f.Run) {
		got[v.Seq-1] = append(got[v.Seq-1], v.Answer)
	}
	for i := range want {
		equal(w, fmt.Sprintf("answers %d", i), got[i], want[i])
	}
}

func testVerdictFields(w *world) {
	heads := w.fill(2)
	n := w.newRun()
	n.Spec.Judges = []assay.RunJudge{{Name: "first", Version: "v1"}, {Name: "second", Version: "v2"}}
	f := w.takeUp(w.create(n).ID, 0, false)
	w.ok(w.Plans().PutStrata(w.ctx, f, []assay.PlannedStratum{
		{Index: 0, Stratum: assay.Stratum{Day: "2026-03-01", Arm: "a"}}, {Index: 1, Stratum: assay.Stratum{Day: assay.Undated, Arm: "b"}},
	}, 2, assay.Excluded{}))
	w.ok(w.Plans().PutItems(w.ctx, f, []assay.Item{
		{Seq: 1, Session: heads[0].Key, Content: heads[0].Content, Repeat: 2},
		{Seq: 2, Session: heads[1].Key, Content: heads[1].Content, Judge: 1, Stratum: 1},
	}, at(3)))
	w.ok(w.Plans().Finish(w.ctx, f, 2, at(3)))
	w.open(f, 1, 2)
	// The model that counts is that of the attempt which answered.
	w.commit(f, store.Batch{Done: []store.Outcome{failed(opened(f, 1, 1), assay.ItemPending, assay.ClassNetwork), graded(opened(f, 2, 1), false)}, Open: []assay.Attempt{opened(f, 1, 2)}, Now: at(40)})
	second := graded(opened(f, 1, 2), true)
	second.Attempt.Model = "model-2027"
	w.commit(f, store.Batch{Done: []store.Outcome{second}, Now: at(41)})

	want := []assay.Verdict{
		{Answer: second.Answers[0], Run: f.Run, Seq: 1, Repeat: 2, UserID: "u", SessionID: "s0000", Content: "content 0", Current: true, Judge: "first", Version: "v1",
			Stratum: assay.Stratum{Day: "2026-03-01", Arm: "a"}, Model: "model-2027", GradedAt: at(41).UnixMicro()},
		{Answer: graded(assay.Attempt{}, false).Answers[0], Run: f.Run, Seq: 2, UserID: "u", SessionID: "s0001", Content: "content 1", Current: true, Judge: "second", Version: "v2",
			Stratum: assay.Stratum{Day: assay.Undated, Arm: "b"}, Model: "model-2026", GradedAt: at(40).UnixMicro()},
	}
	equal(w, "verdicts", w.verdictsOf(f.Run), want)
	for judge, some := range map[int][]assay.Verdict{1: want[:1], 2: want[1:], 3: nil} {
		list, _, err := w.Verdicts().List(w.ctx, store.VerdictQuery{Run: f.Run, Judge: judge}, store.Page{})
		w.ok(err)
		equal(w, fmt.Sprint("verdicts of judge ", judge), list, some)
	}
}

func testReused(w *world) {
	heads := w.fill(2)
	first := w.grading(w.newRun(), heads)
	w.grade(first, 1)
	n := w.newRun()
	n.Spec.Judges[0].Name = "renamed"
	second := w.takeUp(w.create(n).ID, 0, false)
	w.ok(w.Plans().PutStrata(w.ctx, second, []assay.PlannedStratum{{Stratum: assay.Stratum{Day: "another day", Arm: "a"}}}, 2, assay.Excluded{}))
	w.ok(w.Plans().PutItems(w.ctx, second, []assay.Item{
		{Seq: 1, Session: heads[1].Key, Content: heads[1].Content},
		{Seq: 2, Session: heads[0].Key, Content: heads[0].Content, Origin: &assay.Origin{Run: first.Run, Seq: 1}, Pass: ptr(true)},
	}, at(30)))
	w.ok(w.Plans().Finish(w.ctx, second, 2, at(30)))
	w.grade(second, 1)
	list := w.verdictsOf(second.Run)
	equal(w, "verdicts", len(list), 2)
	want := w.verdictsOf(first.Run)[0]
	want.Reused, want.Judge, want.Stratum = true, "renamed", assay.Stratum{Day: "another day", Arm: "a"}
	equal(w, "the reused one, in its item's place", list[1], want)
	equal(w, "the other", list[0].Reused, false)
	spend, err := w.Items().Spend(w.ctx, second.Run)
	w.ok(err)
	equal(w, "attempts paid", spend.Attempts, int64(1))
}

func testSessionVerdicts(w *world) {
	w.put(session("u", "s", "one"), session("u", "other", "x"))
	head, other := w.head("u", "s"), w.head("u", "other")
	first := w.grading(w.newRun(), []assay.Head{other, head})
	w.open(first, 1, 2)
	second := w.grading(w.newRun(), []assay.Head{head})
	w.open(second, 1)
	w.commit(second, store.Batch{Now: at(50), Done: []store.Outcome{graded(opened(second, 1, 1), true)}})
	w.commit(first, store.Batch{Now: at(60), Done: []store.Outcome{graded(opened(first, 1, 1), true), graded(opened(first, 2, 1), false)}})
	reuser := w.takeUp(w.create(w.newRun()).ID, 0, false)
	w.ok(w.Plans().PutItems(w.ctx, reuser, []assay.Item{{Seq: 1, Session: head.Key, Content: head.Content, Origin: &assay.Origin{Run: first.Run, Seq: 2}}}, at(61)))
	w.put(session("u", "s", "two"))
	third := w.grading(w.newRun(), []assay.Head{w.head("u", "s")})
	w.open(third, 1)
	done := graded(opened(third, 1, 1), true)
	done.Answers = answers()[5]
	w.commit(third, store.Batch{Now: at(70), Done: []store.Outcome{done}})

	list := pages(w, func(p store.Page) ([]assay.Verdict, string, error) {
		return w.Verdicts().List(w.ctx, store.VerdictQuery{Session: head.Key}, p)
	})
	var told []string
	for _, v := range list {
		told = append(told, fmt.Sprint(int64(v.Run-first.Run), " ", v.Unit, " ", v.Content, " ", v.Current, " ", v.Reused))
	}
	equal(w, "verdicts of the session, each once", told, []string{
		"3 turn:10 two true false", "3 turn:2 two true false", "3 turn:1 two true false", "3  two true false", "0  one false false", "1  one false false",
	})
	equal(w, "the first whole", list[0].Answer, answers()[5][0])
	equal(w, "the fourth whole", list[3].Answer, answers()[5][3])
}

func testVerdictPages(w *world) {
	f := w.grading(w.newRun(), w.fill(5))
	w.open(f, 1, 2, 3, 4, 5)
	b := store.Batch{Done: []store.Outcome{failed(opened(f, 2, 1), assay.ItemErrored, assay.ClassTimeout)}}
	for _, seq := range []int64{1, 3, 5} {
		o := graded(opened(f, seq, 1), true)
		o.Answers = answers()[5]
		b.Done = append(b.Done, o)
	}
	w.commit(f, b)
	var got []string
	for _, v := range pages(w, func(p store.Page) ([]assay.Verdict, string, error) {
		return w.Verdicts().List(w.ctx, store.VerdictQuery{Run: f.Run}, p)
	}) {
		got = append(got, fmt.Sprintf("%d%s %d", v.Seq, v.Unit, len(v.Findings)))
	}
	equal(w, "verdicts", got, []string{
		"1turn:10 2", "1turn:2 1", "1turn:1 0", "1 1", "3turn:10 2", "3turn:2 1", "3turn:1 0", "3 1", "5turn:10 2", "5turn:2 1", "5turn:1 0", "5 1",
	})
}

func testTallies(w *world) {
	heads := w.fill(8)
	earlier := w.grading(w.newRun(), heads[:1])
	w.grade(earlier, 1)
	f := w.takeUp(w.create(w.newRun()).ID, 0, false)
	items := []assay.Item{{Seq: 1, Session: heads[0].Key, Content: heads[0].Content, Origin: &assay.Origin{Run: earlier.Run, Seq: 1}, Pass: ptr(true)}}
	for i := 1; i < 8; i++ {
		items = append(items, assay.Item{Seq: int64(i + 1), Session: heads[i].Key, Content: heads[i].Content, Stratum: i / 4})
	}
	w.ok(w.Plans().PutItems(w.ctx, f, items, at(3)))
	w.ok(w.Plans().Finish(w.ctx, f, 8, at(3)))
	w.open(f, 2, 3, 4, 5, 6)
	undecided := graded(opened(f, 4, 1), true)
	undecided.Pass, undecided.Answers[0].Pass = nil, nil
	undecided.Answers[0].Findings = []assay.Finding{{Criterion: "done"}, {Criterion: "tone", Applies: true, Abstained: true}}
	w.commit(f, store.Batch{Done: []store.Outcome{
		graded(opened(f, 2, 1), true), graded(opened(f, 3, 1), false), undecided,
		failed(opened(f, 5, 1), assay.ItemErrored, assay.ClassTimeout), graded(opened(f, 6, 1), true),
	}})
	tally := func(through int64) map[string]int64 {
		list, err := w.Verdicts().Tally(w.ctx, []assay.RunID{f.Run}, through)
		w.ok(err)
		got := map[string]int64{}
		for _, t := range list {
			pass := "-"
			if t.Pass != nil {
				pass = fmt.Sprint(*t.Pass)
			}
			key := fmt.Sprint(t.Stratum, " ", t.Judge, " ", t.State, " ", t.Class, " ", pass, " ", t.Reused)
			if _, twice := got[key]; twice {
				w.Errorf("%s is told twice", key)
			}
			got[key] = t.N
		}
		return got
	}
	equal(w, "tally", tally(0), map[string]int64{
		"0 0 graded  true true": 1, "0 0 graded  true false": 1, "0 0 graded  false false": 1, "0 0 graded  - false": 1,
		"1 0 errored timeout - false": 1, "1 0 graded  true false": 1, "1 0 pending  - false": 2,
	})
	equal(w, "tally through the third", tally(3), map[string]int64{"0 0 graded  true true": 1, "0 0 graded  true false": 1, "0 0 graded  false false": 1})

	findings := func(through int64) map[string]int64 {
		list, err := w.Verdicts().TallyFindings(w.ctx, []assay.RunID{f.Run}, through)
		w.ok(err)
		got := map[string]int64{}
		for _, t := range list {
			got[fmt.Sprint(t.Stratum, " ", t.Judge, " ", t.Criterion, " ", t.Applies, " ", t.Abstained, " ", t.Value)] = t.N
		}
		return got
	}
	equal(w, "findings", findings(0), map[string]int64{
		"0 0 done true false true": 2, "0 0 done true false false": 1, "0 0 done false false ": 1, "0 0 tone true true ": 1, "1 0 done true false true": 1,
	})
	equal(w, "findings through the second", findings(2), map[string]int64{"0 0 done true false true": 2})
	none, err := w.Verdicts().Tally(w.ctx, nil, 0)
	w.ok(err)
	equal(w, "tally of no chain", len(none), 0)
}
