package postgres

import (
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
)

// Two runs that store the same transcripts wait for each other, but not in a circle: every batch adds
// its transcripts in one order.
func TestTranscriptsAreAddedInOneOrder(t *testing.T) {
	s := open(t, pgtest.Database(t))
	f := planned(t, s, 2)
	low, high := strings.Repeat("00", 32), strings.Repeat("ff", 32)
	b := store.Batch{Now: t0, Done: []store.Outcome{graded(f, 1), graded(f, 2)}}
	for i, hash := range []string{high, low} {
		b.Done[i].Seen = &store.Seen{Hash: assay.Hash(hash), Text: []byte("text")}
	}
	other := client(t, s)
	mustExec(t, other, "BEGIN")
	const add = "INSERT INTO seen (project_id, hash, text) VALUES (1, decode($1, 'hex'), 'x') ON CONFLICT DO NOTHING"
	mustExec(t, other, add, low)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Items().Commit(t.Context(), f, b)
		ended <- err
	}()
	waitForWaiter(t, s)
	mustExec(t, other, "SET lock_timeout = '500ms'")
	mustExec(t, other, add, high)
	mustExec(t, other, "COMMIT")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text, err := s.Bodies().Seen(t.Context(), 1, assay.Hash(high)); err != nil || string(text) != "x" {
		t.Errorf("the transcript is %q, error %v", text, err)
	}
}
