package sqlite

import (
	"database/sql"
	"fmt"
	"io/fs"
	"reflect"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"assay/internal/assay"
	"assay/internal/store"
)

func provider(t *testing.T, db *sql.DB) *goose.Provider {
	t.Helper()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// released is what a data folder of the first release holds: a run of two items, of which one is graded
// and one was tried, with a cost that is known, one that is not and one that is open.
const released = `
INSERT INTO projects (id, name, settings, created_at) VALUES (1, 'p', '{"arm_key":"a","zone":"UTC"}', 1);
INSERT INTO sessions (id, project_id, content_id, user_id, session_id, day, arm, arrived_at, empty, case_key, source_url, agent_version, source, turns, messages, tool_calls, repaired)
	VALUES (1, 1, 1, 'u', 's1', 'undated', 'a', 1, 0, '', '', '', '', 1, 1, 0, 0), (2, 1, 2, 'u', 's2', 'undated', 'a', 1, 0, '', '', '', '', 1, 1, 0, 0);
INSERT INTO contents (id, session_key, hash, version, arrived_at, import_id, bytes) VALUES (1, 1, 'h1', 1, 1, 0, 1), (2, 2, 'h2', 1, 1, 0, 1);
INSERT INTO bodies VALUES (1, x'01'), (2, x'02');
INSERT INTO version_keys (id, project_id, hash) VALUES (1, 1, 'v');
INSERT INTO runs (id, project_id, kind, state, phase, concurrency, epoch, as_of, created_at, started_at, sampled, planned)
	VALUES (1, 1, 'grade', 'running', 'grading', 4, 1, 1, 1, 2, 2, 2);
INSERT INTO run_specs VALUES (1, '{"judges":[{"name":"j","version":"v"}],"per_stratum":2,"seed":"s","repeats":1}');
INSERT INTO run_judges VALUES (1, 0, 'j', 1);
INSERT INTO items (run_id, seq, content_id, session_key, version_key, judge, repeat, stratum, state, pass, origin_run, origin_seq, ended_at)
	VALUES (1, 1, 1, 1, 1, 0, 0, 0, 'graded', 1, 1, 1, 9), (1, 2, 2, 2, 1, 0, 0, 0, 'pending', NULL, NULL, NULL, NULL);
INSERT INTO attempts (run_id, seq, n, epoch, status, class, alone, late, opened_at, wait, call_at, ended_at, http_status, retry_after, usage_known, input, cached, output, reasoning, cost_micros, model, fingerprint, error, raw)
	VALUES (1, 1, 1, 1, 'done', '', 1, 0, 3, 4, 5, 6, 200, 7, 1, 100, 10, 20, 5, 1234567, 'm', 'f', 'e', 'r'),
	(1, 2, 1, 1, 'done', 'network', 0, 1, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, NULL, '', '', '', ''),
	(1, 2, 2, 1, 'open', '', 0, 0, 8, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, NULL, '', '', '', '');
INSERT INTO verdicts VALUES (1, 1, '', 'c', 0, 0, 1, 'true', 1, 0, 'because', NULL);`

// A data folder of the first release is opened as it is, keeps all that it holds, and can be taken back.
func TestReleasedFolderIsBroughtUpToDate(t *testing.T) {
	dir := t.TempDir()
	db := rawDB(t, dir)
	exec := func(query string) {
		t.Helper()
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	exec("PRAGMA journal_mode = WAL")
	if _, err := provider(t, db).UpTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	exec("PRAGMA user_version = 1")
	exec(released)
	// Enough attempts that the table has many pages, in rising order of their keys.
	exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
		INSERT INTO attempts (run_id, seq, n, epoch, status, alone, opened_at, wait, call_at, cost_micros, raw) SELECT 9, i, 1, 1, 'done', 0, 0, 0, 0, i, printf('%200d', i) FROM n`)
	before := dump(t, db, "SELECT * FROM attempts WHERE run_id = 1", "SELECT * FROM items", "SELECT * FROM runs", "SELECT * FROM verdicts", "SELECT count(*), sum(cost_micros), sum(raw) FROM attempts WHERE run_id = 9")

	for range 2 {
		s, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		brought(t, s)
		var cost, raw int64
		if err := db.QueryRow("SELECT sum(cost), sum(raw) FROM attempts WHERE run_id = 9").Scan(&cost, &raw); err != nil || cost != 5000*5001/2*1000 || raw != 5000*5001/2 {
			t.Errorf("the sum of the others is %d of %d, error %v", cost, raw, err)
		}
		exec("INSERT INTO verdicts VALUES (1, 2, 't0', 'c', 0, 0, 1, 'true', 1, 0, 'part of an answer', NULL)")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := provider(t, db).DownTo(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		exec("PRAGMA user_version = 1")
		after := dump(t, db, "SELECT * FROM attempts WHERE run_id = 1", "SELECT * FROM items", "SELECT * FROM runs", "SELECT * FROM verdicts", "SELECT count(*), sum(cost_micros), sum(raw) FROM attempts WHERE run_id = 9")
		if !reflect.DeepEqual(after, before) {
			t.Fatalf("taken back:\n%v\nbefore:\n%v", after, before)
		}
	}
}

// brought checks what the released rows are now.
func brought(t *testing.T, s *Store) {
	t.Helper()
	micros := func(n int64) *time.Time { at := time.UnixMicro(n).UTC(); return &at }
	cost := assay.USD(1_234_567_000)
	list, err := s.Items().Attempts(t.Context(), 1, 1)
	want := []assay.Attempt{{Run: 1, Seq: 1, N: 1, Epoch: 1, Status: assay.AttemptDone, Alone: true, OpenedAt: *micros(3), Wait: 4, CallAt: micros(5), EndedAt: micros(6),
		HTTPStatus: 200, RetryAfter: 7, Usage: assay.Usage{Known: true, Input: 100, Cached: 10, Output: 20, Reasoning: 5}, Cost: &cost, Model: "m", Fingerprint: "f", Error: "e", Raw: "r"}}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("attempts %+v, error %v", list, err)
	}
	spend, err := s.Items().Spend(t.Context(), 1)
	if want := (assay.Spend{Attempts: 3, Late: 1, Usage: want[0].Usage, Cost: cost, Unpriced: 2}); err != nil || spend != want {
		t.Errorf("spend %+v, error %v", spend, err)
	}
	run, err := s.Runs().Get(t.Context(), 1)
	if err != nil || run.Budget != nil {
		t.Errorf("budget %v, error %v", run.Budget, err)
	}
	verdicts, _, err := s.Verdicts().List(t.Context(), store.VerdictQuery{Run: 1}, store.Page{})
	if err != nil || len(verdicts) != 1 || verdicts[0].Findings[0].Reason != "because" || verdicts[0].Model != "m" {
		t.Errorf("verdicts %+v, error %v", verdicts, err)
	}
	if findings, err := s.Check(t.Context()); err != nil || len(findings) != 0 {
		t.Errorf("findings %v, error %v", findings, err)
	}
}

func dump(t *testing.T, db *sql.DB, queries ...string) (all []string) {
	t.Helper()
	for _, query := range queries {
		rows, err := db.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		for err == nil && rows.Next() {
			row := make([]any, len(columns))
			for i := range row {
				row[i] = new(any)
			}
			err = rows.Scan(row...)
			line := query
			for i, v := range row {
				line += fmt.Sprint(" ", columns[i], "=", *v.(*any))
			}
			all = append(all, line)
		}
		if err != nil || rows.Err() != nil {
			t.Fatal(err, rows.Err())
		}
		_ = rows.Close()
	}
	return all
}
