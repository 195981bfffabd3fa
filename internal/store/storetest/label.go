package storetest

import (
	"cmp"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testLabels(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"labels come back as they were put", testLabel},
		{"the same label again adds nothing, another answer replaces it", testLabelAgain},
		{"tally", func(w *world) {
			for i, value := range []string{"true", "false", "true", `"good"`} {
				n := session("u", string(rune('a'+i)), "c")
				n.Labels = []assay.Label{{Criterion: "pass", Value: []byte(value), Rater: "r", Probability: 1}}
				w.put(n)
			}
			tally, err := w.Labels().Tally(w.ctx, w.project.ID)
			w.ok(err)
			equal(w, "tally", tally, []store.LabelTally{
				{Criterion: "pass", Rater: "r", Value: `"good"`, N: 1}, {Criterion: "pass", Rater: "r", Value: "false", N: 1}, {Criterion: "pass", Rater: "r", Value: "true", N: 2},
			})
		}},
		{"what became of each label", testPutLabels},
		{"labels on an older content", testOldLabel},
		{"another answer keeps how its content was chosen", testKeptChoice},
		{"query", testLabelQuery},
		{"remove and mark", testRemoveLabels},
		{"labels of a criterion in order of content", testContentLabels},
		{"draws come back as they were made", testDraws},
		{"members that are open", testOpenMembers},
		{"labels of a draw have its probability", testDrawnLabels},
		{"labels of other projects and of none", testForeignLabels},
	})
}

func (w *world) labels() []assay.Label {
	w.Helper()
	return pages(w, func(p store.Page) ([]assay.Label, string, error) {
		return w.Labels().List(w.ctx, w.project.ID, store.LabelQuery{}, p)
	})
}

func testLabel(w *world) {
	n := session("u", "s", "h")
	n.Labels = []assay.Label{
		{Criterion: assay.CriterionPass, Value: []byte("true"), Rater: "tau-bench", Probability: 1},
		{Criterion: "tone", CriterionVersion: "v1", Value: []byte(`"kind"`), Rater: "ann", Blind: true, Decided: true, Note: "a\nnote", Use: assay.UsePrompt, Probability: 0.125},
		{Criterion: "score", Value: []byte("-1.50"), Rater: "ann"}, // its probability is not known
	}
	w.put(n)
	w.put(func() store.NewSession { m := session("u", "t", "h2"); m.Labels = n.Labels[:1]; return m }())
	got := w.labels()
	equal(w, "labels", len(got), 4)
	for i, l := range got {
		want := n.Labels[i%3]
		want.ID, want.UserID, want.SessionID, want.ContentHash, want.CreatedAt = l.ID, "u", "s", "h", start
		want.Current, want.Use = true, cmp.Or(want.Use, assay.UseMeasure)
		if i == 3 {
			want.SessionID, want.ContentHash = "t", "h2"
		}
		equal(w, "label", l, want)
	}
}

func testLabelAgain(w *world) {
	label := func(value, rater, version string) []assay.Label {
		return []assay.Label{{Criterion: "pass", CriterionVersion: version, Value: []byte(value), Rater: rater, Probability: 1}}
	}
	put := func(content string, labels []assay.Label) {
		n := session("u", "s", content)
		n.Labels = labels
		_, err := w.Sessions().Put(w.ctx, w.project.ID, 0, []store.NewSession{n}, at(1))
		w.ok(err)
	}
	put("one", label("true", "ann", ""))
	before := w.labels()
	put("one", label("true", "ann", ""))
	equal(w, "labels after the same again", w.labels(), before)
	put("one", label("false", "ann", ""))
	after := w.labels()
	before[0].Value = []byte("false")
	equal(w, "labels after another answer", after, before)
	put("one", label("false", "bob", ""))
	put("one", label("false", "ann", "v1"))
	put("two", label("false", "ann", ""))
	equal(w, "labels of another rater, criterion version and content", len(w.labels()), 4)
	totals, err := w.Sessions().Count(w.ctx, w.project.ID)
	w.ok(err)
	equal(w, "total", totals.Labels, int64(4))
}
