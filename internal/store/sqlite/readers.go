package sqlite

import (
	"context"
	"errors"
	"sync"
)

const (
	// maxReaders bounds how many read at once. It is far more than useful, because a reader may read
	// again while it holds its connection: a scan's callback does.
	maxReaders  = 16
	idleReaders = 4 // how many stay open
)

// readers lends connections that only read. They are opened when needed.
type readers struct {
	open  func(context.Context) (*conn, error)
	slots chan struct{}

	mu     sync.Mutex
	idle   []*conn
	closed bool
}

func newReaders(open func(context.Context) (*conn, error)) *readers {
	return &readers{open: open, slots: make(chan struct{}, maxReaders)}
}

// do lends a connection to f.
func (r *readers) do(ctx context.Context, f func(*conn) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.slots }()
	c, err := r.take(ctx)
	if err != nil {
		return err
	}
	defer r.give(c)
	return f(c)
}

// view is do on one state of the database, for what takes several queries.
func (r *readers) view(ctx context.Context, f func(*conn) error) error {
	return r.do(ctx, func(c *conn) error { return c.snapshot(func() error { return f(c) }) })
}

func (r *readers) take(ctx context.Context) (*conn, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, errClosed()
	}
	var c *conn
	if n := len(r.idle); n > 0 {
		c, r.idle = r.idle[n-1], r.idle[:n-1]
	}
	r.mu.Unlock()
	if c != nil {
		return c, nil
	}
	return r.open(ctx)
}

func (r *readers) give(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && len(r.idle) < idleReaders {
		r.idle = append(r.idle, c)
		return
	}
	_ = c.close() // nobody is left to hear of it
}

// close closes what is idle; what is lent closes when it is given back.
func (r *readers) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	var errs []error
	for _, c := range r.idle {
		errs = append(errs, c.close())
	}
	r.idle = nil
	return errors.Join(errs...)
}
