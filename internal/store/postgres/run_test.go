package postgres

import (
	"context"
	"encoding/json"
	"testing"

	"assay/internal/assay"
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

// Lists of a suite's and of a schedule's runs read these runs, and not all that there are.
func TestRunsAreFoundByAnIndex(t *testing.T) {
	s := open(t, pgtest.Database(t))
	p, err := s.Projects().Create(t.Context(), "p", assay.DefaultSettings(), t0)
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, s)
	const runs, few = 20_000, 100
	mustExec(t, c, `INSERT INTO runs (id, project_id, kind, state, concurrency, as_of, created_at, schedule)
		SELECT i, $1, 'suite', 'completed', 1, 1, 1, CASE WHEN i <= 5 THEN 'rare' WHEN i % 2 = 0 THEN 'night' END FROM generate_series(1, $2::bigint) i`, p.ID, runs)
	mustExec(t, c, "INSERT INTO run_specs (run_id, spec) SELECT id, '{}' FROM runs")
	mustExec(t, c, "INSERT INTO suite_runs (run_id, project_id, suite, spec) SELECT id, project_id, CASE WHEN id <= 5 THEN 'rare' ELSE 'night' END, '{}' FROM runs")
	mustExec(t, c, "ANALYZE runs, run_specs, suite_runs, projects")
	for _, q := range []store.RunQuery{{Suite: "rare"}, {Suite: "night"}, {Schedule: "rare"}, {Schedule: "night"}, {}} {
		q.Project = p.ID
		query, args := listRuns(q, 1<<40, 10)
		var plan []struct {
			Plan json.RawMessage
		}
		var text []byte
		if err := c.QueryRow(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "+query, args...).Scan(&text); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &plan); err != nil {
			t.Fatal(err)
		}
		if read := mostRows(t, plan[0].Plan); read > few {
			t.Errorf("%+v: a part of the plan goes through %.0f rows of %d:\n%s", q, read, runs, text)
		}
	}
}

// mostRows is how many rows the busiest part of a plan went through.
func mostRows(t *testing.T, plan json.RawMessage) float64 {
	t.Helper()
	var node struct {
		Rows     float64 `json:"Actual Rows"`
		Loops    float64 `json:"Actual Loops"`
		Filtered float64 `json:"Rows Removed by Filter"`
		Joined   float64 `json:"Rows Removed by Join Filter"`
		Plans    []json.RawMessage
	}
	if err := json.Unmarshal(plan, &node); err != nil {
		t.Fatal(err)
	}
	most := (node.Rows + node.Filtered + node.Joined) * node.Loops
	for _, p := range node.Plans {
		most = max(most, mostRows(t, p))
	}
	return most
}
