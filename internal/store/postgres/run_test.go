package postgres

import (
	"context"
	"testing"

	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
)

func TestRunFromPlanToVerdicts(t *testing.T) {
	ctx := context.Background()
	s := open(t, pgtest.Database(t))
	f := planned(t, s, 20)
	var b store.Batch
	b.Now = t0
	for seq := int64(1); seq <= 20; seq++ {
		b.Open = append(b.Open, attempt(f, seq))
	}
	if _, err := s.Items().Commit(ctx, f, b); err != nil {
		t.Fatal(err)
	}
	b.Open = nil
	for seq := int64(1); seq <= 20; seq++ {
		b.Done = append(b.Done, graded(f, seq))
	}
	for range 2 { // a batch may be sent twice
		if _, err := s.Items().Commit(ctx, f, b); err != nil {
			t.Fatal(err)
		}
	}
	items, next, err := s.Items().List(ctx, f.Run, store.ItemQuery{}, store.Page{Limit: 15})
	if err != nil || len(items) != 15 || next == "" {
		t.Fatal(len(items), next, err)
	}
	for _, i := range items {
		if i.Counted != 1 || i.Attempts != 1 || i.Origin == nil || i.Origin.Run != f.Run || i.Origin.Seq != i.Seq || i.Pass == nil || *i.Pass != (i.Seq%2 == 0) {
			t.Errorf("%+v", i)
		}
	}
	var got int
	for cursor := ""; ; {
		list, next, err := s.Verdicts().List(ctx, store.VerdictQuery{Run: f.Run}, store.Page{Limit: 7, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range list {
			got++
			if v.Seq != int64(got) || v.Judge != "j" || len(v.Findings) != 1 || v.Findings[0].Criterion != "solved" || v.Pass == nil || *v.Pass != (v.Seq%2 == 0) {
				t.Errorf("%d: %+v", got, v)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if got != 20 {
		t.Errorf("%d verdicts", got)
	}
	if findings, err := s.Check(ctx); err != nil || len(findings) > 0 {
		t.Error(findings, err)
	}
	counts, err := s.Items().Counts(ctx, f.Run, t0)
	if err != nil || counts.Graded != 20 || counts.Total != 20 || counts.InFlight != 0 {
		t.Error(counts, err)
	}
	info, err := s.Info(ctx)
	t.Log(info, err)
}
