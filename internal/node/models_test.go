package node

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/limit"
	"assay/internal/store"
	"assay/internal/store/postgres"
	"assay/internal/store/postgres/pgtest"
	"assay/internal/store/sqlite"
)

var small = assay.ModelKey{Endpoint: "https://api.openai.com/v1", Model: "gpt-4.1-mini"}

// What is set reaches the limiter and the price of the next call, and what is unset leaves both.
func TestWhatIsSetHoldsForTheNextCall(t *testing.T) {
	st, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	m := newModels(st, limit.New(time.Now))
	if err := m.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := m.price("openai", small); p == nil || p.Input != assay.Dollar*4/10 {
		t.Fatalf("the catalogue's price: %+v", p)
	}
	put(t, st, assay.ModelSettings{Limits: assay.Limits{Concurrency: 3, RequestsPerMinute: 60}, Price: &assay.Price{Source: assay.SourceSet}, ContextTokens: 8_000})
	if err := m.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := m.price("openai", small); p == nil || p.Input != 0 || p.Source != assay.SourceSet {
		t.Errorf("the price that was set: %+v", p)
	}
	if got := m.Limiters()[small]; got.Window != 3 || got.RequestsPerMinute != 60 || got.Breaker != "closed" {
		t.Errorf("limits that were set: %+v", got)
	}
	if context := m.judges.contextTokens("openai", small); context != 8_000 {
		t.Errorf("context %d", context)
	}
	if err := st.Models().Delete(t.Context(), small); err != nil {
		t.Fatal(err)
	}
	if err := m.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := m.price("openai", small); p == nil || p.Input != assay.Dollar*4/10 {
		t.Errorf("the catalogue's price again: %+v", p)
	}
	if got := m.Limiters()[small]; got.RequestsPerMinute != 0 {
		t.Errorf("limits that are gone: %+v", got)
	}
}

func put(t *testing.T, st store.Store, s assay.ModelSettings) {
	t.Helper()
	if err := st.Models().Put(t.Context(), small, s, now()); err != nil {
		t.Fatal(err)
	}
}

// A client of one process sets, and the process that drives goes by it within a second or so.
func TestAnotherProcessOfTheDatabaseHearsOfIt(t *testing.T) {
	url := pgtest.Database(t)
	st, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	cfg, _ := config(filepath.Join(shortDir(t), "data"), "serve", true)
	cfg.Database = url
	link := connected(t, cfg)
	c := client.New("http://assay", &http.Client{Transport: link})
	put(t, st, assay.ModelSettings{Limits: assay.Limits{Concurrency: 7}})
	eventually(t, "the limit that another process set", func() bool {
		m, err := c.Model(t.Context(), "", small)
		return err == nil && m.Limiter != nil && m.Limiter.Window == 7
	})
}

// Through the API it holds when the answer is there.
func TestThroughTheAPIItHoldsAtOnce(t *testing.T) {
	cfg, _ := config(filepath.Join(shortDir(t), "data"), "serve", true)
	link := connected(t, cfg)
	c := client.New("http://assay", &http.Client{Transport: link})
	ctx := context.WithoutCancel(t.Context())
	if _, err := c.PutModel(ctx, api.ModelPut{ModelKey: small, Limits: assay.Limits{Concurrency: 5}}); err != nil {
		t.Fatal(err)
	}
	if got := link.Node().limits.For(limit.Key(small)).State(); got.Set.Concurrency != 5 {
		t.Errorf("%+v", got)
	}
	if err := c.DeleteModel(ctx, small); err != nil {
		t.Fatal(err)
	}
	if got := link.Node().limits.For(limit.Key(small)).State(); got.Set.Concurrency != 0 {
		t.Errorf("%+v", got)
	}
}
