package postgres

import (
	"context"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
)

func TestManyOpenANewDatabaseAtOnce(t *testing.T) {
	db := pgtest.Database(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			s, err := Open(t.Context(), db)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Projects().List(t.Context()); err != nil {
				t.Error(err)
			}
			_ = s.Close()
		})
	}
	group.Wait()
}

func TestNewerSchemaIsRefused(t *testing.T) {
	db := pgtest.Database(t)
	s := open(t, db)
	if _, err := s.pool.Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), db); assay.CodeOf(err) != assay.CodeInvalid {
		t.Fatal(err)
	}
}

// Lists sort by bytes as they do on SQLite, whatever the database's collation.
func TestEveryTextColumnSortsByBytes(t *testing.T) {
	s := open(t, pgtest.Database(t))
	rows, err := s.pool.Query(t.Context(), `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = current_schema() AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var column string
		if err := rows.Scan(&column); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s has the database's collation", column)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

func TestTextsAreCleanedWhereverTheyAreWrittenOrLookedFor(t *testing.T) {
	s := open(t, pgtest.Database(t))
	f := planned(t, s, 1)
	const dirty, cleaned = "a\x00b\xff", "a\uFFFDb\uFFFD"
	head := assay.Head{UserID: dirty, SessionID: dirty, ContentHash: "h", Day: dirty, Arm: dirty, SourceURL: dirty}
	label := assay.Label{Criterion: dirty, Rater: dirty, Value: []byte(`"x"`), Probability: 1}
	if _, err := s.Sessions().Put(t.Context(), 1, 0, []store.NewSession{{Head: head, Body: []byte{0}, Labels: []assay.Label{label}}}, t0); err != nil {
		t.Fatal(err)
	}
	got, err := s.Sessions().Get(t.Context(), 1, dirty, dirty)
	if err != nil || got.UserID != cleaned || got.Arm != cleaned || got.SourceURL != cleaned {
		t.Errorf("%+v %v", got, err)
	}
	o := graded(f, 1)
	o.Error, o.Attempt.Error, o.Attempt.Raw, o.Attempt.Model = dirty, dirty, dirty, dirty
	o.Answers[0].Findings[0].Reason, o.Answers[0].Unit = dirty, dirty
	o.Answers[0].Findings[0].Evidence = []assay.Evidence{{Quote: dirty}}
	if _, err := s.Items().Commit(t.Context(), f, store.Batch{Done: []store.Outcome{o}, Now: t0}); err != nil {
		t.Fatal(err)
	}
	list, _, err := s.Verdicts().List(t.Context(), store.VerdictQuery{Run: f.Run}, store.Page{})
	if err != nil || len(list) != 1 || list[0].Unit != cleaned || list[0].Findings[0].Reason != cleaned || list[0].Model != cleaned {
		t.Errorf("%+v %v", list, err)
	}
}

// Scans whose callbacks use the store must not take each other's connections.
func TestScansThatUseTheStoreGoOn(t *testing.T) {
	s := open(t, pgtest.Database(t)+"&pool_max_conns=4")
	f := planned(t, s, 20)
	run, err := s.Runs().Get(t.Context(), f.Run)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if err := s.Sessions().Scan(ctx, run.ProjectID, store.SessionQuery{}, func(*store.FrameRow) error {
				_, err := s.Runs().Beat(ctx, f, t0)
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
