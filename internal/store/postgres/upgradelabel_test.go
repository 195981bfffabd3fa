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

// labelled5 is what a database of the fifth schema holds of a label.
const labelled5 = `
INSERT INTO projects (id, name, settings, created_at) VALUES (1, 'p', '{"zone":"UTC"}', 1);
INSERT INTO sessions (id, project_id, content_id, user_id, session_id, day, arm, arrived_at, empty, case_key, source_url, agent_version, source, turns, messages, tool_calls, repaired)
	VALUES (1, 1, 1, 'u', 's', 'd', 'a', 1, false, '', '', '', '', 1, 1, 0, false);
INSERT INTO contents (id, session_key, hash, version, arrived_at, import_id, bytes) VALUES (1, 1, 'h', 1, 1, 0, 1);
INSERT INTO labels (id, project_id, content_id, criterion, criterion_version, rater, value, blind, probability, created_at)
	VALUES (1, 1, 1, 'pass', '', 'ann', 'true', false, 0.5, 7);`

// A label from before labels knew their use measures with the probability that it had; one taken back keeps it.
func TestLabelsMeasureAfterAnUpgrade(t *testing.T) {
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
	if _, err := p.UpTo(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(labelled5); err != nil {
		t.Fatal(err)
	}
	s := open(t, url)
	list, _, err := s.Labels().List(t.Context(), 1, store.LabelQuery{}, store.Page{})
	want := []assay.Label{{ID: 1, UserID: "u", SessionID: "s", ContentHash: "h", Current: true, Criterion: "pass", Value: []byte("true"), Rater: "ann",
		Use: assay.UseMeasure, Probability: 0.5, CreatedAt: time.UnixMicro(7).UTC()}}
	if err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("labels %+v, error %v", list, err)
	}
	if _, err := p.DownTo(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	var columns int
	if err := db.QueryRow("SELECT count(*) FROM information_schema.columns WHERE table_name = 'labels' AND column_name IN ('use', 'draw', 'note', 'decided')").Scan(&columns); err != nil || columns != 0 {
		t.Errorf("%d new columns are left, error %v", columns, err)
	}
}
