package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// Run holds an implementation to the contract. open returns an empty store, which the test closes.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, noun := range []struct {
		name string
		run  func(*testing.T, opener)
	}{
		{"projects", testProjects},
		{"sessions", testSessions},
		{"scan", testScan},
		{"imports", testImports},
		{"sets", testSets},
		{"labels", testLabels},
		{"judges", testJudges},
		{"runs", testRuns},
		{"changes", testChanges},
		{"plans", testPlans},
		{"items", testItems},
		{"fence", testFence},
		{"takeover", testTakeover},
		{"crashes", testCrashes},
		{"verdicts", testVerdicts},
		{"repeats", testRegraded},
		{"extracts", testExtracts},
		{"units", testUnits},
		{"seen", testSeen},
		{"models", testModels},
		{"spending", testSpending},
		{"chains", testChains},
		{"texts", testTexts},
		{"suites", testSuites},
		{"harnesses", testHarnesses},
		{"cases", testCases},
		{"schedules", testSchedules},
		{"model", testModel},
		{"store", testStore},
	} {
		t.Run(noun.name, func(t *testing.T) {
			noun.run(t, func(t *testing.T) store.Store {
				t.Helper()
				s := open(t)
				t.Cleanup(func() {
					if err := s.Close(); err != nil {
						t.Errorf("close the store: %v", err)
					}
				})
				return s
			})
		})
	}
}

type opener func(t *testing.T) store.Store

// start is when every test begins: microseconds that are not round.
var start = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// world is one project in a store, and what a test needs to fill it.
type world struct {
	*testing.T
	store.Store
	ctx     context.Context
	project assay.Project
}

var worlds atomic.Int64

// newWorld makes a project of its own, so that tests of one noun can share a store.
func newWorld(t *testing.T, s store.Store) *world {
	t.Helper()
	p, err := s.Projects().Create(t.Context(), fmt.Sprintf("p%d", worlds.Add(1)), assay.DefaultSettings(), start)
	if err != nil {
		t.Fatalf("create a project: %v", err)
	}
	return &world{T: t, Store: s, ctx: t.Context(), project: p}
}

// each runs tests that share a store, each in a project of its own.
func each(t *testing.T, s store.Store, tests []namedTest) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(newWorld(t, s)) })
	}
}

type namedTest struct {
	name string
	run  func(w *world)
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v (code %s)", err, assay.CodeOf(err))
	}
}

func (w *world) code(err error, want assay.Code) *assay.Error {
	w.Helper()
	var e *assay.Error
	if !errors.As(err, &e) || e.Code != want {
		w.Fatalf("error %v, want code %s", err, want)
	}
	if want != assay.CodeLost && (e.Message == "" || e.Hint == "") {
		w.Errorf("error %s: message %q and hint %q must both be given", want, e.Message, e.Hint)
	}
	return e
}

func (w *world) lost(err error) {
	w.Helper()
	if !errors.Is(err, assay.ErrLost) {
		w.Fatalf("error %v, want ErrLost", err)
	}
}

// failer is a test or a property.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// equal compares deeply; what differs is shown as JSON.
func equal(t failer, what string, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	g, _ := json.MarshalIndent(got, "", "  ")
	e, _ := json.MarshalIndent(want, "", "  ")
	if string(g) == string(e) {
		g, e = fmt.Appendf(nil, "%#v", got), fmt.Appendf(nil, "%#v", want)
	}
	t.Fatalf("%s:\ngot  %s\nwant %s", what, g, e)
}

func ptr[T any](v T) *T { return &v }

// at is a time n seconds after start.
func at(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }

// session is a session of user u with the given content, dated at start.
func session(user, id, content string) store.NewSession {
	return store.NewSession{
		Head: assay.Head{
			UserID: user, SessionID: id, ContentHash: assay.Hash(content), StartedAt: ptr(start), LastTurnAt: ptr(at(60)),
			SettleFrom: ptr(at(60)), Day: start.Format(time.DateOnly), Arm: assay.Control, Turns: 1, Messages: 2, BodyBytes: 100,
		},
		Body: []byte("body " + content),
	}
}

// put stores sessions at start and returns what became of them.
func (w *world) put(batch ...store.NewSession) []store.PutResult {
	w.Helper()
	results, err := w.Sessions().Put(w.ctx, w.project.ID, 0, batch, start)
	w.ok(err)
	return results
}

func (w *world) head(user, id string) assay.Head {
	w.Helper()
	h, err := w.Sessions().Get(w.ctx, w.project.ID, user, id)
	w.ok(err)
	return h
}

// fill stores n sessions and returns their heads.
func (w *world) fill(n int) []assay.Head {
	w.Helper()
	var batch []store.NewSession
	for i := range n {
		batch = append(batch, session("u", fmt.Sprintf("s%04d", i), fmt.Sprintf("content %d", i)))
	}
	w.put(batch...)
	heads, _, err := w.Sessions().List(w.ctx, w.project.ID, store.SessionQuery{}, store.Page{Limit: n})
	w.ok(err)
	if len(heads) != n {
		w.Fatalf("stored %d sessions, listed %d", n, len(heads))
	}
	return heads
}

// newRun is a run to be accepted, of one judge.
func (w *world) newRun() store.NewRun {
	return store.NewRun{
		Project: w.project.ID, Kind: assay.RunGrade, Concurrency: 4, By: "tester", AsOf: start, Now: at(1), Sentence: "waits for a driver",
		Spec: assay.GradeSpec{
			Judges: []assay.RunJudge{{Name: "j", Version: "v1"}}, PerStratum: 200, Seed: "seed", Repeats: 1, Settings: assay.DefaultSettings(),
		},
	}
}

func (w *world) create(n store.NewRun) assay.Run {
	w.Helper()
	run, replayed, err := w.Runs().Create(w.ctx, n)
	w.ok(err)
	if replayed {
		w.Fatal("a new run is said to be replayed")
	}
	return run
}

func (w *world) get(id assay.RunID) assay.Run {
	w.Helper()
	run, err := w.Runs().Get(w.ctx, id)
	w.ok(err)
	return run
}

func (w *world) takeUp(id assay.RunID, epoch int64, dead bool) store.Fence {
	w.Helper()
	run, err := w.Runs().TakeUp(w.ctx, id, epoch, dead, at(2))
	w.ok(err)
	return store.Fence{Run: id, Epoch: run.Epoch}
}

func (w *world) change(id assay.RunID, c store.Change) assay.Run {
	w.Helper()
	if c.Now.IsZero() {
		c.Now = at(9)
	}
	run, err := w.Runs().Change(w.ctx, id, c)
	w.ok(err)
	return run
}

var active = []assay.RunState{assay.RunQueued, assay.RunRunning, assay.RunPaused}

// end makes a run terminal.
func (w *world) end(id assay.RunID, to assay.RunState) assay.Run {
	w.Helper()
	return w.change(id, store.Change{From: active, To: to, Reason: assay.ReasonDone, Sentence: "ended"})
}

// grading makes a run that is grading one item for each head, in one stratum.
func (w *world) grading(n store.NewRun, heads []assay.Head) store.Fence {
	w.Helper()
	f := w.takeUp(w.create(n).ID, 0, false)
	w.plan(f, heads)
	return f
}

func (w *world) plan(f store.Fence, heads []assay.Head) {
	w.Helper()
	strata := []assay.PlannedStratum{{Stratum: assay.Stratum{Day: "2026-03-01", Arm: assay.Control}, Eligible: 2 * int64(len(heads)), Sampled: int64(len(heads))}}
	w.ok(w.Plans().PutStrata(w.ctx, f, strata, int64(len(heads)), assay.Excluded{}))
	var items []assay.Item
	for i, h := range heads {
		items = append(items, assay.Item{Run: f.Run, Seq: int64(i + 1), Session: h.Key, Content: h.Content})
	}
	w.ok(w.Plans().PutItems(w.ctx, f, items, at(3)))
	w.ok(w.Plans().Finish(w.ctx, f, int64(len(items)), at(3)))
}

// opened is attempt n of an item.
func opened(f store.Fence, seq int64, n int) assay.Attempt {
	return assay.Attempt{Run: f.Run, Seq: seq, N: n, Epoch: f.Epoch, Status: assay.AttemptOpen, OpenedAt: at(4), Wait: 5 * time.Millisecond,
		Reserved: ptr(assay.USD(1000))}
}

// closed is the same attempt once its call has returned.
func closed(a assay.Attempt, class assay.Class) assay.Attempt {
	a.Status, a.Class = assay.AttemptDone, class
	a.CallAt, a.EndedAt = ptr(at(5)), ptr(at(6))
	a.HTTPStatus = 200
	a.Usage = assay.Usage{Known: true, Input: 100, Cached: 10, CacheWrite: 3, Output: 20, Reasoning: 5}
	a.Cost = ptr(assay.USD(300))
	a.Model, a.Fingerprint, a.RequestID, a.Seen, a.Raw = "model-2026", "fp", "req-1", hashOf("seen"), `{"pass": true}`
	return a
}

func hashOf(text string) assay.Hash {
	return assay.Hash(fmt.Sprintf("%x", sha256.Sum256([]byte(text))))
}

// graded is an outcome with one finding.
func graded(a assay.Attempt, pass bool) store.Outcome {
	return store.Outcome{
		Attempt: closed(a, assay.ClassNone), State: assay.ItemGraded, Pass: &pass, Counted: true,
		Answers: []assay.Answer{{Pass: &pass, Findings: []assay.Finding{{Criterion: "done", Value: fmt.Append(nil, pass), Applies: true, Reason: "because"}}}},
	}
}

func failed(a assay.Attempt, state assay.ItemState, class assay.Class) store.Outcome {
	return store.Outcome{Attempt: closed(a, class), State: state, Class: class, Error: "it broke", Counted: true}
}

func (w *world) commit(f store.Fence, b store.Batch) assay.RunControl {
	w.Helper()
	if b.Now.IsZero() {
		b.Now = at(7)
	}
	control, err := w.Items().Commit(w.ctx, f, b)
	w.ok(err)
	return control
}

// open opens the first attempts of items.
func (w *world) open(f store.Fence, seqs ...int64) {
	w.Helper()
	var b store.Batch
	for _, seq := range seqs {
		b.Open = append(b.Open, opened(f, seq, 1))
	}
	w.commit(f, b)
}

// grade opens and passes items.
func (w *world) grade(f store.Fence, seqs ...int64) {
	w.Helper()
	w.open(f, seqs...)
	var b store.Batch
	for _, seq := range seqs {
		b.Done = append(b.Done, graded(opened(f, seq, 1), true))
	}
	w.commit(f, b)
}

func (w *world) items(run assay.RunID) []assay.Item {
	w.Helper()
	list, next, err := w.Items().List(w.ctx, run, store.ItemQuery{}, store.Page{Limit: 10_000})
	w.ok(err)
	if next != "" {
		w.Fatal("more items than a test makes")
	}
	return list
}

func (w *world) counts(run assay.RunID) assay.Counts {
	w.Helper()
	n, err := w.Items().Counts(w.ctx, run, at(8))
	w.ok(err)
	if sum := n.Pending + n.Graded + n.Errored + n.Ungradable + n.Cancelled + n.Abandoned; sum != n.Total {
		w.Fatalf("counts do not add up: %+v", n)
	}
	return n
}

func (w *world) spend(run assay.RunID) assay.Spend {
	w.Helper()
	s, err := w.Items().Spend(w.ctx, run)
	w.ok(err)
	return s
}

func (w *world) attempts(run assay.RunID, seq int64) []assay.Attempt {
	w.Helper()
	list, err := w.Items().Attempts(w.ctx, run, seq)
	w.ok(err)
	return list
}

func (w *world) verdictsOf(run assay.RunID) []assay.Verdict {
	w.Helper()
	list, _, err := w.Verdicts().List(w.ctx, store.VerdictQuery{Run: run}, store.Page{Limit: 10_000})
	w.ok(err)
	return list
}

// pages reads a list to its end, two rows at a time, and fails when it does not end.
func pages[T any](t testing.TB, list func(store.Page) ([]T, string, error)) (all []T) {
	t.Helper()
	cursor := ""
	for range 10_000 {
		part, next, err := list(store.Page{Cursor: cursor, Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		if len(part) > 2 {
			t.Fatalf("a page of 2 has %d rows", len(part))
		}
		all = append(all, part...)
		if next == "" {
			return all
		}
		cursor = next
	}
	t.Fatal("the list does not end")
	return nil
}
