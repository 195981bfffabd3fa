package node

import (
	"context"
	"fmt"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// TestShortCommandsFinishRekeying: an owner that died while it recomputed arms and days leaves that to
// the next one, which may be a command that looks for a moment and ends.
func TestShortCommandsFinishRekeying(t *testing.T) {
	dir := t.TempDir()
	cfg, _ := config(dir, "sessions", false)
	first := connected(t, cfg)
	if err := first.Close(time.Second); err != nil {
		t.Fatal(err)
	}
	halfRekeyed(t, cfg, 20_000)
	looker, err := Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := looker.Close(time.Minute); err != nil {
		t.Fatal(err)
	}
	st, err := OpenStore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if p, err := st.Projects().Get(t.Context(), DefaultProject); err != nil || p.Rekeying {
		t.Errorf("still recomputing (%v)", err)
	}
}

// halfRekeyed leaves n sessions and a change of zone of which nothing was recomputed yet.
func halfRekeyed(t *testing.T, cfg Config, n int) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	st, err := OpenStore(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	p, err := st.Projects().Get(ctx, DefaultProject)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 23, 30, 0, 0, time.UTC)
	batch := make([]store.NewSession, n)
	for i := range batch {
		s := &assay.Session{UserID: "u", SessionID: fmt.Sprint(i), Turns: []assay.Turn{{StartedAt: &at, Messages: []assay.Message{{Role: assay.RoleUser, Content: "hi"}}}}}
		body, hash, size, err := store.EncodeBody(s)
		if err != nil {
			t.Fatal(err)
		}
		batch[i] = store.NewSession{Body: body, Head: assay.Head{UserID: s.UserID, SessionID: s.SessionID, ContentHash: hash,
			StartedAt: &at, Day: "2026-03-01", Arm: assay.Untagged, Turns: 1, Messages: 1, BodyBytes: size}}
	}
	if _, err := st.Sessions().Put(ctx, p.ID, 0, batch, at); err != nil {
		t.Fatal(err)
	}
	p.Settings.Zone = "Europe/Berlin"
	if _, err := st.Projects().Update(ctx, p.ID, p.Settings, true); err != nil {
		t.Fatal(err)
	}
}
