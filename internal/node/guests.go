package node

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// guests are the requests that an ending owner lets end, and the connections that have not sent
// theirs yet.
type guests struct {
	mu    sync.Mutex
	fresh map[net.Conn]bool
	n     int
}

// freshWithin is how long a new connection may take to send. Clients open some that they never use.
const freshWithin = 100 * time.Millisecond

// busy says whether somebody is still served, or will be, when an end was begun so long ago.
func (g *guests) busy(since time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n > 0 || (len(g.fresh) > 0 && since < freshWithin)
}

func (g *guests) add(n int) {
	g.mu.Lock()
	g.n += n
	g.mu.Unlock()
}

// counted counts all requests but those that wait for a run themselves.
func (g *guests) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !waits(r) {
			g.add(1)
			defer g.add(-1)
		}
		h.ServeHTTP(w, r)
	})
}

// waits says whether a request waits for a run.
func waits(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/events") || strings.HasSuffix(r.URL.Path, "/judges/try") || r.URL.Query().Has("wait")
}

// connState is the server's hook.
func (g *guests) connState(c net.Conn, s http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s == http.StateNew {
		if g.fresh == nil {
			g.fresh = map[net.Conn]bool{}
		}
		g.fresh[c] = true
		return
	}
	delete(g.fresh, c)
}
