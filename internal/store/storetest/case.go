package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

func testCases(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"cases come back as they were put", testPutCases},
		{"a case is an item with a verdict", testCaseItems},
		{"an error is no verdict", testCaseErrors},
		{"select and page", testCasePages},
		{"a page holds so many bytes", testCasePageBytes},
		{"a head holds what a list shows", testCaseHeads},
		{"cases that are sent twice", testCasesTwice},
		{"two results of one name are two repeats", testCaseRepeats},
		{"a criterion that is answered twice", testCaseCriteria},
		{"cases that cannot be stored", testBadCases},
		{"texts", testCaseTexts},
		{"results are read again from the start", testResetCases},
		{"an external run has cases too", testExternalCases},
	})
	t.Run("100,000 cases", func(t *testing.T) { testManyCases(newWorld(t, open(t))) })
}

// gradedCase is a case with one finding.
func gradedCase(seq int64, key string, pass bool) assay.Case {
	return assay.Case{Seq: seq, Key: key, State: assay.ItemGraded, Pass: &pass, Output: "answer of " + key,
		Findings: []assay.Finding{{Criterion: "equals", Value: fmt.Append(nil, pass), Applies: true, Reason: "because"}}}
}

// fullCase has something in every field.
func fullCase(seq int64) assay.Case {
	return assay.Case{
		Seq: seq, Key: fmt.Sprint("tests/test_a.py::test[", seq, "]"), Repeat: 3, State: assay.ItemGraded, Class: "class", Error: "a warning", Pass: ptr(false),
		Findings: []assay.Finding{
			{Criterion: "zeta", Value: json.RawMessage("0.5"), Applies: true, Reason: "half"},
			{Criterion: "alpha", Value: json.RawMessage(`"<b>&"`), Applies: true, Evidence: []assay.Evidence{{Turn: 1, Message: 2, Start: 3, End: 4, Quote: "q", Verified: true}}},
			{Criterion: "none", Abstained: true},
		},
		Input: "in <&>", Output: strings.Repeat("long output ", 200), Expected: "exp", Place: "a.py:7", Seconds: ptr(1.25), Cost: ptr(assay.USD(1_234_567)),
		Usage: assay.Usage{Known: true, Input: 10, Cached: 1, CacheWrite: 2, Output: 20, Reasoning: 3}, Model: "model-1", Cut: []string{"output"},
		Extra: json.RawMessage(`{"z":1,"a":["<",null,1e3]}`),
	}
}

func (w *world) putCases(f store.Fence, cases ...assay.Case) {
	w.Helper()
	w.ok(w.Harnesses().PutCases(w.ctx, f, cases, at(7)))
}

func (w *world) cases(run assay.RunID) []assay.Case {
	w.Helper()
	return w.casesBy(run, store.CaseQuery{}, 10_000, func([]assay.Case) {})
}

// casesBy pages through cases and calls f with each page.
func (w *world) casesBy(run assay.RunID, q store.CaseQuery, limit int, f func(page []assay.Case)) (all []assay.Case) {
	w.Helper()
	for p := (store.Page{Limit: limit}); ; {
		list, next, err := w.Harnesses().Cases(w.ctx, run, q, p)
		w.ok(err)
		if len(list) > limit || next != "" && len(list) == 0 {
			w.Fatalf("a page of at most %d has %d cases, and the next is %q", limit, len(list), next)
		}
		f(list)
		all = append(all, list...)
		if p.Cursor = next; next == "" {
			return all
		}
	}
}

func testPutCases(w *world) {
	f := w.suiteRun("s")
	cases := []assay.Case{
		fullCase(1), fullCase(2), {Seq: 3, State: assay.ItemGraded}, {Seq: 4, Key: "unknown", State: assay.ItemGraded, Findings: []assay.Finding{}},
		{Seq: 7, Key: "broken", State: assay.ItemErrored, Class: "timeout", Error: "it took 60 s", Pass: ptr(false), Findings: []assay.Finding{{Criterion: "c", Value: json.RawMessage("1"), Applies: true}}, Input: "i"},
		{Seq: 9, Key: "skipped", State: assay.ItemUngradable, Class: "skipped", Error: "no key"},
	}
	w.putCases(f, cases...)
	for i := range cases {
		cases[i].Run = f.Run
	}
	equal(w, "cases", w.cases(f.Run), cases)
	run := w.get(f.Run)
	equal(w, "planned, progress and heartbeat", []any{run.Planned, run.ProgressAt, run.HeartbeatAt}, []any{int64(6), ptr(at(7)), ptr(at(7))})
	more := fullCase(10)
	w.ok(w.Harnesses().PutCases(w.ctx, f, []assay.Case{more}, at(8)))
	more.Run = f.Run
	equal(w, "cases", w.cases(f.Run), append(cases, more))
	w.ok(w.Harnesses().PutCases(w.ctx, f, nil, at(9)))
	run = w.get(f.Run)
	equal(w, "planned, progress and heartbeat", []any{run.Planned, run.ProgressAt, run.HeartbeatAt}, []any{int64(7), ptr(at(8)), ptr(at(9))})
	other := w.suiteRun("other")
	equal(w, "of a run without", len(w.cases(other.Run))+len(w.cases(1<<40)), 0)
	w.healthy()
}

func testCaseItems(w *world) {
	f := w.suiteRun("nightly")
	full := fullCase(1)
	w.putCases(f, full, gradedCase(2, "b", true), assay.Case{Seq: 3, Key: "c", State: assay.ItemErrored, Class: "timeout", Error: "late"},
		assay.Case{Seq: 4, Key: "d", State: assay.ItemUngradable, Class: "skipped"}, gradedCase(5, "e", false))
	item := func(seq int64, key string, state assay.ItemState) assay.Item {
		i := assay.Item{Run: f.Run, Seq: seq, Content: assay.ContentKey(-seq), SessionID: key, State: state, EndedAt: ptr(at(7))}
		if state == assay.ItemGraded {
			i.Origin = &assay.Origin{Run: f.Run, Seq: seq}
		}
		return i
	}
	want := []assay.Item{item(1, full.Key, assay.ItemGraded), item(2, "b", assay.ItemGraded), item(3, "c", assay.ItemErrored), item(4, "d", assay.ItemUngradable), item(5, "e", assay.ItemGraded)}
	want[0].Repeat, want[0].Class, want[0].Error, want[0].Pass = 3, "class", "a warning", ptr(false)
	want[1].Pass, want[4].Pass = ptr(true), ptr(false)
	want[2].Class, want[2].Error, want[3].Class = "timeout", "late", "skipped"
	equal(w, "items", w.items(f.Run), want)

	n, err := w.Items().Counts(w.ctx, f.Run, at(8))
	w.ok(err)
	equal(w, "counts", []int64{n.Total, n.Graded, n.Errored, n.Ungradable, n.Pending, n.ByClass["timeout"], n.ByClass["skipped"], n.Passed, n.Failed}, []int64{5, 3, 1, 1, 0, 1, 1, 1, 2})
	spend, err := w.Items().Spend(w.ctx, f.Run)
	w.ok(err)
	equal(w, "spend: what a harness spent is not Assay's", spend, assay.Spend{})
	tally, err := w.Verdicts().Tally(w.ctx, []assay.RunID{f.Run}, 0)
	w.ok(err)
	var passed, failed int64
	for _, t := range tally {
		if t.State == assay.ItemGraded && *t.Pass {
			passed += t.N
		} else if t.State == assay.ItemGraded {
			failed += t.N
		}
	}
	equal(w, "tallied", []int64{passed, failed}, []int64{1, 2})
	findings, err := w.Verdicts().TallyFindings(w.ctx, []assay.RunID{f.Run}, 0)
	w.ok(err)
	equal(w, "findings of first repeats", findings, []store.FindingTally{
		{Criterion: "equals", Applies: true, Value: "false", N: 1}, {Criterion: "equals", Applies: true, Value: "true", N: 1}})

	verdict := func(seq int64, key string, repeat int, model string, a assay.Answer) assay.Verdict {
		return assay.Verdict{Answer: a, Run: f.Run, Seq: seq, Repeat: repeat, SessionID: key, Current: true, Judge: "nightly", Version: "suite-v1", Model: model, GradedAt: at(7).UnixMicro()}
	}
	all := []assay.Verdict{
		verdict(1, full.Key, 3, "model-1", assay.Answer{Pass: full.Pass, Findings: full.Findings}),
		verdict(2, "b", 0, "", assay.Answer{Pass: ptr(true), Findings: gradedCase(2, "b", true).Findings}),
		verdict(5, "e", 0, "", assay.Answer{Pass: ptr(false), Findings: gradedCase(5, "e", false).Findings}),
	}
	equal(w, "verdicts", w.verdictsOf(f.Run), all)
	equal(w, "verdicts in pages", pages(w, func(p store.Page) ([]assay.Verdict, string, error) {
		return w.Verdicts().List(w.ctx, store.VerdictQuery{Run: f.Run, Judge: 1}, p)
	}), all)
	grade := w.grading(w.newRun(), w.fill(2))
	w.grade(grade, 1, 2)
	equal(w, "verdicts of a grade run beside it", len(w.verdictsOf(grade.Run)), 2)
	w.end(f.Run, assay.RunCompleted)
	w.healthy()
}

func testCaseErrors(w *world) {
	f := w.suiteRun("s")
	broken := assay.Case{Seq: 1, Key: "a", State: assay.ItemErrored, Pass: ptr(false), Findings: gradedCase(1, "a", false).Findings}
	w.putCases(f, broken)
	broken.Run = f.Run
	equal(w, "what it said is kept", w.cases(f.Run), []assay.Case{broken})
	equal(w, "and is no verdict", len(w.verdictsOf(f.Run)), 0)
	equal(w, "nor a failed item", w.items(f.Run)[0].Pass, (*bool)(nil))
	failed, _, err := w.Harnesses().Cases(w.ctx, f.Run, store.CaseQuery{Pass: ptr(false)}, store.Page{})
	w.ok(err)
	equal(w, "nor a failed case", len(failed), 0)
}

func testCasePages(w *world) {
	f := w.suiteRun("s")
	var all []assay.Case
	for seq := int64(1); seq <= 21; seq++ {
		c := gradedCase(2*seq, fmt.Sprint("k", seq), seq%2 == 0)
		switch seq % 3 {
		case 1:
			c.State, c.Class, c.Pass, c.Findings = assay.ItemErrored, assay.ClassCaseError, nil, nil
		case 2:
			c.Model = "m"
		}
		c.Run = f.Run
		all = append(all, c)
	}
	w.putCases(f, all...)
	for _, q := range []store.CaseQuery{{}, {State: assay.ItemGraded}, {State: assay.ItemErrored}, {Pass: ptr(true)}, {Pass: ptr(false), State: assay.ItemGraded}, {Pass: ptr(true), State: assay.ItemErrored},
		{Class: assay.ClassCaseError}, {Class: assay.ClassCaseSkipped}} {
		var want []assay.Case
		for _, c := range all {
			if (q.State == "" || c.State == q.State) && (q.Class == "" || c.Class == q.Class) && (q.Pass == nil || c.Pass != nil && *c.Pass == *q.Pass) {
				want = append(want, c)
			}
		}
		got := pages(w, func(p store.Page) ([]assay.Case, string, error) { return w.Harnesses().Cases(w.ctx, f.Run, q, p) })
		equal(w, fmt.Sprintf("cases of %+v", q), got, want)
	}
	_, _, err := w.Harnesses().Cases(w.ctx, f.Run, store.CaseQuery{}, store.Page{Cursor: "no cursor"})
	w.code(err, assay.CodeInvalid)
}

// A page of cases that say all they may stays small, whatever its limit, and none is left out.
func testCasePageBytes(w *world) {
	f := w.suiteRun("s")
	long := func(n int) string { return strings.Repeat("0123456789abcdef", n/16) }
	var all []assay.Case
	for seq := int64(1); seq <= 40; seq++ {
		c := gradedCase(seq, fmt.Sprint("k", seq), true)
		switch seq % 4 {
		case 0: // compressed it is nothing
			c.Input, c.Output, c.Expected = long(128<<10), long(128<<10), long(128<<10)
		case 1: // all of it is in its verdict
			c.Findings = nil
			for i := range 100 {
				c.Findings = append(c.Findings, assay.Finding{Criterion: fmt.Sprint("c", i), Value: json.RawMessage("true"), Applies: true, Reason: long(16 << 10)})
			}
		case 2:
			c = assay.Case{Seq: seq, Key: c.Key, State: assay.ItemErrored, Class: assay.ClassCaseError, Error: long(16 << 10), Findings: []assay.Finding{{Criterion: "c", Reason: long(16 << 10)}}}
		}
		c.Run = f.Run
		all = append(all, c)
	}
	all[21].Output = long(5 << 20) // larger than a page
	w.putCases(f, all...)
	for _, limit := range []int{3, 10_000} {
		pages := 0
		got := w.casesBy(f.Run, store.CaseQuery{}, limit, func(page []assay.Case) {
			pages++
			if raw, err := json.Marshal(page); err != nil || len(raw) > store.PageBytes*9/8 && len(page) > 1 {
				w.Errorf("%d cases in %d bytes, %v", len(page), len(raw), err)
			}
		})
		equal(w, "cases", got, all)
		if pages < 6 {
			w.Errorf("%d pages", pages)
		}
	}
	var verdicts []assay.Verdict
	for p := (store.Page{Limit: 10_000}); ; {
		list, next, err := w.Verdicts().List(w.ctx, store.VerdictQuery{Run: f.Run}, p)
		w.ok(err)
		if raw, err := json.Marshal(list); err != nil || len(raw) > store.PageBytes*2 {
			w.Errorf("%d verdicts in %d bytes, %v", len(list), len(raw), err)
		}
		verdicts = append(verdicts, list...)
		if p.Cursor = next; next == "" {
			break
		}
	}
	equal(w, "verdicts", len(verdicts), 30)
	for i, v := range verdicts {
		equal(w, "findings", v.Findings, all[i/3*4+[]int{0, 2, 3}[i%3]].Findings)
	}
	heads := w.casesBy(f.Run, store.CaseQuery{Heads: true}, 10_000, func(page []assay.Case) {
		if raw, err := json.Marshal(page); err != nil || len(raw) > len(page)*10_000 {
			w.Errorf("%d heads in %d bytes, %v", len(page), len(raw), err)
		}
	})
	equal(w, "heads", len(heads), len(all))
	w.healthy()
}

func testCaseHeads(w *world) {
	f := w.suiteRun("s")
	full := fullCase(1)
	full.Error = strings.Repeat("é", 1000)
	full.Findings[0].Reason, full.Findings[1].Value = strings.Repeat("é", 1000), json.RawMessage(`"`+strings.Repeat("v", 200)+`"`)
	for i := range 40 {
		full.Findings = append(full.Findings, assay.Finding{Criterion: fmt.Sprint("more ", i), Value: json.RawMessage("1"), Applies: true})
	}
	broken := full
	broken.Seq, broken.Key, broken.State = 2, "broken", assay.ItemErrored
	plain := assay.Case{Seq: 3, Key: "plain", State: assay.ItemGraded, Pass: ptr(true), Findings: []assay.Finding{}}
	w.putCases(f, full, broken, plain)
	list, next, err := w.Harnesses().Cases(w.ctx, f.Run, store.CaseQuery{Heads: true}, store.Page{})
	w.ok(err)
	var want []assay.Case
	for _, c := range []assay.Case{full, broken, plain} {
		c.Run = f.Run
		c.Findings = slices.Clone(c.Findings)
		c = store.HeadOfCase(c)
		want = append(want, c)
	}
	equal(w, "heads", list, want)
	equal(w, "next", next, "")
	if h := list[0]; len(h.Findings) != store.HeadFindings || h.Findings[0].Reason != strings.Repeat("é", store.HeadText) || h.Findings[1].Value != nil ||
		h.Findings[1].Evidence != nil || h.Input != "" || h.Extra != nil || *h.Pass || h.Model != "model-1" || *h.Seconds != 1.25 {
		w.Errorf("%+v", h)
	}
	equal(w, "whole", w.cases(f.Run)[0].Findings, full.Findings)
}

func testCasesTwice(w *world) {
	f := w.suiteRun("s")
	w.putCases(f, gradedCase(1, "a", true), gradedCase(2, "b", true))
	before := []any{w.cases(f.Run), w.items(f.Run), w.verdictsOf(f.Run)}
	w.putCases(f, gradedCase(1, "a", true), gradedCase(2, "b", true))
	changed := gradedCase(1, "other", false)
	changed.Findings = append(changed.Findings, assay.Finding{Criterion: "more", Applies: true})
	w.putCases(f, changed)
	equal(w, "cases, items and verdicts", []any{w.cases(f.Run), w.items(f.Run), w.verdictsOf(f.Run)}, before)
	w.putCases(f, gradedCase(2, "b", true), gradedCase(3, "c", true))
	equal(w, "planned, of which some were there", w.get(f.Run).Planned, int64(3))
	w.healthy()
}

func testCaseRepeats(w *world) {
	f := w.suiteRun("s")
	seq := int64(0)
	put := func(names ...any) {
		var list []assay.Case
		for i := 0; i < len(names); i += 2 {
			seq++
			c := gradedCase(seq, names[i].(string), true)
			c.Repeat = names[i+1].(int)
			list = append(list, c)
		}
		w.putCases(f, list...)
	}
	put("a", 0, "a", 0, "b", 5, "a", 1, "a", 0)
	put("a", 0, "b", 2, "b", 5, "a\x00", 0, "b", 2)
	put("a\uFFFD", 0, "c", 0)
	var got []string
	for i, c := range w.cases(f.Run) {
		got = append(got, fmt.Sprint(c.Key, c.Repeat))
		equal(w, "the item's repeat", w.items(f.Run)[i].Repeat, c.Repeat)
	}
	// The second a 0 becomes 1 before the one that was 1 from the start comes.
	equal(w, "names", got, []string{"a0", "a1", "b5", "a2", "a3", "a4", "b2", "b6", "a\uFFFD0", "b7", "a\uFFFD1", "c0"})
	other := w.suiteRun("other")
	w.putCases(other, gradedCase(1, "a", true))
	equal(w, "of another run", w.cases(other.Run)[0].Repeat, 0)
}

func testCaseCriteria(w *world) {
	f := w.suiteRun("s")
	c := gradedCase(1, "a", true)
	c.Findings = nil
	for i, name := range []string{"contains", "contains", "", "contains (2)", "contains", "", "x\xff", "x\uFFFD"} {
		c.Findings = append(c.Findings, assay.Finding{Criterion: name, Value: fmt.Append(nil, i), Applies: true})
	}
	w.putCases(f, c)
	equal(w, "what the caller gave is left as it was", c.Findings[1].Criterion, "contains")
	var names []string
	for i, found := range w.cases(f.Run)[0].Findings {
		equal(w, "value", string(found.Value), fmt.Sprint(i))
		names = append(names, found.Criterion)
	}
	equal(w, "criteria", names, []string{"contains", "contains (2)", "unnamed", "contains (2) (2)", "contains (3)", "unnamed (2)", "x\uFFFD", "x\uFFFD (2)"})
	equal(w, "findings of the verdict", len(w.verdictsOf(f.Run)[0].Findings), 8)
}

func testBadCases(w *world) {
	f := w.suiteRun("s")
	before := w.everything(f.Run)
	for name, change := range map[string]func(*assay.Case){
		"no number":       func(c *assay.Case) { c.Seq = 0 },
		"no state":        func(c *assay.Case) { c.State = "" },
		"a pending one":   func(c *assay.Case) { c.State = assay.ItemPending },
		"a cancelled one": func(c *assay.Case) { c.State = assay.ItemCancelled },
		"repeat -1":       func(c *assay.Case) { c.Repeat = -1 },
		"extra":           func(c *assay.Case) { c.Extra = json.RawMessage("{") },
	} {
		c := gradedCase(2, "the bad one", true)
		change(&c)
		err := w.Harnesses().PutCases(w.ctx, f, []assay.Case{gradedCase(1, "good", true), c}, at(9))
		if e := w.code(err, assay.CodeInvalid); !strings.Contains(e.Message, "the bad one") {
			w.Errorf("%s: the message %q does not name the case", name, e.Message)
		}
		equal(w, "everything after "+name, w.everything(f.Run), before)
	}
	grade := w.takeUp(w.create(w.newRun()).ID, 0, false)
	w.ok(w.Harnesses().ResetCases(w.ctx, grade))
}

func testCaseTexts(w *world) {
	f := w.suiteRun("s")
	var want []assay.Case
	for i, text := range append(hostile, strings.Repeat("0123456789abcdef", 2<<20/16)) {
		value, err := json.Marshal(text)
		w.ok(err)
		key := text[:min(len(text), 600)]
		want = append(want, assay.Case{Run: f.Run, Seq: int64(i + 1), Key: key, State: assay.ItemGraded, Class: assay.Class(key), Error: text, Input: text, Output: text, Expected: text,
			Place: text, Model: key, Cut: []string{text}, Extra: value, Findings: []assay.Finding{{Criterion: key, Value: value, Applies: true, Reason: text, Evidence: []assay.Evidence{{Quote: text}}}}})
	}
	w.putCases(f, want...)
	for i, got := range w.cases(f.Run) { // one by one: the last is long
		equal(w, "case", got, want[i])
	}
	dirty := gradedCase(100, "a\x00b\xff", true)
	dirty.Error, dirty.Model, dirty.Input = "\x00", "\xff", "\xff"
	w.putCases(f, dirty)
	list, _, err := w.Harnesses().Cases(w.ctx, f.Run, store.CaseQuery{Pass: ptr(true)}, store.Page{})
	w.ok(err)
	equal(w, "cleaned", []string{list[0].Key, list[0].Error, list[0].Model, list[0].Input}, []string{"a\uFFFDb\uFFFD", "\uFFFD", "\uFFFD", "\uFFFD"})
}

func testResetCases(w *world) {
	f := w.suiteRun("s")
	other := w.suiteRun("other")
	grade := w.grading(w.newRun(), w.fill(2))
	w.grade(grade, 1, 2)
	w.putCases(other, gradedCase(1, "a", true))
	kept := []any{w.everything(other.Run), w.cases(other.Run), w.everything(grade.Run)}
	var all []assay.Case
	for seq := int64(1); seq <= 5000; seq++ {
		all = append(all, gradedCase(seq, fmt.Sprint("k", seq), true))
	}
	w.putCases(f, all...)
	_, err := w.Harnesses().Put(w.ctx, f, facts(), false, at(7))
	w.ok(err)
	for range 2 {
		w.ok(w.Harnesses().ResetCases(w.ctx, f))
		equal(w, "what is left", []any{len(w.cases(f.Run)), len(w.items(f.Run)), len(w.verdictsOf(f.Run)), w.get(f.Run).Planned}, []any{0, 0, 0, int64(0)})
		equal(w, "facts", w.facts(f.Run), facts())
	}
	w.putCases(f, gradedCase(1, "again", false))
	equal(w, "cases read again", w.cases(f.Run)[0].Key, "again")
	equal(w, "planned", w.get(f.Run).Planned, int64(1))
	equal(w, "verdict", *w.verdictsOf(f.Run)[0].Pass, false)
	equal(w, "the other runs", []any{w.everything(other.Run), w.cases(other.Run), w.everything(grade.Run)}, kept)
	w.healthy()
}

func testExternalCases(w *world) {
	first, second := w.create(w.newExternalRun("ci")), w.create(w.newExternalRun("ci"))
	var versions []assay.Hash
	for _, run := range []assay.Run{first, second} {
		f := store.Fence{Run: run.ID, Epoch: run.Epoch}
		w.putCases(f, gradedCase(1, "a", true), gradedCase(2, "b", false))
		w.end(run.ID, assay.RunCompleted)
		w.lost(w.Harnesses().PutCases(w.ctx, f, []assay.Case{gradedCase(3, "late", true)}, at(9)))
		v := w.verdictsOf(run.ID)
		equal(w, "verdicts", []any{len(v), v[1].SessionID, v[1].Judge, *v[1].Pass}, []any{2, "b", "ci", false})
		versions = append(versions, v[0].Version)
	}
	equal(w, "both runs have one judge version", versions, []assay.Hash{first.Suite.Version, first.Suite.Version})
	w.healthy()
}

// testManyCases bounds the time of a page of the contract's largest result, and of each of its writes: a
// cancel comes through between them.
func testManyCases(w *world) {
	const n, batch = 100_000, 10_000
	f := w.suiteRun("s")
	stop, asked := make(chan struct{}), make(chan time.Duration)
	go func() {
		longest := time.Duration(0)
		for {
			select {
			case <-stop:
				asked <- longest
				return
			default:
			}
			begun := time.Now()
			if _, err := w.Runs().SetConcurrency(w.ctx, f.Run, 7); err != nil {
				w.Error(err)
			}
			longest = max(longest, time.Since(begun))
		}
	}()
	begun := time.Now()
	cases := make([]assay.Case, batch)
	for from := 0; from < n; from += batch {
		for i := range cases {
			seq := int64(from + i + 1)
			cases[i] = gradedCase(seq, fmt.Sprintf("tests/test_%d.py::test_%d", seq%100, seq), seq%10 != 0)
		}
		w.putCases(f, cases...)
	}
	took := time.Since(begun)
	close(stop)
	longest := <-asked
	w.Logf("%d cases in %s; another change of the run waited %s at most", n, took, longest)
	if took > 90*time.Second {
		w.Errorf("%d cases took %s", n, took)
	}
	if longest > 2*time.Second {
		w.Errorf("a change of the run waited %s while cases were stored", longest)
	}
	equal(w, "planned", w.get(f.Run).Planned, int64(n))
	counts := w.counts(f.Run)
	equal(w, "counts", []int64{counts.Total, counts.Graded}, []int64{n, n})
	begun = time.Now()
	page, _, err := w.Harnesses().Cases(w.ctx, f.Run, store.CaseQuery{Pass: ptr(false)}, store.Page{Limit: 100, Cursor: store.Cursor(n / 2)})
	w.ok(err)
	equal(w, "the first of a page of failed ones", []any{len(page), page[0].Seq}, []any{100, int64(n/2 + 10)})
	list, _, err := w.Verdicts().List(w.ctx, store.VerdictQuery{Run: f.Run}, store.Page{Limit: 100, Cursor: store.Cursor(map[string]int{"Seq": n / 2, "Unit": 0})})
	w.ok(err)
	equal(w, "the first of a page of verdicts", []any{len(list), list[0].Seq}, []any{100, int64(n/2 + 1)})
	if took := time.Since(begun); took > 5*time.Second {
		w.Errorf("two pages took %s", took)
	}
	begun = time.Now()
	w.ok(w.Harnesses().ResetCases(w.ctx, f))
	w.Logf("they were removed in %s", time.Since(begun))
	equal(w, "planned", w.get(f.Run).Planned, int64(0))
}
