package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"assay/internal/assay"
	"assay/internal/store"
)

func testHarnesses(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"facts", testFacts},
		{"facts of many runs", testFactsOf},
		{"lists have heads", testHeads},
		{"a run without a harness", testNoFacts},
		{"reports", testReport},
		{"a late report is recorded and resurrects nothing", testLateReport},
		{"reports at once lose nothing", testReportsTogether},
		{"reports of the past turn no heartbeat back", func(w *world) {
			run := w.create(w.newExternalRun("s"))
			w.report(run.ID, at(60), func(f *assay.Harness) bool { return false })
			equal(w, "heartbeat", w.report(run.ID, at(50), func(f *assay.Harness) bool { return false }).HeartbeatAt, ptr(at(60)))
		}},
		{"a driver that lost its run writes nothing", testHarnessFence},
		{"points", testPoints},
	})
}

// facts have something in every field.
func facts() assay.Harness {
	return assay.Harness{
		Launch: 2, Where: "host", PID: 4711, Env: []string{"A=1", "KEY=***"}, LaunchedAt: ptr(at(2)), ActiveAt: ptr(at(3)), Idle: true,
		Progress: &assay.Progress{Done: 3.5, Total: 10, Text: "<3> of \u2028 10", Guessed: true, At: at(3)},
		Metrics:  []assay.Metric{{Name: "accuracy", Value: 1.0 / 3, At: at(3)}}, Points: 5, Links: []assay.Link{{URL: "https://x/?a=1&b=2", Text: "x"}},
		Experiment: "https://x/1", LogBytes: 1 << 40, LogLines: 7, LogDropped: 9,
		Exit:    &assay.Exit{Cause: assay.ExitTimeLimit, Code: -1, Signal: "SIGKILL", Killed: true, Error: "e", At: at(4)},
		Results: []assay.ResultSum{{Path: "out.xml", Format: assay.ResultJUnit, Cases: 3, Error: "line 7"}}, LateAt: ptr(at(5)), Late: "exit 0",
	}
}

// suiteRun is a suite run that a driver has taken up.
func (w *world) suiteRun(name string) store.Fence {
	w.Helper()
	return w.takeUp(w.create(w.newSuiteRun(name)).ID, 0, false)
}

func (w *world) facts(run assay.RunID) assay.Harness {
	w.Helper()
	f, err := w.Harnesses().Facts(w.ctx, run)
	w.ok(err)
	return f
}

func (w *world) report(run assay.RunID, now time.Time, change func(*assay.Harness) (advanced bool)) assay.Run {
	w.Helper()
	r, err := w.Harnesses().Report(w.ctx, run, now, func(f *assay.Harness, ended bool) (bool, error) { return change(f), nil })
	w.ok(err)
	return r
}

func testFacts(w *world) {
	f := w.suiteRun("s")
	next := w.takeUp(f.Run, f.Epoch, true)
	equal(w, "stalls", w.get(f.Run).Stalls, 1)
	before := w.get(f.Run)
	given := facts()
	given.ActiveAt = ptr(at(3).Add(7).In(time.FixedZone("x", 3600))) // nanoseconds and another zone
	control, err := w.Harnesses().Put(w.ctx, next, given, false, at(6))
	w.ok(err)
	equal(w, "facts", w.facts(f.Run), facts())
	equal(w, "what the caller gave is left as it was", given.ActiveAt.Nanosecond(), at(3).Nanosecond()+7)
	run := w.get(f.Run)
	equal(w, "control", control, assay.RunControl{Concurrency: 1, Revision: run.Revision})
	if run.Revision <= before.Revision {
		w.Error("the revision did not grow")
	}
	equal(w, "heartbeat, progress and stalls", []any{run.HeartbeatAt, run.ProgressAt, run.Stalls}, []any{ptr(at(6)), (*time.Time)(nil), 1})

	_, err = w.Runs().Ask(w.ctx, f.Run, store.AskCancelNow, "", at(7))
	w.ok(err)
	control, err = w.Harnesses().Put(w.ctx, next, assay.Harness{Launch: 1}, true, at(8))
	w.ok(err)
	equal(w, "control after a cancel", []bool{control.Cancel, control.Now}, []bool{true, true})
	run = w.get(f.Run)
	equal(w, "facts are replaced", w.facts(f.Run), assay.Harness{Launch: 1})
	equal(w, "heartbeat, progress and stalls once it advanced", []any{run.HeartbeatAt, run.ProgressAt, run.Stalls}, []any{ptr(at(8)), ptr(at(8)), 0})
	_, err = w.Harnesses().Put(w.ctx, next, assay.Harness{}, false, at(9))
	w.ok(err)
	equal(w, "progress stays", w.get(f.Run).ProgressAt, ptr(at(8)))

	bad := facts()
	bad.Metrics[0].Value = math.NaN()
	_, err = w.Harnesses().Put(w.ctx, next, bad, true, at(10))
	w.code(err, assay.CodeInvalid)
	equal(w, "heartbeat after facts that cannot be stored", w.get(f.Run).HeartbeatAt, ptr(at(9)))
}

func testFactsOf(w *world) {
	var ids []assay.RunID
	for i := range 3 {
		f := w.suiteRun(fmt.Sprint("s", i))
		_, err := w.Harnesses().Put(w.ctx, f, assay.Harness{PID: i + 1}, false, at(3))
		w.ok(err)
		ids = append(ids, f.Run)
	}
	grade := w.create(w.newRun()).ID
	got, err := w.Harnesses().FactsOf(w.ctx, []assay.RunID{ids[2], grade, ids[0], 1 << 40})
	w.ok(err)
	equal(w, "facts", got, map[assay.RunID]assay.Harness{ids[0]: {PID: 1}, ids[2]: {PID: 3}})
	got, err = w.Harnesses().FactsOf(w.ctx, nil)
	w.ok(err)
	equal(w, "facts of none", got, map[assay.RunID]assay.Harness{})
}

// A page of runs may hold a thousand of them.
func testHeads(w *world) {
	n := w.newSuiteRun("s")
	run := w.create(n)
	f := w.takeUp(run.ID, 0, false)
	full := facts()
	full.Exit.Error = strings.Repeat("é", 5000)
	_, err := w.Harnesses().Put(w.ctx, f, full, false, at(3))
	w.ok(err)
	many := w.newExternalRun("many")
	many.Suite.Params = []assay.ParamValue{{Name: "p", Value: json.RawMessage(`"` + strings.Repeat("x", 3000) + `"`), Source: assay.ParamGiven}}
	w.create(many)
	list, _, err := w.Runs().List(w.ctx, store.RunQuery{Project: w.project.ID}, store.Page{})
	w.ok(err)
	newest, err := w.Suites().Newest(w.ctx, w.project.ID)
	w.ok(err)
	spec := assay.SuiteSpec{Name: "s", Version: n.Suite.Version, Schedule: "nightly", Params: n.Suite.Params}
	for name, got := range map[string]*assay.SuiteSpec{"listed": list[1].Suite, "newest": newest["s"].Suite} {
		equal(w, name, *got, spec)
	}
	equal(w, "parameters that are long", list[0].Suite.Params, []assay.ParamValue(nil))
	equal(w, "of one run", w.get(run.ID).Suite.Argv, n.Suite.Argv)
	all, err := w.Harnesses().FactsOf(w.ctx, []assay.RunID{run.ID})
	w.ok(err)
	head := all[run.ID]
	if text := head.Exit.Error; len(text) < 400 || len(text) > 600 || !utf8.ValidString(text) {
		w.Errorf("the error of a head has %d bytes", len(text))
	}
	want := facts()
	want.Env, want.Metrics, want.Links, want.Results, want.Late, want.Exit.Error = nil, nil, nil, nil, "", head.Exit.Error
	equal(w, "facts", head, want)
	equal(w, "facts of one run", w.facts(run.ID), full)
}

func testNoFacts(w *world) {
	grade := w.takeUp(w.create(w.newRun()).ID, 0, false)
	before := w.get(grade.Run)
	for _, run := range []assay.RunID{grade.Run, 1 << 40} {
		_, err := w.Harnesses().Facts(w.ctx, run)
		w.code(err, assay.CodeNotFound)
	}
	_, err := w.Harnesses().Put(w.ctx, grade, facts(), true, at(9))
	w.code(err, assay.CodeNotFound)
	nobody := func(*assay.Harness, bool) (bool, error) {
		w.Error("it was asked to change facts")
		return false, nil
	}
	suite := w.suiteRun("s")
	for run, want := range map[assay.RunID]assay.Code{grade.Run: assay.CodeRefused, suite.Run: assay.CodeRefused, 1 << 40: assay.CodeNotFound} {
		_, err = w.Harnesses().Report(w.ctx, run, at(9), nobody)
		w.code(err, want)
	}
	equal(w, "the grade run", w.get(grade.Run), before)
}

func testReport(w *world) {
	run := w.create(w.newExternalRun("s"))
	got, err := w.Harnesses().Report(w.ctx, run.ID, at(5), func(f *assay.Harness, ended bool) (bool, error) {
		equal(w, "facts of a new run, which has not ended", []any{*f, ended}, []any{assay.Harness{}, false})
		*f = facts()
		return false, nil
	})
	w.ok(err)
	equal(w, "heartbeat and progress", []any{got.HeartbeatAt, got.ProgressAt}, []any{ptr(at(5)), (*time.Time)(nil)})
	equal(w, "run", w.get(run.ID), got)
	equal(w, "facts", w.facts(run.ID), facts())
	got = w.report(run.ID, at(6), func(f *assay.Harness) bool { f.LogLines++; return true })
	equal(w, "heartbeat and progress", []any{got.HeartbeatAt, got.ProgressAt, w.facts(run.ID).LogLines}, []any{ptr(at(6)), ptr(at(6)), int64(8)})

	sentinel := errors.New("on purpose")
	_, err = w.Harnesses().Report(w.ctx, run.ID, at(7), func(f *assay.Harness, ended bool) (bool, error) {
		f.LogLines = 99
		return true, sentinel
	})
	if err != sentinel {
		w.Errorf("error %v, want the caller's own", err)
	}
	_, err = w.Harnesses().Report(w.ctx, run.ID, at(7), func(f *assay.Harness, ended bool) (bool, error) {
		f.Progress = &assay.Progress{Done: math.Inf(1)}
		return true, nil
	})
	w.code(err, assay.CodeInvalid)
	equal(w, "run after reports that failed", w.get(run.ID), got)
	equal(w, "facts after reports that failed", w.facts(run.ID).LogLines, int64(8))
}

func testLateReport(w *world) {
	for _, to := range []assay.RunState{assay.RunCompleted, assay.RunFailed, assay.RunCancelled, assay.RunStateLost} {
		run := w.create(w.newExternalRun("s"))
		w.report(run.ID, at(5), func(f *assay.Harness) bool { f.LogLines = 7; return true })
		ended := w.end(run.ID, to)
		got, err := w.Harnesses().Report(w.ctx, run.ID, at(90), func(f *assay.Harness, ended bool) (bool, error) {
			equal(w, "facts and whether it has ended", []any{f.LogLines, ended}, []any{int64(7), true})
			f.LateAt, f.Late = ptr(at(90)), "exit 0"
			return true, nil
		})
		w.ok(err)
		equal(w, "run", got, ended)
		equal(w, "run as stored", w.get(run.ID), ended)
		equal(w, "facts", w.facts(run.ID), assay.Harness{LogLines: 7, LateAt: ptr(at(90)), Late: "exit 0"})
	}
}

func testReportsTogether(w *world) {
	run := w.create(w.newExternalRun("s"))
	const reporters, reports = 20, 10
	together(reporters, func(i int) {
		for n := range reports {
			if _, err := w.Harnesses().Report(w.ctx, run.ID, at(10+n), func(f *assay.Harness, ended bool) (bool, error) {
				f.LogLines++
				f.Links = append(f.Links, assay.Link{URL: fmt.Sprint(i, "/", n)})
				return n%2 == 0, nil
			}); err != nil {
				w.Error(err)
				return
			}
		}
	})
	got := w.facts(run.ID)
	equal(w, "lines", got.LogLines, int64(reporters*reports))
	slices.SortFunc(got.Links, func(a, b assay.Link) int { return strings.Compare(a.URL, b.URL) })
	equal(w, "links, each once", len(slices.Compact(got.Links)), reporters*reports)
	equal(w, "heartbeat", w.get(run.ID).HeartbeatAt, ptr(at(10+reports-1)))
}

func testHarnessFence(w *world) {
	old := w.suiteRun("s")
	w.putCases(old, gradedCase(1, "a", true), gradedCase(2, "b", false))
	_, err := w.Harnesses().Put(w.ctx, old, facts(), true, at(5))
	w.ok(err)
	ended := w.suiteRun("t")
	w.putCases(ended, gradedCase(1, "a", true))
	w.end(ended.Run, assay.RunFailed)
	w.takeUp(old.Run, old.Epoch, true)
	for name, f := range map[string]store.Fence{"taken over": old, "ended": ended, "of no run": {Run: 1 << 40, Epoch: 1}} {
		all := func() any {
			all := []any{w.everything(f.Run), w.cases(f.Run)}
			facts, err := w.Harnesses().Facts(w.ctx, f.Run)
			return append(all, facts, err == nil)
		}
		for method, call := range map[string]func() error{
			"Put": func() error {
				_, err := w.Harnesses().Put(w.ctx, f, assay.Harness{Launch: 9}, true, at(99))
				return err
			},
			"ResetCases": func() error { return w.Harnesses().ResetCases(w.ctx, f) },
			"PutCases": func() error {
				return w.Harnesses().PutCases(w.ctx, f, []assay.Case{gradedCase(9, "z", true)}, at(99))
			},
			"PutCases of none": func() error { return w.Harnesses().PutCases(w.ctx, f, nil, at(99)) },
		} {
			before := all()
			if err := call(); err == nil {
				w.Errorf("%s, %s: it was done without a claim", method, name)
			} else {
				w.lost(err)
			}
			equal(w, "everything after "+method+", "+name, all(), before)
		}
	}
}

func testPoints(w *world) {
	run := w.create(w.newExternalRun("s")).ID
	point := func(n int64, name string, value float64) store.Point {
		return store.Point{N: n, Metric: assay.Metric{Name: name, Value: value, At: at(int(n))}}
	}
	var all []store.Point
	for n := range int64(100) {
		all = append(all, point(n+1, []string{"loss", "acc <é>"}[n%2], 1/float64(n+1)))
	}
	w.ok(w.Harnesses().AddPoints(w.ctx, run, all[50:]))
	w.ok(w.Harnesses().AddPoints(w.ctx, run, all[:70]))
	w.ok(w.Harnesses().AddPoints(w.ctx, run, []store.Point{point(1, "loss", 7), point(101, "loss", math.MaxFloat64), point(101, "loss", 8), point(102, "loss", -5e-324)}))
	w.ok(w.Harnesses().AddPoints(w.ctx, run, nil))
	w.end(run, assay.RunStateLost)
	w.ok(w.Harnesses().AddPoints(w.ctx, run, []store.Point{point(103, "late", 0)}))
	points := func(name string, limit int) []store.Point {
		w.Helper()
		list, err := w.Harnesses().Points(w.ctx, run, name, limit)
		w.ok(err)
		return list
	}
	var loss []store.Point
	for i := 0; i < 100; i += 2 {
		loss = append(loss, all[i])
	}
	loss = append(loss, point(101, "loss", math.MaxFloat64), point(102, "loss", -5e-324))
	equal(w, "points", points("loss", 1000), loss)
	equal(w, "the newest", points("loss", 3), loss[len(loss)-3:])
	equal(w, "of another metric", len(points("acc <é>", 1000)), 50)
	equal(w, "of a late one", points("late", 1), []store.Point{point(103, "late", 0)})
	equal(w, "of none", len(points("nothing", 10))+len(points("loss", 0))+len(points("loss", -1)), 0)

	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		w.code(w.Harnesses().AddPoints(w.ctx, run, []store.Point{point(200, "loss", 1), point(201, "loss", bad)}), assay.CodeInvalid)
	}
	equal(w, "points after some that cannot be stored", len(points("loss", 1000)), len(loss))
	w.code(w.Harnesses().AddPoints(w.ctx, 1<<40, all[:1]), assay.CodeNotFound)
	value, err := json.Marshal(points("loss", 1))
	w.ok(err)
	equal(w, "as JSON", strings.Contains(string(value), `"value":-5e-324`), true)
}
