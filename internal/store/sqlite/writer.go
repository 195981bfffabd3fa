package sqlite

import (
	"context"
	"slices"
	"sync"
)

// priority orders those who wait to write.
type priority int

const (
	forAsk priority = iota // what people ask and what becomes of a run
	forBeat
	forCommit // verdicts
	forPlan
	forImport
	priorities = iota
)

// patience is how many transactions may pass a waiter by before it is its turn.
const patience = 32

// writer lends the one connection that writes.
type writer struct {
	mu     sync.Mutex
	conn   *conn // nil when closed
	busy   bool
	queues [priorities][]*waiter
}

type waiter struct {
	turn   chan struct{} // closed when the connection is ours
	passed int
}

// tx is the writing connection inside a transaction.
type tx struct{ *conn }

// do runs f in one transaction: all of it is on disk when do returns nil, and nothing otherwise. ctx
// bounds the wait for the connection; a transaction that has begun is short and is finished.
func (w *writer) do(ctx context.Context, p priority, f func(tx) error) error {
	if err := w.acquire(ctx, p); err != nil {
		return err
	}
	defer w.release()
	if w.conn == nil {
		return errClosed()
	}
	return w.conn.transact(f)
}

func (c *conn) transact(f func(tx) error) (err error) {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	done := false
	defer func() {
		if !done {
			_, _ = c.exec("ROLLBACK") // the cause is being returned; a broken transaction ends with it
		}
	}()
	if err := f(tx{c}); err != nil {
		return err
	}
	if _, err := c.exec("COMMIT"); err != nil {
		return err
	}
	done = true
	return nil
}

func (w *writer) acquire(ctx context.Context, p priority) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	w.mu.Lock()
	if !w.busy {
		w.busy = true
		w.mu.Unlock()
		return nil
	}
	me := &waiter{turn: make(chan struct{})}
	w.queues[p] = append(w.queues[p], me)
	w.mu.Unlock()
	select {
	case <-me.turn:
		return nil
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.queues[p], me); i >= 0 {
		w.queues[p] = slices.Delete(w.queues[p], i, i+1)
		return context.Cause(ctx)
	}
	w.pass() // it became ours while ctx ended
	return context.Cause(ctx)
}

func (w *writer) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pass()
}

// pass hands the connection to the next waiter: the first that was passed by too often, else the
// first of the highest priority.
func (w *writer) pass() {
	next := -1
	for p := range w.queues {
		if len(w.queues[p]) == 0 {
			continue
		}
		if next < 0 || w.queues[p][0].passed >= patience {
			next = p
		}
	}
	if next < 0 {
		w.busy = false
		return
	}
	me := w.queues[next][0]
	w.queues[next] = slices.Delete(w.queues[next], 0, 1)
	for p := range w.queues {
		if p > next && len(w.queues[p]) > 0 {
			w.queues[p][0].passed++
		}
	}
	close(me.turn)
}

// close waits for the transaction in progress; those who wait get errClosed.
func (w *writer) close() error {
	if err := w.acquire(context.Background(), forAsk); err != nil {
		return err
	}
	defer w.release()
	if w.conn == nil {
		return nil
	}
	c := w.conn
	w.conn = nil
	return c.close()
}
