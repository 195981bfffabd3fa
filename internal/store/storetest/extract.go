package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

func testExtracts(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"items of a run, with the heads of their sessions", testExtractItems},
		{"items of a chain, at their place in its oldest run", testExtractChain},
		{"findings and evidence", testExtractFindings},
		{"how long calls took", testExtractCalls},
		{"what is kept, and when it is dropped", testExtractKept},
	})
}

func (w *world) extractItems(judge int, through int64, chain ...assay.RunID) (list []store.ExtractItem) {
	w.Helper()
	w.ok(w.Extracts().Items(w.ctx, chain, judge, through, func(i *store.ExtractItem) error {
		list = append(list, *i)
		return nil
	}))
	slices.SortFunc(list, func(a, b store.ExtractItem) int { return int(a.RootSeq - b.RootSeq) })
	return list
}

func testExtractItems(w *world) {
	one, two := session("u", "s1", "content 1"), session(assay.UnknownUser, "s2", "content 2")
	one.Head.Case, one.Head.AgentVersion, one.Head.Source = "c1", assay.Mixed, "web"
	w.put(one, two, session("v", "s3", "content 3"))
	heads := []assay.Head{w.head("u", "s1"), w.head(assay.UnknownUser, "s2"), w.head("v", "s3")}
	f := w.grading(w.newRun(), heads)
	w.open(f, 1, 2)
	w.grade(f, 1)
	pass := true
	want := []store.ExtractItem{
		{Run: f.Run, Seq: 1, RootSeq: 1, Content: heads[0].Content, Session: heads[0].Key, State: assay.ItemGraded, Pass: &pass, User: "u", Case: "c1", AgentVersion: assay.Mixed, Source: "web"},
		{Run: f.Run, Seq: 2, RootSeq: 2, Content: heads[1].Content, Session: heads[1].Key, State: assay.ItemPending, User: assay.UnknownUser},
		{Run: f.Run, Seq: 3, RootSeq: 3, Content: heads[2].Content, Session: heads[2].Key, State: assay.ItemPending, User: "v"},
	}
	equal(w, "items", w.extractItems(0, 0, f.Run), want)
	equal(w, "items 1 to 2", w.extractItems(0, 2, f.Run), want[:2])
	equal(w, "another judge's", len(w.extractItems(1, 0, f.Run)), 0)
	equal(w, "of no run", len(w.extractItems(0, 0)), 0)
	names, err := w.Extracts().Names(w.ctx, []assay.ContentKey{heads[0].Content, heads[2].Content, 1 << 40})
	w.ok(err)
	equal(w, "names", names, map[assay.ContentKey]store.ExtractName{
		heads[0].Content: {UserID: "u", SessionID: "s1", ContentHash: "content 1"}, heads[2].Content: {UserID: "v", SessionID: "s3", ContentHash: "content 3"},
	})
	again, _ := w.repeats(heads)
	equal(w, "items of repeats: the first ones of a judge", len(w.extractItems(1, 0, again.Run)), 3)
}

func testExtractChain(w *world) {
	heads := w.fill(3)
	f := w.grading(w.newRun(), heads)
	w.grade(f, 2)
	w.open(f, 1, 3)
	w.commit(f, store.Batch{End: []store.EndItem{{Seq: 1, State: assay.ItemErrored, Class: assay.ClassTimeout}, {Seq: 3, State: assay.ItemErrored, Class: assay.ClassTimeout}}, Now: at(5)})
	w.end(f.Run, assay.RunCompleted)
	retry := w.retry(f.Run, []assay.Head{heads[2]}, func(g store.Fence) { w.grade(g, 1) })
	var got []string
	for _, i := range w.extractItems(0, 0, retry, f.Run) {
		got = append(got, fmt.Sprintf("%d of run %d at %d: %s %s", i.Seq, i.Run-f.Run, i.RootSeq, i.State, i.Class))
	}
	equal(w, "items", got, []string{"1 of run 0 at 1: errored timeout", "2 of run 0 at 2: graded ", fmt.Sprintf("1 of run %d at 3: graded ", retry-f.Run)})
}

func testExtractFindings(w *world) {
	heads := w.fill(3)
	f := w.grading(w.newRun(), heads)
	quote := assay.Evidence{Quote: `he said "verified":false and left`, Verified: true}
	answer := func(reason string, evidence ...assay.Evidence) []assay.Answer {
		return []assay.Answer{{Pass: ptr(false), Findings: []assay.Finding{
			{Criterion: "ok", Applies: true, Value: json.RawMessage("false"), Reason: reason, Evidence: evidence}, {Criterion: "tone", Abstained: true},
		}}}
	}
	w.open(f, 1, 2)
	var done []store.Outcome
	for seq, answers := range map[int64][]assay.Answer{1: answer("first", quote), 2: answer("second", quote, assay.Evidence{Quote: "not there"})} {
		a := w.attempts(f.Run, seq)[0]
		a.Status, a.CallAt, a.EndedAt = assay.AttemptDone, ptr(at(4)), ptr(at(5))
		done = append(done, store.Outcome{Attempt: a, State: assay.ItemGraded, Pass: ptr(false), Answers: answers, Counted: true})
	}
	w.commit(f, store.Batch{Done: done, Now: at(5)})
	var got []store.ExtractFinding
	w.ok(w.Extracts().Findings(w.ctx, []assay.RunID{f.Run}, 0, 0, func(v *store.ExtractFinding) error {
		got = append(got, *v)
		return nil
	}))
	slices.SortFunc(got, func(a, b store.ExtractFinding) int {
		return slices.Compare([]string{a.Reason, a.Criterion}, []string{b.Reason, b.Criterion})
	})
	slices.SortStableFunc(got, func(a, b store.ExtractFinding) int { return int(a.Content - b.Content) })
	equal(w, "findings", got, []store.ExtractFinding{
		{Content: heads[0].Content, Criterion: "tone", Abstained: true},
		{Content: heads[0].Content, Criterion: "ok", Applies: true, Value: "false", Reason: "first", Quoted: true},
		{Content: heads[1].Content, Criterion: "tone", Abstained: true},
		{Content: heads[1].Content, Criterion: "ok", Applies: true, Value: "false", Reason: "second", Quoted: true, Unverified: true},
	})
	said, err := w.Extracts().Said(w.ctx, []assay.Origin{{Run: f.Run, Seq: 2}, {Run: f.Run, Seq: 3}})
	w.ok(err)
	if len(said) != 1 || len(said[assay.Origin{Run: f.Run, Seq: 2}]) != 2 || said[assay.Origin{Run: f.Run, Seq: 2}][0].Reason != "second" {
		w.Fatalf("said %+v", said)
	}
}

func testExtractCalls(w *world) {
	heads := w.fill(2)
	f := w.grading(w.newRun(), heads)
	w.commit(f, store.Batch{Open: []assay.Attempt{{Run: f.Run, Seq: 1, N: 1, Epoch: f.Epoch, Status: assay.AttemptOpen, OpenedAt: at(3), Wait: 2 * time.Second}}, Now: at(3)})
	a := w.attempts(f.Run, 1)[0]
	a.Status, a.CallAt, a.EndedAt, a.Class = assay.AttemptDone, ptr(at(4)), ptr(at(7)), assay.ClassTimeout
	w.commit(f, store.Batch{Done: []store.Outcome{{Attempt: a, State: assay.ItemErrored, Class: assay.ClassTimeout, Counted: true}}, Now: at(7)})
	w.open(f, 2)
	var got []store.ExtractCall
	w.ok(w.Extracts().Calls(w.ctx, []assay.RunID{f.Run}, 0, func(c *store.ExtractCall) error {
		got = append(got, *c)
		return nil
	}))
	equal(w, "calls", got, []store.ExtractCall{{N: 1, Wait: 2 * time.Second, Delay: time.Second, Call: 3 * time.Second, Class: assay.ClassTimeout}})
}

func testExtractKept(w *world) {
	heads := w.fill(1)
	f := w.grading(w.newRun(), heads)
	w.grade(f, 1)
	kept := func(run assay.RunID, format int) string {
		raw, found, err := w.Extracts().Get(w.ctx, run, 0, format)
		w.ok(err)
		if !found {
			return "nothing"
		}
		return string(raw)
	}
	keep := func(run assay.RunID, format int, raw string) {
		w.ok(w.Extracts().Keep(w.ctx, run, 0, format, []byte(raw), at(8)))
	}
	keep(f.Run, 1, "too early")
	equal(w, "of a run under way", kept(f.Run, 1), "nothing")
	w.end(f.Run, assay.RunCompleted)
	keep(f.Run, 1, "one")
	equal(w, "kept", kept(f.Run, 1), "one")
	equal(w, "of another format", kept(f.Run, 2), "nothing")
	keep(f.Run, 2, "two")
	equal(w, "replaced", kept(f.Run, 2)+kept(f.Run, 1), "twonothing")
	w.ok(w.Items().Late(w.ctx, w.attempts(f.Run, 1)))
	equal(w, "after a late attempt", kept(f.Run, 2), "nothing")
	keep(f.Run, 2, "three")
	w.ok(w.Projects().Delete(w.ctx, w.project.ID, nil))
	equal(w, "after its project was deleted", kept(f.Run, 2), "nothing")
}
