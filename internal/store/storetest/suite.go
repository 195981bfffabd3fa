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

func testSuites(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"a suite comes back as it was applied", testApplySuite},
		{"the history of a name", testSuiteHistory},
		{"no such suite or project", func(w *world) {
			_, err := w.Suites().Get(w.ctx, w.project.ID, "nobody")
			w.code(err, assay.CodeNotFound)
			_, err = w.Suites().Apply(w.ctx, 1<<40, []assay.Suite{suite("s", "v1")}, start)
			w.code(err, assay.CodeNotFound)
			list, err := w.Suites().List(w.ctx, w.project.ID)
			w.ok(err)
			equal(w, "suites", len(list), 0)
		}},
		{"a name that is nearly one", func(w *world) {
			_, err := w.Suites().Apply(w.ctx, w.project.ID, []assay.Suite{suite("nightly", "v1"), suite("other", "v1")}, start)
			w.ok(err)
			_, err = w.Schedules().Apply(w.ctx, w.project.ID, []assay.Schedule{schedule("weekly")}, start)
			w.ok(err)
			_, err = w.Suites().Get(w.ctx, w.project.ID, "nigthly")
			equal(w, "get", w.code(err, assay.CodeNotFound).Message, `there is no suite nigthly (did you mean "nightly"?)`)
			equal(w, "delete", w.code(w.Suites().Delete(w.ctx, w.project.ID, "othr"), assay.CodeNotFound).Message, `there is no suite othr (did you mean "other"?)`)
			_, err = w.Suites().Get(w.ctx, w.project.ID, "weekly")
			equal(w, "none is near", w.code(err, assay.CodeNotFound).Message, "there is no suite weekly")
			_, err = w.Schedules().Get(w.ctx, w.project.ID, "week")
			equal(w, "get", w.code(err, assay.CodeNotFound).Message, `there is no schedule week (did you mean "weekly"?)`)
			_, err = w.Schedules().Pause(w.ctx, w.project.ID, "wekly", true, nil)
			equal(w, "pause", w.code(err, assay.CodeNotFound).Message, `there is no schedule wekly (did you mean "weekly"?)`)
			equal(w, "delete", w.code(w.Schedules().Delete(w.ctx, w.project.ID, "wekly"), assay.CodeNotFound).Message, `there is no schedule wekly (did you mean "weekly"?)`)
		}},
		{"a definition that is no JSON keeps the one before", func(w *world) {
			before := suite("s", "v1")
			_, err := w.Suites().Apply(w.ctx, w.project.ID, []assay.Suite{before}, start)
			w.ok(err)
			bad := suite("s", "v2")
			bad.Def.Params[0].Default = json.RawMessage("{")
			_, err = w.Suites().Apply(w.ctx, w.project.ID, []assay.Suite{bad}, at(1))
			w.code(err, assay.CodeInvalid)
			got, err := w.Suites().Get(w.ctx, w.project.ID, "s")
			w.ok(err)
			before.UpdatedAt = start
			equal(w, "suite", got, before)
		}},
		{"of several all are applied or none", testApplySeveral},
		{"many who apply at once", testApplyTogether},
		{"a run of a suite comes back as it was accepted", testCreateSuiteRun},
		{"a run that reports runs from the start", testReporting},
		{"100 simultaneous starts of one suite give one run and 99 conflicts", testSimultaneousSuites},
		{"a run of a suite is taken up", testTakeUpSuite},
		{"the newest run of each suite", testNewest},
		{"runs of one suite", testRunsOfSuite},
		{"a suite is deleted, and its runs stay", testDeleteSuite},
	})
}

// suite is one with something in every field.
func suite(name string, version assay.Hash) assay.Suite {
	return assay.Suite{Name: name, Version: version, Source: "# " + string(version) + "\nname: " + name, Def: assay.SuiteDefinition{
		Description: "nightly <b>&", Command: []string{"python", "-m", "evals"}, Dir: "/srv/evals",
		Params: []assay.SuiteParam{
			{Name: "limit", Type: assay.ParamInt, Default: json.RawMessage("10"), Flag: "--limit", Min: ptr(1.0), Max: ptr(1e6)},
			{Name: "model", Type: assay.ParamString, Required: true, Env: "MODEL", Values: []string{"a", "b"}, Pattern: "^[ab]$", MaxLength: 1},
		},
		Env: assay.SuiteEnv{Pass: []assay.PassEnv{{Name: "HOME"}, {Name: "X", From: "Y", Fallback: ptr("")}}, Set: map[string]string{"B": "2", "A": "1"},
			Secrets: []assay.SecretEnv{{Name: "KEY", Command: []string{"pass", "key"}}}},
		TimeLimit: assay.Seconds(time.Hour), IdleAlarm: assay.Seconds(10 * time.Minute), Grace: assay.Seconds(1500 * time.Millisecond), OrphanGrace: assay.Seconds(time.Minute),
		Success:    assay.SuccessRule{ExitCodes: []int{0, 100}, NeedResults: true, MaxFailed: ptr(int64(3)), MinPassRate: ptr(0.95)},
		Experiment: &assay.LinkRule{Pattern: `https://x/\d+`, First: true},
		Results:    []assay.ResultFile{{Format: assay.ResultJUnit, Path: "out/*.xml"}}, Needs: []string{"gpu"}, LostRetries: 2, LogBytes: 1 << 20,
	}}
}

// newSuiteRun is a run of a suite to be accepted.
func (w *world) newSuiteRun(name string) store.NewRun {
	s := suite(name, "suite-v1")
	return store.NewRun{
		Project: w.project.ID, Kind: assay.RunSuite, Concurrency: 1, By: "tester", AsOf: start, Now: at(1), Sentence: "waits for a driver",
		Keys: []string{assay.KeySuite(name)},
		Suite: &assay.SuiteSpec{Name: name, Version: s.Version, Def: &s.Def, Argv: []string{"python", "-m", "evals", "--limit", "10"}, Schedule: "nightly",
			Params: []assay.ParamValue{{Name: "limit", Value: json.RawMessage("10"), Source: assay.ParamDefault}}},
	}
}

// newExternalRun is a run that reports from elsewhere.
func (w *world) newExternalRun(name string) store.NewRun {
	n := w.newSuiteRun(name)
	n.Kind, n.Reporting, n.Keys, n.Sentence = assay.RunExternal, true, nil, ""
	n.Suite = &assay.SuiteSpec{Name: name, Argv: []string{"make", "eval"}, Stale: assay.Seconds(time.Minute)}
	return n
}

func testApplySuite(w *world) {
	apply := func(s assay.Suite, now time.Time) bool {
		w.Helper()
		changed, err := w.Suites().Apply(w.ctx, w.project.ID, []assay.Suite{s}, now)
		w.ok(err)
		return changed[0]
	}
	get := func(name string) assay.Suite {
		w.Helper()
		s, err := w.Suites().Get(w.ctx, w.project.ID, name)
		w.ok(err)
		return s
	}
	b, a := suite("b", "v1"), suite("a", "v1")
	equal(w, "changed, the first time", apply(b, at(1)), true)
	equal(w, "changed, another name", apply(a, at(2)), true)
	a.UpdatedAt, b.UpdatedAt = at(2), at(1)
	equal(w, "suite", get("b"), b)
	equal(w, "changed, the same", apply(b, at(3)), false)
	equal(w, "suite, which the same did not touch", get("b"), b)
	b.Source += "\n# a comment"
	equal(w, "changed, another source", apply(b, at(4)), true)
	b.Def.Description = "other"
	equal(w, "changed, another definition of the same version", apply(b, at(5)), true)
	b.UpdatedAt = at(5)
	equal(w, "suite", get("b"), b)

	other := newWorld(w.T, w.Store)
	_, err := other.Suites().Apply(w.ctx, other.project.ID, []assay.Suite{suite("b", "v9")}, at(6))
	w.ok(err)
	list, err := w.Suites().List(w.ctx, w.project.ID)
	w.ok(err)
	equal(w, "suites in the order of names", list, []assay.Suite{a, b})
}

func testSuiteHistory(w *world) {
	first, second := suite("s", "v1"), suite("s", "v2")
	second.Def.Command = []string{"other"}
	commented := second
	commented.Source += "# comment"
	for i, s := range []assay.Suite{first, second, commented, first} {
		_, err := w.Suites().Apply(w.ctx, w.project.ID, []assay.Suite{s}, at(i))
		w.ok(err)
	}
	_, err := w.Suites().Apply(w.ctx, w.project.ID, []assay.Suite{suite("other", "v3")}, at(9))
	w.ok(err)
	list, err := w.Suites().History(w.ctx, w.project.ID, "s")
	w.ok(err)
	equal(w, "history", list, []store.SuiteChange{
		{Version: "v1", Def: first.Def, AppliedAt: at(3)}, {Version: "v2", Def: second.Def, AppliedAt: at(1)}, {Version: "v1", Def: first.Def, AppliedAt: at(0)},
	})
}

// A store that fails in the middle has applied none.
func testApplySeveral(w *world) {
	first := suite("a", "v1")
	_, err := w.Suites().Apply(w.ctx, w.project.ID, []assay.Suite{first}, start)
	w.ok(err)
	bad := suite("bad", "v2")
	bad.Def.Params[0].Default = json.RawMessage("{")
	changed, err := w.Suites().Apply(w.ctx, w.project.ID, []assay.Suite{suite("a", "v2"), suite("b", "v1"), bad, suite("c", "v1")}, at(1))
	w.code(err, assay.CodeInvalid)
	equal(w, "changed", changed, []bool(nil))
	first.UpdatedAt = start
	list, err := w.Suites().List(w.ctx, w.project.ID)
	w.ok(err)
	equal(w, "suites after a list that is not applied", list, []assay.Suite{first})
	history, err := w.Suites().History(w.ctx, w.project.ID, "a")
	w.ok(err)
	equal(w, "versions in the history", len(history), 1)
	changed, err = w.Suites().Apply(w.ctx, w.project.ID, []assay.Suite{suite("a", "v1"), suite("b", "v1"), suite("c", "v1")}, at(2))
	w.ok(err)
	equal(w, "changed of several", changed, []bool{false, true, true})
	changed, err = w.Suites().Apply(w.ctx, w.project.ID, nil, at(3))
	w.ok(err)
	equal(w, "changed of none", len(changed), 0)
}

func testApplyTogether(w *world) {
	changed := make([][]bool, 20)
	together(len(changed), func(i int) {
		var err error
		changed[i], err = w.Suites().Apply(w.ctx, w.project.ID, []assay.Suite{suite("s", assay.Hash(fmt.Sprint("v", i%2)))}, at(i))
		if err != nil {
			w.Error(err)
		}
	})
	n := 0
	for _, c := range changed {
		if len(c) == 1 && c[0] {
			n++
		}
	}
	list, err := w.Suites().History(w.ctx, w.project.ID, "s")
	w.ok(err)
	equal(w, "changes that were told, and those in the history", n, len(list))
	for i := 1; i < len(list); i++ {
		if list[i].Version == list[i-1].Version {
			w.Errorf("the history holds a change from %s to itself", list[i].Version)
		}
	}
}

func testCreateSuiteRun(w *world) {
	n := w.newSuiteRun("nightly")
	run := w.create(n)
	want := assay.Run{
		ID: run.ID, ProjectID: w.project.ID, Project: w.project.Name, Kind: assay.RunSuite, State: assay.RunQueued, Reason: assay.ReasonAccepted,
		Sentence: "waits for a driver", Suite: n.Suite, By: "tester", Revision: run.Revision, Concurrency: 1, AsOf: start, CreatedAt: at(1),
	}
	equal(w, "created", run, want)
	equal(w, "got", w.get(run.ID), want)
	list, _, err := w.Runs().List(w.ctx, store.RunQuery{Project: w.project.ID}, store.Page{})
	w.ok(err)
	want.Suite = new(want.Suite.Head())
	equal(w, "listed", list, []assay.Run{want})
	facts, err := w.Harnesses().Facts(w.ctx, run.ID)
	w.ok(err)
	equal(w, "facts", facts, assay.Harness{})
	equal(w, "grade runs have no suite", w.create(w.newRun()).Suite, (*assay.SuiteSpec)(nil))

	bad := w.newSuiteRun("bad")
	bad.Suite.Params[0].Value = json.RawMessage("{")
	_, _, err = w.Runs().Create(w.ctx, bad)
	w.code(err, assay.CodeInvalid)
	bad.Suite.Params = nil
	w.create(bad) // the refused one left no key
}

func testReporting(w *world) {
	n := w.newExternalRun("ci")
	run := w.create(n)
	equal(w, "how it begins", []any{run.State, run.Phase, run.Reason, run.Epoch, run.StartedAt, run.HeartbeatAt, run.ProgressAt},
		[]any{assay.RunRunning, assay.PhaseExecuting, assay.ReasonNone, int64(1), ptr(at(1)), ptr(at(1)), (*time.Time)(nil)})
	equal(w, "the version of a name is always the same", w.create(n).Suite.Version, run.Suite.Version)
	if other := w.create(w.newExternalRun("other")); run.Suite.Version == "" || other.Suite.Version == run.Suite.Version {
		w.Errorf("versions %q and %q", run.Suite.Version, other.Suite.Version)
	}
	equal(w, "what was asked is left as it was", n.Suite.Version, assay.Hash(""))
	known := w.newExternalRun("known")
	known.Suite.Version = "v7"
	equal(w, "a version that is known stays", w.create(known).Suite.Version, assay.Hash("v7"))

	before := w.get(run.ID)
	for _, dead := range []bool{true, false} {
		_, err := w.Runs().TakeUp(w.ctx, run.ID, 1, dead, at(2))
		w.code(err, assay.CodeRefused)
	}
	equal(w, "the run after somebody tried to take it up", w.get(run.ID), before)
	_, err := w.Runs().Beat(w.ctx, store.Fence{Run: run.ID, Epoch: 1}, at(3))
	w.ok(err)
	equal(w, "state after its end", w.end(run.ID, assay.RunStateLost).State, assay.RunStateLost)
}

func testSimultaneousSuites(w *world) {
	type answer struct {
		run assay.Run
		err error
	}
	answers := make([]answer, 100)
	together(len(answers), func(i int) {
		n := w.newSuiteRun("nightly")
		if i%3 == 0 { // an external run that asks for the key is one more
			n = w.newExternalRun("nightly")
			n.Keys = []string{assay.KeySuite("nightly")}
		}
		run, _, err := w.Runs().Create(w.ctx, n)
		answers[i] = answer{run, err}
	})
	var made []assay.Run
	for _, a := range answers {
		if a.err == nil {
			made = append(made, a.run)
		}
	}
	equal(w, "runs made", len(made), 1)
	conflicts := 0
	for _, a := range answers {
		if a.err != nil {
			e := w.code(a.err, assay.CodeConflict)
			equal(w, "details", e.Details, map[string]string{"run": made[0].ID.String(), "state": string(made[0].State), "key": "suite:nightly"})
			conflicts++
		}
	}
	equal(w, "conflicts", conflicts, 99)
	list, _, err := w.Runs().List(w.ctx, store.RunQuery{Project: w.project.ID}, store.Page{})
	w.ok(err)
	equal(w, "runs stored", len(list), 1)
	_, err = w.Harnesses().Facts(w.ctx, made[0].ID)
	w.ok(err)
	w.create(w.newSuiteRun("weekly"))
	w.end(made[0].ID, assay.RunFailed)
	w.create(w.newSuiteRun("nightly"))
}

func testTakeUpSuite(w *world) {
	run := w.create(w.newSuiteRun("s"))
	f := w.takeUp(run.ID, 0, false)
	equal(w, "phase", w.get(run.ID).Phase, assay.PhaseStarting)
	from := []assay.RunState{assay.RunRunning}
	w.change(run.ID, store.Change{From: from, Epoch: &f.Epoch, To: assay.RunRunning, Phase: assay.PhaseExecuting})
	next := w.takeUp(run.ID, f.Epoch, true)
	equal(w, "epoch and phase once it is carried on", []any{next.Epoch, w.get(run.ID).Phase}, []any{int64(2), assay.PhaseExecuting})
	w.change(run.ID, store.Change{From: from, Epoch: &next.Epoch, To: assay.RunQueued, Phase: assay.PhaseStarting, Reason: assay.ReasonLostRetried, Sentence: "again"})
	w.takeUp(run.ID, next.Epoch, false)
	again := w.get(run.ID)
	equal(w, "once it was lost and is started again", []any{again.Epoch, again.Phase, again.StartedAt}, []any{int64(3), assay.PhaseStarting, ptr(at(2))})
}

func testNewest(w *world) {
	newest := func() map[string]assay.Run {
		w.Helper()
		m, err := w.Suites().Newest(w.ctx, w.project.ID)
		w.ok(err)
		return m
	}
	equal(w, "before any run", newest(), map[string]assay.Run{})
	w.create(w.newRun())
	equal(w, "a grade run is of no suite", newest(), map[string]assay.Run{})
	want := map[string]assay.Run{}
	for i := range 3 {
		for _, name := range []string{"b", "a", "", "я", "a b"} {
			n := w.newExternalRun(name)
			if i == 1 {
				n = w.newSuiteRun(name)
			}
			run := w.create(n)
			if i == 1 {
				run = w.end(run.ID, assay.RunFailed)
			}
			run.Suite = new(run.Suite.Head())
			want[name] = run
		}
	}
	other := newWorld(w.T, w.Store)
	other.create(other.newExternalRun("a"))
	equal(w, "newest", newest(), want)
}

func testRunsOfSuite(w *world) {
	other := newWorld(w.T, w.Store)
	ids := map[string][]assay.RunID{}
	start := func(w *world, n store.NewRun) {
		w.Helper()
		run, _, err := w.Runs().Create(w.ctx, n)
		w.ok(err)
		key := fmt.Sprint(w.project.ID, " ", n.Suite.Name)
		ids[key] = append([]assay.RunID{run.ID}, ids[key]...)
	}
	for range 3 {
		for _, name := range []string{"a", "b"} {
			start(w, w.newExternalRun(name))
			start(other, other.newExternalRun(name))
		}
	}
	start(w, w.newSuiteRun("a"))
	_, _, err := w.Runs().Create(w.ctx, w.newRun())
	w.ok(err)
	paged := func(q store.RunQuery) (got []assay.RunID) {
		for _, run := range pages(w, func(p store.Page) ([]assay.Run, string, error) { return w.Runs().List(w.ctx, q, p) }) {
			got = append(got, run.ID)
		}
		return got
	}
	mine := fmt.Sprint(w.project.ID, " a")
	equal(w, "runs of a", paged(store.RunQuery{Project: w.project.ID, Suite: "a"}), ids[mine])
	equal(w, "runs of a that are external", paged(store.RunQuery{Project: w.project.ID, Suite: "a", Kind: assay.RunExternal}), ids[mine][1:])
	equal(w, "runs of a that ended", len(paged(store.RunQuery{Project: w.project.ID, Suite: "a", States: []assay.RunState{assay.RunFailed}})), 0)
	equal(w, "runs of nobody", len(paged(store.RunQuery{Project: w.project.ID, Suite: "nobody"})), 0)
	all := paged(store.RunQuery{Suite: "a"})
	for _, id := range append(ids[mine], ids[fmt.Sprint(other.project.ID, " a")]...) {
		if !slices.Contains(all, id) {
			w.Errorf("run %s is not among those of every project: %v", id, all)
		}
	}
}

func testDeleteSuite(w *world) {
	other := newWorld(w.T, w.Store)
	for _, p := range []assay.ProjectID{w.project.ID, other.project.ID} {
		_, err := w.Suites().Apply(w.ctx, p, []assay.Suite{suite("s", "suite-v1")}, start)
		w.ok(err)
	}
	run, _, err := w.Runs().Create(w.ctx, w.newSuiteRun("s"))
	w.ok(err)
	w.ok(w.Suites().Delete(w.ctx, w.project.ID, "s"))
	_, err = w.Suites().Get(w.ctx, w.project.ID, "s")
	w.code(err, assay.CodeNotFound)
	w.code(w.Suites().Delete(w.ctx, w.project.ID, "s"), assay.CodeNotFound)
	_, err = w.Suites().Get(w.ctx, other.project.ID, "s")
	w.ok(err)
	equal(w, "its run", w.get(run.ID), run)
	history, err := w.Suites().History(w.ctx, w.project.ID, "s")
	w.ok(err)
	equal(w, "what the name has meant", len(history), 1)
	changed, err := w.Suites().Apply(w.ctx, w.project.ID, []assay.Suite{suite("s", "suite-v1")}, at(5))
	w.ok(err)
	equal(w, "changed, when it is applied again", changed, []bool{true})
}
