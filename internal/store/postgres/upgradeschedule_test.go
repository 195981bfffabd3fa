package postgres

import (
	"io/fs"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
)

// fourth is what a database of the fourth schema holds: a run that a tick started, and one of somebody who
// calls himself a schedule.
const fourth = `
INSERT INTO projects (id, name, settings, created_at) VALUES (1, 'p', '{"zone":"UTC"}', 1);
INSERT INTO runs (id, project_id, kind, state, by_whom, concurrency, as_of, created_at)
	VALUES (1, 1, 'grade', 'completed', 'schedule night', 1, 1, 1), (2, 1, 'grade', 'completed', 'schedule night', 1, 1, 1);
INSERT INTO run_specs (run_id, spec) VALUES (1, '{}'), (2, '{}');
INSERT INTO idempotency (project_id, route, key, body_hash, run_id, created_at)
	VALUES (1, 'schedule night', 'k', 'h', 1, 1), (1, 'runs', 'schedule night', 'h', 2, 1);`

// What a schedule started before runs named their schedule is known as its own, by the record that only ticks make.
func TestRunsOfTicksAreTheirSchedulesAfterAnUpgrade(t *testing.T) {
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
	if _, err := p.UpTo(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(fourth); err != nil {
		t.Fatal(err)
	}
	s := open(t, url)
	list, _, err := s.Runs().List(t.Context(), store.RunQuery{Project: 1, Schedule: "night"}, store.Page{})
	if err != nil || len(list) != 1 || list[0].ID != 1 {
		t.Errorf("%v, error %v", list, err)
	}
}
