package api_test

import (
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/engine"
	"assay/internal/store/sqlite"
)

// BenchmarkFirstAnswer is what this package and an empty database add to a start: open the store,
// make the handler, listen and answer one request through the client.
func BenchmarkFirstAnswer(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		st, err := sqlite.Open(b.Context(), dir)
		if err != nil {
			b.Fatal(err)
		}
		h := api.New(api.Services{Store: st, Engine: engine.New(st, nil, nil, func() {}, now), Now: now,
			Owner: func() api.OwnerInfo { return api.OwnerInfo{Driving: true} }})
		l, err := net.Listen("unix", filepath.Join(dir, "s"))
		if err != nil {
			b.Fatal(err)
		}
		srv := api.HTTPServer(api.Guard(h, api.GuardOptions{Socket: true}))
		done := make(chan error)
		go func() { done <- srv.Serve(l) }()
		c := client.Socket(l.Addr().String())
		if _, err := c.Owner(b.Context()); err != nil {
			b.Fatal(err)
		}
		c.Close()
		_ = srv.Close()
		if err := <-done; err != http.ErrServerClosed {
			b.Fatal(err)
		}
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGetOwner(b *testing.B) {
	w := newWorld(b)
	for b.Loop() {
		if _, err := w.socket.Owner(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
