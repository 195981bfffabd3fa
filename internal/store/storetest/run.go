package storetest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testRuns(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"a run comes back as it was accepted", testCreate},
		{"100 simultaneous starts with one key give one run and 99 conflicts", testSimultaneous},
		{"100 simultaneous requests with one idempotency key give one run", testSimultaneousIdempotent},
		{"keys", testKeys},
		{"idempotency", testIdempotency},
		{"a refused start leaves nothing", func(w *world) {
			n := w.newRun()
			n.Keys = []string{"b"}
			holder := w.create(n)
			n.Keys = []string{"a", "b", "c"}
			n.Idempotency = &store.Idempotency{Route: "r", Key: "k", BodyHash: "h"}
			_, _, err := w.Runs().Create(w.ctx, n)
			w.code(err, assay.CodeConflict)
			list, _, err := w.Runs().List(w.ctx, store.RunQuery{Project: w.project.ID}, store.Page{})
			w.ok(err)
			equal(w, "runs", len(list), 1)
			w.end(holder.ID, assay.RunCompleted)
			_, replayed, err := w.Runs().Create(w.ctx, n)
			w.ok(err)
			equal(w, "replayed, though the first request was refused", replayed, false)
		}},
		{"no such run or project", func(w *world) {
			_, err := w.Runs().Get(w.ctx, 1<<40)
			w.code(err, assay.CodeNotFound)
			n := w.newRun()
			n.Project = 1 << 40
			_, _, err = w.Runs().Create(w.ctx, n)
			w.code(err, assay.CodeNotFound)
		}},
		{"list", testRunList},
	})
}

func testCreate(w *world) {
	n := w.newRun()
	n.Kind, n.Concurrency, n.By, n.AsOf, n.Now, n.Sentence = assay.RunSingle, 17, "ann", at(-5), at(5).Add(1), "waits"
	n.Spec = assay.GradeSpec{
		Frame:  assay.Frame{From: ptr(at(-100)), To: ptr(at(100)), Filter: `arm == "x" && turns > 2`, Set: "s", Labelled: true, Undated: true, Session: "u/s"},
		Judges: []assay.RunJudge{{Name: "a", Version: "v1", Settings: json.RawMessage(`{"z":1,"a":[]}`)}, {Name: "b", Version: "v2"}}, PerStratum: 3, Seed: "sеed", Repeats: 2, Force: true,
		Settings: assay.DefaultSettings(),
	}
	old := w.create(w.newRun())
	n.RetryOf = old.ID
	run := w.create(n)
	if run.ID <= old.ID {
		w.Error("numbers of runs do not grow")
	}
	want := assay.Run{
		ID: run.ID, ProjectID: w.project.ID, Project: w.project.Name, Kind: assay.RunSingle, State: assay.RunQueued, Reason: assay.ReasonAccepted, Sentence: "waits",
		Spec: n.Spec, By: "ann", RetryOf: old.ID, Revision: run.Revision, Concurrency: 17, AsOf: at(-5), CreatedAt: at(5),
	}
	equal(w, "created", run, want)
	equal(w, "got", w.get(run.ID), want)
}

// together calls f n times at once and returns once all have returned.
func together(n int, f func(i int)) {
	var group sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		group.Go(func() {
			<-gate
			f(i)
		})
	}
	close(gate)
	group.Wait()
}

func testSimultaneous(w *world) {
	type answer struct {
		run assay.Run
		err error
	}
	answers := make([]answer, 100)
	together(len(answers), func(i int) {
		n := w.newRun()
		n.Keys = []string{assay.KeyGrade("j")}
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
	for _, a := range answers {
		if a.err != nil {
			e := w.code(a.err, assay.CodeConflict)
			equal(w, "details", e.Details, map[string]string{"run": made[0].ID.String(), "state": "queued", "key": "grade:j"})
		}
	}
	list, _, err := w.Runs().List(w.ctx, store.RunQuery{Project: w.project.ID}, store.Page{})
	w.ok(err)
	equal(w, "runs stored", len(list), 1)
}

func testSimultaneousIdempotent(w *world) {
	ids, fresh := make([]assay.RunID, 100), make([]bool, 100)
	errs := make([]error, 100)
	together(len(ids), func(i int) {
		n := w.newRun()
		n.Keys = []string{assay.KeyGrade("j")}
		n.Idempotency = &store.Idempotency{Route: "POST /runs", Key: "once", BodyHash: "h"}
		run, replayed, err := w.Runs().Create(w.ctx, n)
		ids[i], fresh[i], errs[i] = run.ID, !replayed, err
	})
	made := 0
	for i := range ids {
		w.ok(errs[i])
		equal(w, "run", ids[i], ids[0])
		if fresh[i] {
			made++
		}
	}
	equal(w, "answers that are not replayed", made, 1)
}

func testKeys(w *world) {
	n := w.newRun()
	n.Keys = []string{"grade:a", "grade:b"}
	other := newWorld(w.T, w.Store)
	for _, to := range []assay.RunState{assay.RunCompleted, assay.RunFailed, assay.RunCancelled, assay.RunStateLost} {
		run := w.create(n)
		one := w.newRun()
		one.Keys = []string{"grade:b"}
		conflict := func(state assay.RunState) {
			w.Helper()
			_, _, err := w.Runs().Create(w.ctx, one)
			e := w.code(err, assay.CodeConflict)
			equal(w, "details", e.Details, map[string]string{"run": run.ID.String(), "state": string(state), "key": "grade:b"})
			equal(w, "error", e, w.code(store.Held(run.ID, state, w.project.Name, "grade:b"), assay.CodeConflict))
		}
		conflict(assay.RunQueued)
		w.takeUp(run.ID, 0, false)
		conflict(assay.RunRunning)
		w.change(run.ID, store.Change{From: active, To: assay.RunPaused, Reason: assay.ReasonAsked, Sentence: "paused"})
		conflict(assay.RunPaused)
		elsewhere := other.newRun()
		elsewhere.Keys = one.Keys
		other.end(other.create(elsewhere).ID, assay.RunCompleted)
		free := w.newRun()
		free.Keys = []string{"grade:c"}
		w.end(w.create(free).ID, assay.RunCompleted)
		w.end(run.ID, to)
		w.end(w.create(one).ID, assay.RunCompleted)
	}
	none := w.newRun()
	w.create(none)
	w.create(none)
}

func testIdempotency(w *world) {
	n := w.newRun()
	n.Keys = []string{"k"}
	n.Idempotency = &store.Idempotency{Route: "POST /runs", Key: "key 'one'", BodyHash: "h1"}
	run := w.create(n)
	again := func(n store.NewRun) (assay.Run, bool) {
		w.Helper()
		found, known, err := w.Runs().Replay(w.ctx, n.Project, *n.Idempotency)
		w.ok(err)
		got, replayed, err := w.Runs().Create(w.ctx, n)
		w.ok(err)
		equal(w, "looked up, and answered", []any{found, known}, []any{got, replayed})
		return got, replayed
	}
	unknown := func(p assay.ProjectID, i store.Idempotency) {
		w.Helper()
		found, known, err := w.Runs().Replay(w.ctx, p, i)
		w.ok(err)
		equal(w, "looked up before it was used", []any{found, known}, []any{assay.Run{}, false})
	}
	got, replayed := again(n)
	equal(w, "the first answer again, not a conflict", []any{got, replayed}, []any{run, true})

	other := n
	other.Idempotency = &store.Idempotency{Route: "POST /runs", Key: "key 'one'", BodyHash: "h2"}
	_, _, err := w.Runs().Create(w.ctx, other)
	equal(w, "error", w.code(err, assay.CodeIdempotency), w.code(store.OtherRequest(*other.Idempotency, run.ID), assay.CodeIdempotency))
	_, found, err := w.Runs().Replay(w.ctx, other.Project, *other.Idempotency)
	equal(w, "found", found, false)
	equal(w, "details", w.code(err, assay.CodeIdempotency).Details, map[string]string{"run": run.ID.String()})

	ended := w.end(run.ID, assay.RunCompleted)
	got, replayed = again(n)
	equal(w, "the same run once it has ended", []any{got, replayed}, []any{ended, true})

	route := n
	route.Idempotency = &store.Idempotency{Route: "POST /retry", Key: "key 'one'", BodyHash: "h2"}
	unknown(route.Project, *route.Idempotency)
	second := w.create(route)
	w.end(second.ID, assay.RunCompleted)
	elsewhere := newWorld(w.T, w.Store)
	route.Project, route.Idempotency.Route = elsewhere.project.ID, "POST /runs"
	unknown(route.Project, *route.Idempotency)
	elsewhere.create(route)
	unknown(1<<40, *route.Idempotency)
}

func testRunList(w *world) {
	var all []assay.RunID
	for i := range 7 {
		n := w.newRun()
		if i%2 == 1 {
			n.Kind = assay.RunSingle
		}
		all = append(all, w.create(n).ID)
	}
	other := newWorld(w.T, w.Store)
	other.create(other.newRun())
	w.takeUp(all[0], 0, false)
	w.end(all[1], assay.RunFailed)
	ids := func(q store.RunQuery) string {
		q.Project = w.project.ID
		text := ""
		for _, run := range pages(w, func(p store.Page) ([]assay.Run, string, error) { return w.Runs().List(w.ctx, q, p) }) {
			text += fmt.Sprint(int64(run.ID-all[0]), " ")
		}
		return text
	}
	equal(w, "newest first", ids(store.RunQuery{}), "6 5 4 3 2 1 0 ")
	equal(w, "of a kind", ids(store.RunQuery{Kind: assay.RunSingle}), "5 3 1 ")
	equal(w, "in states", ids(store.RunQuery{States: []assay.RunState{assay.RunRunning, assay.RunFailed}}), "1 0 ")

	base := all[0]
	var made []assay.RunID
	for i := range 8 {
		n := w.newRun()
		if i%2 == 0 {
			n = w.newSuiteRun([]string{"s", "other"}[i/4])
			n.Keys, n.Suite.Schedule = nil, ""
		}
		// A name is a bound value, not a pattern; who asked says nothing.
		schedule := []string{"night", "night%"}[i%3%2]
		if n.By = "schedule night"; i < 6 {
			if n.Suite != nil {
				n.Suite.Schedule = schedule
			} else {
				n.Spec.Schedule = schedule
			}
		}
		made = append(made, w.create(n).ID)
	}
	n := other.newSuiteRun("s")
	n.Suite.Schedule = "night"
	other.create(n)
	all[0] = made[0]
	equal(w, "of a suite", ids(store.RunQuery{Suite: "s"}), "2 0 ")
	equal(w, "of a suite and in a state", ids(store.RunQuery{Suite: "other", States: []assay.RunState{assay.RunQueued}}), "6 4 ")
	equal(w, "of a schedule", ids(store.RunQuery{Schedule: "night"}), "5 3 2 0 ")
	equal(w, "of a schedule and a kind", ids(store.RunQuery{Schedule: "night", Kind: assay.RunGrade}), "5 3 ")
	equal(w, "of a schedule and a suite", ids(store.RunQuery{Schedule: "night%", Suite: "other"}), "4 ")
	equal(w, "of a schedule that never ran", ids(store.RunQuery{Schedule: "nigh_"}), "")
	all[0] = base

	first, next, err := w.Runs().List(w.ctx, store.RunQuery{Project: w.project.ID}, store.Page{Limit: 3, Cursor: store.Cursor(int64(made[0]))})
	w.ok(err)
	w.create(w.newRun())
	rest, next, err := w.Runs().List(w.ctx, store.RunQuery{Project: w.project.ID}, store.Page{Limit: 10, Cursor: next})
	w.ok(err)
	equal(w, "rows of pages with a run made in between", []any{len(first), len(rest), next}, []any{3, 4, ""})
	everywhere, _, err := w.Runs().List(w.ctx, store.RunQuery{}, store.Page{Limit: 1000})
	w.ok(err)
	if len(everywhere) < 9 {
		w.Errorf("a query without a project finds %d runs", len(everywhere))
	}
}
