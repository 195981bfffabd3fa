package node

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Link is how a command reaches the API: through this process's own node, or through the process
// that owns. It is an http.RoundTripper that outlives the owner: when nobody takes a connection, it
// connects again, which may make this process the owner.
type Link struct {
	cfg    Config
	polite time.Duration // how long it leaves the data alone that it handed over

	mu  sync.Mutex
	way *way
}

// way is one connection to an owner.
type way struct {
	transport *http.Transport
	owner     Identity // who answers; this process itself when node is set
	node      *Node    // nil: another process answers
}

func (l *Link) now() *way {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.way
}

// Node is this process's own, or nil when another process answers.
func (l *Link) Node() *Node { return l.now().node }

// Owner is who answers.
func (l *Link) Owner() Identity {
	w := l.now()
	if w.node != nil {
		return w.node.Identity()
	}
	return w.owner
}

// renew connects again after an owner went away.
func (l *Link) renew(ctx context.Context, gone *way) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.way != gone || !gone.left() {
		return nil // somebody was faster, or it is this process, which is here
	}
	gone.transport.CloseIdleConnections()
	polite := time.Duration(0)
	if gone.node != nil {
		if err := gone.node.yielded(ctx); err != nil {
			return err
		}
		polite = l.polite
	}
	w, err := connect(ctx, l.cfg, polite)
	if err != nil {
		return err
	}
	l.way = w
	switch {
	case !l.cfg.Drive:
	case w.node == nil && gone.node != nil:
		l.cfg.Say(w.owner.String() + " goes on; this process looks on")
	case w.node != nil && gone.node != nil:
		l.cfg.Say("the process that asked for the data did not take it; this process goes on")
	case w.node != nil:
		l.cfg.Say(gone.owner.String() + " ended; this process goes on")
	}
	return nil
}

// left says whether w leads to a process that may have gone, or that hands the data over: not to this
// process's own node as long as it is here.
func (w *way) left() bool { return w.node == nil || w.node.yielding.Load() }

// maxOwners is how many owners a request may meet at their end before it gives up.
const maxOwners = 20

// RoundTrip sends a request. When the owner went away it is sent again, to the next owner, if nobody
// took it or if it may be repeated.
func (l *Link) RoundTrip(req *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		w := l.now()
		resp, err := w.transport.RoundTrip(req)
		if err == nil || !w.left() || req.Context().Err() != nil || try == maxOwners || !(refused(err) || repeatable(req)) {
			return resp, err
		}
		if err := l.renew(req.Context(), w); err != nil {
			return nil, err
		}
		body := req.GetBody
		req = req.Clone(req.Context())
		if body != nil {
			if req.Body, err = body(); err != nil {
				return nil, err
			}
		}
	}
}

// refused says that there was no connection, so not a byte of the request was read.
func refused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// repeatable is net/http's own rule: reading changes nothing, and a key makes the rest safe.
func repeatable(req *http.Request) bool {
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		return false
	}
	return req.Method == http.MethodGet || req.Method == http.MethodHead || req.Header.Get("Idempotency-Key") != ""
}

// CloseIdleConnections is for http.Client.
func (l *Link) CloseIdleConnections() { l.now().transport.CloseIdleConnections() }

// Close ends this process's part, gracefully: see Node.Close. Closing twice is safe.
func (l *Link) Close(patience time.Duration) error {
	w := l.now()
	w.transport.CloseIdleConnections()
	if w.node == nil {
		return nil
	}
	return w.node.Close(patience)
}
