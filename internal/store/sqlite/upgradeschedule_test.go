package sqlite

import (
	"testing"

	"assay/internal/store"
)

// fourth is what a data folder of the fourth schema holds: a run that a tick started, and one of somebody
// who calls himself a schedule.
const fourth = `
INSERT INTO projects (id, name, settings, created_at) VALUES (1, 'p', '{"zone":"UTC"}', 1);
INSERT INTO runs (id, project_id, kind, state, by_whom, concurrency, as_of, created_at)
	VALUES (1, 1, 'grade', 'completed', 'schedule night', 1, 1, 1), (2, 1, 'grade', 'completed', 'schedule night', 1, 1, 1);
INSERT INTO run_specs (run_id, spec) VALUES (1, '{}'), (2, '{}');
INSERT INTO idempotency (project_id, route, key, body_hash, run_id, created_at)
	VALUES (1, 'schedule night', 'k', 'h', 1, 1), (1, 'runs', 'schedule night', 'h', 2, 1);`

// What a schedule started before runs named their schedule is known as its own, by the record that only ticks make.
func TestRunsOfTicksAreTheirSchedulesAfterAnUpgrade(t *testing.T) {
	dir := t.TempDir()
	db := rawDB(t, dir)
	if _, err := provider(t, db).UpTo(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(fourth + "PRAGMA user_version = 4"); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, _, err := s.Runs().List(t.Context(), store.RunQuery{Project: 1, Schedule: "night"}, store.Page{})
	if err != nil || len(list) != 1 || list[0].ID != 1 {
		t.Errorf("%v, error %v", list, err)
	}
}
