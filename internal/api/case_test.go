package api_test

import (
	"strings"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// finished is an external run that told five cases: one passed, one failed, one broke, one was left out and one
// has no score.
func finished(t testing.TB, w *world) assay.RunID {
	t.Helper()
	id := external(t, w)
	yes, no := true, false
	_, err := w.tcp.Finish(t.Context(), id, engine.Finish{Cases: []assay.Case{
		{Key: "a", State: assay.ItemGraded, Pass: &yes, Findings: []assay.Finding{{Criterion: "ok", Value: []byte("true"), Applies: true}}},
		{Key: "b", State: assay.ItemGraded, Pass: &no},
		{Key: "c", State: assay.ItemErrored, Error: "broke", Class: assay.ClassCaseError},
		{Key: "d", State: assay.ItemUngradable, Error: "needs a key", Class: assay.ClassCaseSkipped},
		{Key: "e", State: assay.ItemUngradable, Class: assay.ClassCaseUnscored},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestACaseIsShownAndWasNoCall(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	id := finished(t, w)
	_, err := w.tcp.Exchange(ctx, id, 1)
	if e := holds(t, err, assay.CodeRefused); !strings.Contains(e.Message, "case") || !strings.Contains(e.Hint, "assay runs item "+id.String()+" 1") {
		t.Errorf("exchange: %q, %q", e.Message, e.Hint)
	}
	c, err := w.tcp.Case(ctx, id, 4)
	if err != nil || c.Key != "d" || c.Class != assay.ClassCaseSkipped || c.Error != "needs a key" {
		t.Errorf("case: %+v, %v", c, err)
	}
	if c, err = w.tcp.Case(ctx, id, 1); err != nil || c.Pass == nil || len(c.Findings) != 1 {
		t.Errorf("case: %+v, %v", c, err)
	}
	_, err = w.tcp.Case(ctx, id, 6)
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.Case(ctx, id+1, 1)
	holds(t, err, assay.CodeNotFound)

	page, err := w.tcp.Cases(ctx, id, api.CaseQuery{Class: assay.ClassCaseSkipped}, store.Page{})
	if err != nil || len(page.Items) != 1 || page.Items[0].Key != "d" {
		t.Errorf("skipped: %+v, %v", page, err)
	}
}

func TestARunOfASuiteHasNoReport(t *testing.T) {
	w := newWorld(t)
	id := finished(t, w)
	_, err := w.tcp.Report(t.Context(), id, api.ReportQuery{})
	if e := holds(t, err, assay.CodeRefused); !strings.Contains(e.Hint, "assay runs cases "+id.String()) {
		t.Errorf("report: %q, %q", e.Message, e.Hint)
	}
}

func TestCountsOfARunOfASuite(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	id := finished(t, w)
	r, err := w.tcp.Run(ctx, id)
	if n := r.Counts; err != nil || n.Passed != 1 || n.Failed != 1 || n.Graded != 2 {
		t.Errorf("counts: %+v, %v", n, err)
	}
	want := assay.CaseTally{Total: 5, Passed: 1, Failed: 1, Errored: 1, Skipped: 1}
	if r.Cases == nil || *r.Cases != want {
		t.Errorf("cases: %+v, want %+v", r.Cases, want)
	}
	list, err := w.tcp.Runs(ctx, api.RunQuery{Project: "default"}, store.Page{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Cases == nil || *list.Items[0].Cases != want {
		t.Errorf("list: %+v, %v", list, err)
	}
}
