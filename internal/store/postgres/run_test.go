package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

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
	queries := map[string]string{"newest of each suite": newestRuns}
	values := map[string][]any{"newest of each suite": {p.ID}}
	for _, q := range []store.RunQuery{{Suite: "rare"}, {Suite: "night"}, {Schedule: "rare"}, {Schedule: "night"}, {}} {
		q.Project = p.ID
		what := fmt.Sprintf("%+v", q)
		queries[what], values[what] = listRuns(q, 1<<40, 10)
	}
	for what, query := range queries {
		if blocks, plan := blocksRead(t, c, query, values[what]); blocks > few {
			t.Errorf("%s: %d blocks are read, want at most %d:\n%s", what, blocks, few, plan)
		}
	}
}

// blocksRead asks as the store does: prepared, and so planned without the values.
func blocksRead(t *testing.T, c *pgx.Conn, query string, args []any) (blocks int, plan string) {
	t.Helper()
	mustExec(t, c, "DEALLOCATE ALL")
	mustExec(t, c, "PREPARE list AS "+query)
	if err := c.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE list ("+literals(args)+")", pgx.QueryExecModeSimpleProtocol).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	var explained []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	if err := json.Unmarshal([]byte(plan), &explained); err != nil {
		t.Fatal(err)
	}
	return explained[0].Plan.Hit + explained[0].Plan.Read, plan
}

func literals(args []any) string {
	var list []string
	for _, a := range args {
		list = append(list, fmt.Sprintf("'%v'", a))
	}
	return strings.Join(list, ", ")
}
