package postgres

import (
	"database/sql"
	"fmt"
	"io/fs"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
)

// released is what a database of the first release holds: a run of two items, of which one is graded
// and one was tried, with a cost that is known, one that is not and one that is open.
var released = [...]string{
	`INSERT INTO projects (name, settings, created_at) VALUES ('p', '{"arm_key":"a","zone":"UTC"}', 1)`,
	`INSERT INTO sessions (project_id, content_id, user_id, session_id, day, arm, arrived_at, empty, case_key, source_url, agent_version, source, turns, messages, tool_calls, repaired)
	VALUES (1, 1, 'u', 's1', 'undated', 'a', 1, false, '', '', '', '', 1, 1, 0, false), (1, 2, 'u', 's2', 'undated', 'a', 1, false, '', '', '', '', 1, 1, 0, false)`,
	`INSERT INTO contents (session_key, hash, version, arrived_at, import_id, bytes) VALUES (1, 'h1', 1, 1, 0, 1), (2, 'h2', 1, 1, 0, 1)`,
	`INSERT INTO version_keys (project_id, hash) VALUES (1, 'v')`,
	`INSERT INTO runs (project_id, kind, state, phase, concurrency, epoch, as_of, created_at, started_at, sampled, planned)
	VALUES (1, 'grade', 'running', 'grading', 4, 1, 1, 1, 2, 2, 2)`,
	`INSERT INTO run_specs VALUES (1, '{"judges":[{"name":"j","version":"v"}],"per_stratum":2,"seed":"s","repeats":1}')`,
	`INSERT INTO run_judges VALUES (1, 0, 'j', 1)`,
	`INSERT INTO items (run_id, seq, content_id, session_key, version_key, judge, repeat, stratum, state, pass, origin_run, origin_seq, ended_at)
	VALUES (1, 1, 1, 1, 1, 0, 0, 0, 'graded', true, 1, 1, 9), (1, 2, 2, 2, 1, 0, 0, 0, 'pending', NULL, NULL, NULL, NULL)`,
	`INSERT INTO attempts (run_id, seq, n, epoch, status, class, alone, late, opened_at, wait, call_at, ended_at, http_status, retry_after, usage_known, input, cached, output, reasoning, cost_micros, model, fingerprint, error, raw)
	VALUES (1, 1, 1, 1, 'done', '', true, false, 3, 4, 5, 6, 200, 7, true, 100, 10, 20, 5, 1234567, 'm', 'f', 'e', 'r'),
	(1, 2, 1, 1, 'done', 'network', false, true, 3, 4, 5, 6, 0, 0, false, 0, 0, 0, 0, NULL, '', '', '', ''),
	(1, 2, 2, 1, 'open', '', false, false, 8, 0, NULL, NULL, 0, 0, false, 0, 0, 0, 0, NULL, '', '', '', '')`,
	`INSERT INTO verdicts VALUES (1, 1, '', 'c', 0, 0, true, 'true', true, false, 'because', NULL)`,
}

// A database of the first release is opened as it is, keeps all that it holds, and can be taken back.
func TestReleasedDatabaseIsBroughtUpToDate(t *testing.T) {
	url := pgtest.Database(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, query := range released {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(query, err)
		}
	}
	before := dump(t, db, "attempts", "items", "runs", "verdicts")
	for range 2 {
		s, err := Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		brought(t, s)
		if _, err := db.Exec("INSERT INTO verdicts VALUES (1, 2, 't0', 'c', 0, 0, true, 'true', true, false, 'part of an answer', NULL)"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.DownTo(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if after := dump(t, db, "attempts", "items", "runs", "verdicts"); !reflect.DeepEqual(after, before) {
			t.Fatalf("taken back:\n%v\nbefore:\n%v", after, before)
		}
	}
	if _, err := p.DownTo(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := db.QueryRow("SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name <> 'goose_db_version'").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d tables are left, error %v", left, err)
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

func dump(t *testing.T, db *sql.DB, tables ...string) (all []string) {
	t.Helper()
	for _, table := range tables {
		rows, err := db.Query(fmt.Sprintf("SELECT to_jsonb(x)::text FROM %s x ORDER BY 1", table))
		for err == nil && rows.Next() {
			var line string
			err = rows.Scan(&line)
			all = append(all, table+" "+line)
		}
		if err != nil || rows.Err() != nil {
			t.Fatal(err, rows.Err())
		}
		_ = rows.Close()
	}
	return all
}
