package sqlite

import (
	"reflect"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// second is what a data folder of the second schema holds beside what the first one did.
const second = `
UPDATE items SET cut = 1 WHERE seq = 1;
UPDATE runs SET budget = 7000000000;
UPDATE attempts SET cost = 1234567000, reserved = 2000000000, request_id = 'q', seen = 'h' WHERE seq = 1;
INSERT INTO run_keys VALUES (1, 'grade:j', 1);
INSERT INTO idempotency VALUES (1, 'r', 'k', 'h', 1, 1);
INSERT INTO models VALUES ('e', 'm', '{"limits":{}}', 1);
INSERT INTO seen (project_id, hash, text) VALUES (1, x'00', x'01');`

// everyTable lists what a folder of the second schema holds.
var everyTable = []string{"SELECT * FROM projects", "SELECT * FROM sessions", "SELECT * FROM contents", "SELECT * FROM runs", "SELECT * FROM run_specs", "SELECT * FROM run_judges",
	"SELECT * FROM run_keys", "SELECT * FROM version_keys", "SELECT * FROM idempotency", "SELECT * FROM items", "SELECT * FROM attempts", "SELECT * FROM verdicts",
	"SELECT * FROM models", "SELECT * FROM seen", "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name"}

// A data folder from before there were suites is opened as it is, runs suites, and can be taken back
// without them.
func TestFolderBeforeSuitesIsBroughtUpToDate(t *testing.T) {
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
	exec(released)
	if _, err := provider(t, db).UpTo(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	exec(second)
	exec("PRAGMA user_version = 2")
	before := dump(t, db, everyTable...)
	for range 2 {
		s, err := Open(t.Context(), dir)
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
		if _, err := provider(t, db).DownTo(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		exec("PRAGMA user_version = 2")
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
