package sqlite

import (
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// A session whose write had to wait arrives when it is written: a plan that was made meanwhile cannot have
// seen it, and the next one must.
func TestWhatWaitedArrivesWhenItIsWritten(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p, err := s.Projects().Create(t.Context(), "p", assay.DefaultSettings(), at)
	if err != nil {
		t.Fatal(err)
	}
	put := func(id string) time.Time {
		t.Helper()
		n := store.NewSession{Head: assay.Head{UserID: "u", SessionID: id, ContentHash: assay.Hash(id)}, Body: []byte("{}")}
		if _, err := s.Sessions().Put(t.Context(), p.ID, 0, []store.NewSession{n}, at); err != nil {
			t.Fatal(err)
		}
		head, err := s.Sessions().Get(t.Context(), p.ID, "u", id)
		if err != nil {
			t.Fatal(err)
		}
		return head.ArrivedAt
	}
	if got := put("a"); !got.Equal(at) {
		t.Errorf("at once: %s", got)
	}
	if err := s.write.acquire(t.Context(), forAsk); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(store.LateStamp+50*time.Millisecond, s.write.release)
	if got := put("b"); got.Before(at.Add(store.LateStamp)) {
		t.Errorf("after a wait: %s", got)
	}
}
