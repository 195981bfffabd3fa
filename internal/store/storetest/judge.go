package storetest

import (
	"encoding/json"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testJudges(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"a judge comes back as it was applied", testJudge},
		{"a name moves between versions", testJudgeHistory},
		{"two names may share a version", func(w *world) {
			v := assay.JudgeVersion{ID: "shared", Kind: assay.JudgeRules, Unit: assay.UnitSession, Canonical: []byte("{}")}
			for _, name := range []string{"b", "a"} {
				_, err := w.Judges().Apply(w.ctx, w.project.ID, assay.Judge{Name: name, Version: "shared"}, v, start)
				w.ok(err)
			}
			list, err := w.Judges().List(w.ctx, w.project.ID)
			w.ok(err)
			equal(w, "judges by name", []string{list[0].Name, list[1].Name}, []string{"a", "b"})
		}},
		{"none", func(w *world) {
			_, _, err := w.Judges().Get(w.ctx, w.project.ID, "none")
			w.code(err, assay.CodeNotFound)
			_, err = w.Judges().Version(w.ctx, w.project.ID, "none")
			w.code(err, assay.CodeNotFound)
			_, err = w.Judges().Apply(w.ctx, 1<<40, assay.Judge{Name: "j", Version: "v"}, assay.JudgeVersion{ID: "v", Canonical: []byte("{}")}, start)
			w.code(err, assay.CodeNotFound)
		}},
	})
}

func testJudge(w *world) {
	j := assay.Judge{Name: "task-success", Description: "did it?", Version: "v1", Settings: json.RawMessage(`{"timeout":"30s","order":[2,1]}`), Source: "name: 'x'\n# ünï\n", UpdatedAt: start}
	v := assay.JudgeVersion{
		ID: "v1", Kind: assay.JudgeLLM, Unit: assay.UnitSession, Alias: true, Canonical: json.RawMessage(`{"z":1,"a":{"y":2,"x":1.0}}`), CreatedAt: start,
		Criteria: []assay.Criterion{
			{Name: "done", Type: assay.Boolean, Question: "Is it?", MayNotApply: true, Evidence: assay.EvidenceRequired},
			{Name: "score", Type: assay.Number, Min: ptr(0.0), Max: ptr(1.5), MayAbstain: true},
			{Name: "tone", Type: assay.Ordinal, Values: []string{"bad", "good"}},
		},
	}
	changed, err := w.Judges().Apply(w.ctx, w.project.ID, j, v, start)
	w.ok(err)
	equal(w, "changed", changed, true)
	gotJ, gotV, err := w.Judges().Get(w.ctx, w.project.ID, "task-success")
	w.ok(err)
	equal(w, "judge", gotJ, j)
	equal(w, "version", gotV, v)
	gotV, err = w.Judges().Version(w.ctx, w.project.ID, "v1")
	w.ok(err)
	equal(w, "version by id", gotV, v)
	list, err := w.Judges().List(w.ctx, w.project.ID)
	w.ok(err)
	equal(w, "list", list, []assay.Judge{j})
	_, err = w.Judges().Version(w.ctx, newWorld(w.T, w.Store).project.ID, "v1")
	w.code(err, assay.CodeNotFound)
}

func testJudgeHistory(w *world) {
	apply := func(version assay.Hash, description string, sec int) bool {
		v := assay.JudgeVersion{ID: version, Kind: assay.JudgeRules, Unit: assay.UnitSession, Canonical: json.RawMessage(`{"of":"` + string(version) + `"}`)}
		changed, err := w.Judges().Apply(w.ctx, w.project.ID, assay.Judge{Name: "j", Description: description, Version: version}, v, at(sec))
		w.ok(err)
		return changed
	}
	equal(w, "changed", []bool{apply("v1", "", 1), apply("v1", "new text", 2), apply("v2", "", 3), apply("v1", "", 4)}, []bool{true, false, true, true})
	history, err := w.Judges().History(w.ctx, w.project.ID, "j")
	w.ok(err)
	equal(w, "history", history, []store.JudgeChange{{Version: "v1", AppliedAt: at(4)}, {Version: "v2", AppliedAt: at(3)}, {Version: "v1", AppliedAt: at(1)}})
	v, err := w.Judges().Version(w.ctx, w.project.ID, "v1")
	w.ok(err)
	equal(w, "a version keeps its first time", v.CreatedAt, at(1))
	v, err = w.Judges().Version(w.ctx, w.project.ID, "v2")
	w.ok(err)
	equal(w, "old versions stay", v.ID, assay.Hash("v2"))
}
