package sqlite

import (
	"database/sql"
	"strings"
	"testing"

	"assay/internal/store"
)

// Lists of a suite's and of a schedule's runs read these runs, and not all that there are.
func TestRunsAreFoundByAnIndex(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db := rawDB(t, dir)
	for want, q := range map[string]store.RunQuery{
		"u USING INDEX suite_runs_newest (project_id=? AND suite=? AND run_id<?)": {Project: 1, Suite: "s"},
		"r USING INDEX runs_schedule (project_id=? AND schedule=? AND id<?)":      {Project: 1, Schedule: "s", Kind: "grade"},
		"r USING INDEX runs_project (project_id=? AND id<?)":                      {Project: 1},
	} {
		query, args := listRuns(q, 1<<40, 10)
		if plan := explain(t, db, query, args); !strings.HasPrefix(plan[0], "SEARCH "+want) || strings.Contains(strings.Join(plan, " "), "TEMP B-TREE") {
			t.Errorf("%+v: %q, want first a search of %s and nothing sorted", q, plan, want)
		}
	}
}

func explain(t *testing.T, db *sql.DB, query string, args []any) (plan []string) {
	t.Helper()
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = toValue(a)
	}
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, values...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}
