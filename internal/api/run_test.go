package api_test

import (
	"slices"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

func TestRunsOfOneSuite(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	var ids []assay.RunID
	for range 3 {
		ids = append([]assay.RunID{external(t, w)}, ids...)
		if _, err := w.tcp.StartExternal(ctx, "default", engine.ExternalRequest{Name: "other"}, ""); err != nil {
			t.Fatal(err)
		}
	}
	q, p, got := api.RunQuery{Project: "default", Suite: "ci"}, store.Page{Limit: 2}, []assay.RunID(nil)
	for more := true; more; more = p.Cursor != "" {
		page, err := w.tcp.Runs(ctx, q, p)
		if err != nil || len(page.Items) > 2 {
			t.Fatalf("%d runs, %v", len(page.Items), err)
		}
		for _, r := range page.Items {
			got = append(got, r.ID)
		}
		p.Cursor = page.Next
	}
	if !slices.Equal(got, ids) {
		t.Errorf("runs %v, want %v", got, ids)
	}
	q.Kind = assay.RunSuite
	if page, err := w.tcp.Runs(ctx, q, store.Page{}); err != nil || len(page.Items) != 0 {
		t.Errorf("of the kind suite: %+v, %v", page, err)
	}
}
