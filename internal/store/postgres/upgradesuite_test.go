package postgres

import (
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

// second is what a database of the second schema holds beside what the first one did.
var second = [...]string{
	"UPDATE items SET cut = true WHERE seq = 1",
	"UPDATE runs SET budget = 7000000000",
	"UPDATE attempts SET cost = 1234567000, reserved = 2000000000, request_id = 'q', seen = 'h' WHERE seq = 1",
	"INSERT INTO run_keys VALUES (1, 'grade:j', 1)",
	"INSERT INTO idempotency VALUES (1, 'r', 'k', 'h', 1, 1)",
	`INSERT INTO models VALUES ('e', 'm', '{"limits":{}}', 1)`,
	"INSERT INTO seen (project_id, hash, text) VALUES (1, '\\x00', '\\x01')",
}

var everyTable = []string{"projects", "sessions", "contents", "runs", "run_specs", "run_judges", "run_keys", "version_keys", "idempotency", "items", "attempts", "verdicts",
	"models", "seen", "(SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = current_schema())"}

// A database from before there were suites is opened as it is, runs suites, and can be taken back without
// them.
func TestDatabaseBeforeSuitesIsBroughtUpToDate(t *testing.T) {
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
	for i, rows := range [...][]string{released[:], second[:]} {
		if _, err := p.UpTo(t.Context(), int64(i+1)); err != nil {
			t.Fatal(err)
		}
		for _, query := range rows {
			if _, err := db.Exec(query); err != nil {
				t.Fatal(query, err)
			}
		}
	}
	before := dump(t, db, everyTable...)
	for range 2 {
		s, err := Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		old, err := s.Runs().Get(t.Context(), 1)
		if err != nil || old.Suite != nil || old.Budget == nil || len(old.Spec.Judges) != 1 {
			t.Errorf("the run from before is %+v, error %v", old, err)
		}
		useSuites(t, s)
		if findings, err := s.Check(t.Context()); err != nil || len(findings) != 0 {
			t.Errorf("findings %v, error %v", findings, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.DownTo(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if after := dump(t, db, everyTable...); !reflect.DeepEqual(after, before) {
			t.Fatalf("taken back:\n%v\nbefore:\n%v", after, before)
		}
	}
}

// useSuites makes a row in every table that came with suites.
func useSuites(t *testing.T, s *Store) {
	t.Helper()
	ctx, now := t.Context(), time.UnixMicro(5).UTC()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Suites().Apply(ctx, 1, []assay.Suite{{Name: "s", Version: "suite"}}, now)
	must(err)
	_, err = s.Schedules().Apply(ctx, 1, []assay.Schedule{{Name: "s", NextAt: &now}}, now)
	must(err)
	for _, kind := range []assay.RunKind{assay.RunSuite, assay.RunExternal} {
		run, _, err := s.Runs().Create(ctx, store.NewRun{Project: 1, Kind: kind, Reporting: kind == assay.RunExternal, AsOf: now, Now: now, Keys: []string{string(kind)},
			Suite: &assay.SuiteSpec{Name: string(kind)}, Idempotency: &store.Idempotency{Route: "suite", Key: string(kind), BodyHash: "h"}})
		must(err)
		if kind == assay.RunSuite {
			run, err = s.Runs().TakeUp(ctx, run.ID, 0, false, now)
			must(err)
		}
		must(s.Harnesses().PutCases(ctx, store.Fence{Run: run.ID, Epoch: 1}, []assay.Case{{Seq: 1, State: assay.ItemGraded, Findings: []assay.Finding{{Criterion: "c", Applies: true}}}}, now))
		must(s.Harnesses().AddPoints(ctx, run.ID, []store.Point{{N: 1, Metric: assay.Metric{Name: "m"}}}))
		if got, err := s.Runs().Get(ctx, run.ID); err != nil || got.Suite == nil || got.Planned != 1 {
			t.Errorf("run %+v, error %v", got, err)
		}
	}
}
