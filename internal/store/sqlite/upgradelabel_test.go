package sqlite

import (
	"reflect"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// labelled5 is what a data folder of the fifth schema holds of a label.
const labelled5 = `
INSERT INTO projects (id, name, settings, created_at) VALUES (1, 'p', '{"zone":"UTC"}', 1);
INSERT INTO sessions (id, project_id, content_id, user_id, session_id, day, arm, arrived_at, empty, case_key, source_url, agent_version, source, turns, messages, tool_calls, repaired)
	VALUES (1, 1, 1, 'u', 's', 'd', 'a', 1, 0, '', '', '', '', 1, 1, 0, 0);
INSERT INTO contents (id, session_key, hash, version, arrived_at, import_id, bytes) VALUES (1, 1, 'h', 1, 1, 0, 1);
INSERT INTO labels (id, project_id, content_id, criterion, criterion_version, rater, value, blind, probability, created_at)
	VALUES (1, 1, 1, 'pass', '', 'ann', 'true', 0, 0.5, 7);`

// A label from before labels knew their use measures with the probability that it had; one taken back keeps it.
func TestLabelsMeasureAfterAnUpgrade(t *testing.T) {
	dir := t.TempDir()
	db := rawDB(t, dir)
	if _, err := provider(t, db).UpTo(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(labelled5 + "PRAGMA user_version = 5"); err != nil {
		t.Fatal(err)
	}
	before := dump(t, db, "SELECT * FROM labels")
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := s.Labels().List(t.Context(), 1, store.LabelQuery{}, store.Page{})
	want := []assay.Label{{ID: 1, UserID: "u", SessionID: "s", ContentHash: "h", Current: true, Criterion: "pass", Value: []byte("true"), Rater: "ann",
		Use: assay.UseMeasure, Probability: 0.5, CreatedAt: time.UnixMicro(7).UTC()}}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("labels %+v, error %v", list, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := provider(t, db).DownTo(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if after := dump(t, db, "SELECT * FROM labels"); !reflect.DeepEqual(after, before) {
		t.Errorf("taken back: %v, before: %v", after, before)
	}
}
