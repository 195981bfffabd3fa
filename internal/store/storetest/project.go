package storetest

import (
	"context"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

func testProjects(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"create and get", func(w *world) {
			settings := assay.Settings{ArmKey: "variant", ArmType: assay.ArmBool, CaseKey: "task", Zone: "Europe/Berlin", Settle: time.Hour, PerStratum: 7, Concurrency: 3, OneGradeRun: true}
			made, err := w.Projects().Create(w.ctx, "created", settings, start)
			w.ok(err)
			want := assay.Project{ID: made.ID, Name: "created", Settings: settings, CreatedAt: start}
			equal(w, "created project", made, want)
			got, err := w.Projects().Get(w.ctx, "created")
			w.ok(err)
			equal(w, "project", got, want)
		}},
		{"a name is taken once", func(w *world) {
			_, err := w.Projects().Create(w.ctx, w.project.Name, assay.DefaultSettings(), start)
			w.code(err, assay.CodeConflict)
		}},
		{"no such project", func(w *world) {
			_, err := w.Projects().Get(w.ctx, "nobody")
			w.code(err, assay.CodeNotFound)
			_, err = w.Projects().Update(w.ctx, 1<<40, assay.DefaultSettings(), false)
			w.code(err, assay.CodeNotFound)
			w.code(w.Projects().Delete(w.ctx, 1<<40, nil), assay.CodeNotFound)
		}},
		{"list", func(w *world) {
			_, err := w.Projects().Create(w.ctx, "a-first", assay.DefaultSettings(), start)
			w.ok(err)
			list, err := w.Projects().List(w.ctx)
			w.ok(err)
			found := map[string]bool{}
			for i, p := range list {
				found[p.Name] = true
				if i > 0 && list[i-1].Name >= p.Name {
					w.Errorf("%s comes after %s", p.Name, list[i-1].Name)
				}
			}
			if !found["a-first"] || !found[w.project.Name] {
				w.Errorf("projects are missing: %v", found)
			}
		}},
		{"update and rekey", func(w *world) {
			first, second := assay.DefaultSettings(), assay.DefaultSettings()
			first.Zone, second.Zone = "Asia/Tokyo", "America/New_York"
			p, err := w.Projects().Update(w.ctx, w.project.ID, first, true)
			w.ok(err)
			equal(w, "settings", p.Settings, first)
			equal(w, "rekeying", p.Rekeying, true)
			p, err = w.Projects().Update(w.ctx, w.project.ID, second, false)
			w.ok(err)
			equal(w, "rekeying, which an update without it leaves", p.Rekeying, true)
			done, err := w.Projects().Rekeyed(w.ctx, w.project.ID, first)
			w.ok(err)
			equal(w, "rekeyed with settings that changed meanwhile", done, false)
			done, err = w.Projects().Rekeyed(w.ctx, w.project.ID, second)
			w.ok(err)
			equal(w, "rekeyed with the present settings", done, true)
			p, err = w.Projects().Get(w.ctx, w.project.Name)
			w.ok(err)
			equal(w, "rekeying afterwards", p.Rekeying, false)
		}},
		{"delete refuses while a run is active", testDeleteRefused},
		{"delete removes everything and nothing else", testDelete},
		{"who keeps something beside a project is asked before its rows go", testDeleteLeaving},
	})
}

func testDeleteRefused(w *world) {
	run := w.create(w.newRun())
	for _, step := range []func(){
		func() {},
		func() { w.takeUp(run.ID, 0, false) },
		func() {
			w.change(run.ID, store.Change{From: active, To: assay.RunPaused, Reason: assay.ReasonAsked, Sentence: "asked"})
		},
	} {
		step()
		e := w.code(w.Projects().Delete(w.ctx, w.project.ID, nil), assay.CodeRefused)
		equal(w, "run named by the refusal", e.Details["run"], run.ID.String())
		_, err := w.Projects().Get(w.ctx, w.project.Name)
		w.ok(err)
	}
	w.end(run.ID, assay.RunCancelled)
	w.ok(w.Projects().Delete(w.ctx, w.project.ID, nil))
}

// A deletion that is stopped there, or by a crash then, is gone on with by the next one.
func testDeleteLeaving(w *world) {
	other := newWorld(w.T, w.Store)
	run, _ := w.furnish()
	var left []assay.ProjectID
	away := assay.Errorf(assay.CodeUnavailable, "the disk is full").WithHint("make room")
	leaving := func(ctx context.Context, id assay.ProjectID) error {
		if _, err := w.Runs().Get(ctx, run); id == w.project.ID && err != nil {
			w.Errorf("its rows are gone: %v", err)
		}
		if left = append(left, id); len(left) == 1 {
			return away
		}
		return nil
	}
	w.code(w.Projects().Delete(w.ctx, w.project.ID, leaving), assay.CodeUnavailable)
	_, err := w.Projects().Get(w.ctx, w.project.Name)
	w.code(err, assay.CodeNotFound)
	w.get(run)
	w.ok(w.Projects().Delete(w.ctx, other.project.ID, leaving))
	_, err = w.Runs().Get(w.ctx, run)
	w.code(err, assay.CodeNotFound)
	equal(w, "projects left", left, []assay.ProjectID{w.project.ID, w.project.ID, other.project.ID})
}

// furnish gives a project one row of everything.
func (w *world) furnish() (assay.RunID, int64) {
	w.Helper()
	one := session("u", "labelled", "c")
	one.Labels = []assay.Label{{Criterion: assay.CriterionPass, Value: []byte("true"), Rater: "r", Probability: 1}}
	w.put(one)
	heads := w.fill(3)[:3]
	set, err := w.Sets().Create(w.ctx, w.project.ID, "set", start)
	w.ok(err)
	_, err = w.Sets().Add(w.ctx, set.ID, []assay.SessionKey{heads[0].Key})
	w.ok(err)
	imported, err := w.Imports().Start(w.ctx, w.project.ID, "file", "native", "me", start)
	w.ok(err)
	w.ok(w.Imports().Progress(w.ctx, imported, store.Import{Rejected: 1}, []store.Reject{{Line: 1, Reason: "bad"}}))
	w.ok(w.Imports().Finish(w.ctx, imported, store.Import{Rejected: 1}, start))
	_, err = w.Judges().Apply(w.ctx, w.project.ID, assay.Judge{Name: "j", Version: "v1"}, assay.JudgeVersion{ID: "v1", Kind: assay.JudgeRules, Unit: assay.UnitSession, Canonical: []byte("{}")}, start)
	w.ok(err)
	n := w.newRun()
	n.Idempotency = &store.Idempotency{Route: "r", Key: "k", BodyHash: "h"}
	f := w.grading(n, heads)
	w.open(f, 1, 2, 3)
	w.commit(f, store.Batch{Done: []store.Outcome{withSeen(graded(opened(f, 1, 1), true), "seen"), graded(opened(f, 2, 1), true), part(opened(f, 3, 1), answers()[5][:3]...)}})
	w.commit(f, store.Batch{Open: []assay.Attempt{opened(f, 3, 2)}})
	w.commit(f, store.Batch{Done: []store.Outcome{graded(opened(f, 3, 2), true)}})
	w.end(f.Run, assay.RunCompleted)
	w.drawOf(f.Run, assay.DrawRandom, member(heads[0], 0.5))
	w.furnishSuites()
	return f.Run, imported
}

// furnishSuites gives a project one row of everything that belongs to suites.
func (w *world) furnishSuites() {
	w.Helper()
	_, err := w.Suites().Apply(w.ctx, w.project.ID, []assay.Suite{suite("s", "v1")}, start)
	w.ok(err)
	w.applySchedule(schedule("night"), start)
	f := w.suiteRun("s")
	_, err = w.Harnesses().Put(w.ctx, f, facts(), true, at(6))
	w.ok(err)
	w.putCases(f, fullCase(1), gradedCase(2, "b", true), assay.Case{Seq: 3, Key: "c", State: assay.ItemErrored})
	w.ok(w.Harnesses().AddPoints(w.ctx, f.Run, []store.Point{{N: 1, Metric: assay.Metric{Name: "m", Value: 1, At: start}}}))
	w.end(f.Run, assay.RunCompleted)
}

// ofSuites is all that furnishSuites stored, by the newest run of the suite.
func (w *world) ofSuites(run assay.RunID) any {
	w.Helper()
	suites, err := w.Suites().List(w.ctx, w.project.ID)
	w.ok(err)
	history, err := w.Suites().History(w.ctx, w.project.ID, "s")
	w.ok(err)
	schedules, err := w.Schedules().List(w.ctx, w.project.ID)
	w.ok(err)
	points, err := w.Harnesses().Points(w.ctx, run, "m", 10)
	w.ok(err)
	facts, err := w.Harnesses().FactsOf(w.ctx, []assay.RunID{run})
	w.ok(err)
	return []any{len(suites), len(history), len(schedules), len(points), len(facts), len(w.cases(run)), len(w.items(run)), len(w.verdictsOf(run))}
}

func (w *world) newestOf(suite string) assay.RunID {
	w.Helper()
	newest, err := w.Suites().Newest(w.ctx, w.project.ID)
	w.ok(err)
	return newest[suite].ID
}

func testDelete(w *world) {
	other := newWorld(w.T, w.Store)
	otherRun, otherImport := other.furnish()
	run, imported := w.furnish()
	head := w.head("u", "labelled")
	suiteRun, otherSuiteRun := w.newestOf("s"), other.newestOf("s")
	draw, otherDraw := w.newestDraw(), other.newestDraw()
	ofSuites := []any{1, 1, 1, 1, 1, 3, 3, 2}
	equal(w, "what there is of suites", w.ofSuites(suiteRun), any(ofSuites))
	w.ok(w.Projects().Delete(w.ctx, w.project.ID, nil))

	_, err := w.Projects().Get(w.ctx, w.project.Name)
	w.code(err, assay.CodeNotFound)
	list, err := w.Projects().List(w.ctx)
	w.ok(err)
	for _, p := range list {
		if p.ID == w.project.ID {
			w.Errorf("the project is listed still, as %s", p.Name)
		}
	}
	_, err = w.Runs().Get(w.ctx, run)
	w.code(err, assay.CodeNotFound)
	_, _, err = w.Bodies().Get(w.ctx, head.Content)
	w.code(err, assay.CodeNotFound)
	_, err = w.Bodies().Seen(w.ctx, w.project.ID, hashOf("seen"))
	w.code(err, assay.CodeNotFound)
	_, _, err = w.Imports().Rejects(w.ctx, w.project.ID, imported, store.Page{})
	w.code(err, assay.CodeNotFound)
	equal(w, "items", len(w.items(run)), 0)
	equal(w, "what there is of suites", w.ofSuites(suiteRun), any([]any{0, 0, 0, 0, 0, 0, 0, 0}))
	equal(w, "the newest run", w.newestOf("s"), assay.RunID(0))
	equal(w, "members of a draw", []int{w.drawn(draw), other.drawn(otherDraw)}, []int{0, 1})
	_, err = w.Sessions().Put(w.ctx, w.project.ID, 0, []store.NewSession{session("u", "s", "c")}, start)
	w.code(err, assay.CodeNotFound)
	_, _, err = w.Runs().Create(w.ctx, w.newRun())
	w.code(err, assay.CodeNotFound)

	again, err := w.Projects().Create(w.ctx, w.project.Name, assay.DefaultSettings(), start)
	w.ok(err)
	if again.ID == w.project.ID {
		w.Error("the number of a deleted project was given again")
	}
	totals, err := w.Sessions().Count(w.ctx, again.ID)
	w.ok(err)
	equal(w, "what the name's next project holds", totals, store.Totals{})

	equal(w, "the other project's items", len(other.items(otherRun)), 3)
	equal(w, "the other project's verdicts", len(other.verdictsOf(otherRun)), 6)
	equal(w, "what the other project has of suites", other.ofSuites(otherSuiteRun), any(ofSuites))
	equal(w, "the other project's transcripts", other.seen("seen"), "seen")
	totals, err = w.Sessions().Count(w.ctx, other.project.ID)
	w.ok(err)
	equal(w, "the other project's totals", totals, store.Totals{Sessions: 4, Contents: 4, Bytes: 400, Labels: 1})
	rejects, _, err := w.Imports().Rejects(w.ctx, other.project.ID, otherImport, store.Page{})
	w.ok(err)
	equal(w, "the other project's rejects", len(rejects), 1)
	n := other.newRun()
	n.Idempotency = &store.Idempotency{Route: "r", Key: "k", BodyHash: "h"}
	_, replayed, err := w.Runs().Create(w.ctx, n)
	w.ok(err)
	equal(w, "the other project's idempotency record", replayed, true)
	w.healthy()
}
