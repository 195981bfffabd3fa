package postgres

import (
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
)

// A session whose write had to wait arrives when it is written: a plan that was made meanwhile cannot have
// seen it, and the next one must.
func TestWhatWaitedArrivesWhenItIsWritten(t *testing.T) {
	s := open(t, pgtest.Database(t))
	p, err := s.Projects().Create(t.Context(), "p", assay.DefaultSettings(), t0)
	if err != nil {
		t.Fatal(err)
	}
	put := func(id string) time.Time {
		t.Helper()
		n := store.NewSession{Head: assay.Head{UserID: "u", SessionID: id, ContentHash: assay.Hash(id)}, Body: []byte("{}")}
		if _, err := s.Sessions().Put(t.Context(), p.ID, 0, []store.NewSession{n}, t0); err != nil {
			t.Fatal(err)
		}
		head, err := s.Sessions().Get(t.Context(), p.ID, "u", id)
		if err != nil {
			t.Fatal(err)
		}
		return head.ArrivedAt
	}
	if got := put("a"); !got.Equal(t0) {
		t.Errorf("at once: %s", got)
	}
	c := client(t, s)
	mustExec(t, c, "BEGIN")
	mustExec(t, c, "SELECT 1 FROM projects WHERE id = $1 FOR UPDATE", p.ID)
	freed := make(chan error, 1)
	time.AfterFunc(store.LateStamp+50*time.Millisecond, func() {
		_, err := c.Exec(t.Context(), "ROLLBACK")
		freed <- err
	})
	if got := put("b"); got.Before(t0.Add(store.LateStamp)) {
		t.Errorf("after a wait: %s", got)
	}
	if err := <-freed; err != nil {
		t.Error(err)
	}
}
