package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/internal/assay"
	"assay/internal/store"
)

const (
	tries    = 6
	patience = 10 * time.Second // no new try after this
	// within bounds one try, for a server that has become silent: what it is doing ends by its own
	// statement_timeout before that.
	within       = 35 * time.Second
	commitWithin = 10 * time.Second
)

// conn is a connection on loan, inside a transaction or not.
type conn struct{ querier }

type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// exec runs a statement and returns how many rows it changed.
func (c conn) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	tag, err := c.Exec(ctx, sql, values(args)...)
	return tag.RowsAffected(), err
}

// first reads the first row into dest and says whether there was one.
func (c conn) first(ctx context.Context, sql string, args []any, dest ...any) (bool, error) {
	found := false
	err := c.each(ctx, func() error { found = true; return nil }, sql, args, dest...)
	return found, err
}

// each reads every row into dest, one after the other, and calls f after each.
func (c conn) each(ctx context.Context, f func() error, sql string, args []any, dest ...any) error {
	rows, err := c.Query(ctx, sql, values(args)...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, dest, f)
	return err
}

// collect reads every row into a T of its own; into names the destinations of one.
func collect[T any](ctx context.Context, c conn, into func(*T) []any, sql string, args ...any) (list []T, err error) {
	var v T
	err = c.each(ctx, func() error {
		list = append(list, v)
		v = *new(T)
		return nil
	}, sql, args, into(&v)...)
	return list, err
}

// tx is a connection inside a transaction.
type tx struct {
	conn
	ended *bool // COMMIT was sent by finish
}

// finish sends the last statements of a transaction and its COMMIT in one round trip. f must return
// what it returns.
func (t tx) finish(ctx context.Context, b *pgx.Batch) error {
	b.Queue("COMMIT")
	*t.ended = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitWithin)
	defer cancel()
	return t.SendBatch(ctx, b).Close()
}

// read lends a connection to f, which only reads and may run again on another connection.
func (s *Store) read(ctx context.Context, f func(context.Context, conn) error) error {
	return s.retry(ctx, func(ctx context.Context) (bool, error) {
		c, err := s.pool.Acquire(ctx)
		if err != nil {
			return true, acquireError(err)
		}
		defer c.Release()
		return true, f(ctx, conn{c})
	})
}

// write runs f in one transaction: all of it is stored when write returns nil, and nothing otherwise.
// f may run several times.
func (s *Store) write(ctx context.Context, f func(context.Context, tx) error) error {
	return s.transact(ctx, func(b *pgx.Batch) func(pgx.BatchResults) error { return nil }, f)
}

// lock is how strongly a fence holds the run row.
type lock string

const (
	toRead  lock = "FOR SHARE"
	toWrite lock = "FOR NO KEY UPDATE" // the transaction writes the row too
)

const fenceSQL = `SELECT cancel_requested_at IS NOT NULL, cancel_now, pause_requested_at IS NOT NULL, end_requested_at IS NOT NULL,
	concurrency::bigint, revision, budget FROM runs WHERE id = $1 AND epoch = $2 AND state = ANY($3) `

// fenced is write under a driver's claim: its first statement locks the run row, or finds that the
// claim is gone.
func (s *Store) fenced(ctx context.Context, fence store.Fence, l lock, f func(context.Context, tx, assay.RunControl) error) error {
	var control assay.RunControl
	begin := func(b *pgx.Batch) func(pgx.BatchResults) error {
		b.Queue(fenceSQL+string(l), int64(fence.Run), fence.Epoch, states(fence))
		return func(results pgx.BatchResults) error { return readControl(results, fence, &control) }
	}
	return s.transact(ctx, begin, func(ctx context.Context, t tx) error { return f(ctx, t, control) })
}

func states(f store.Fence) []string {
	if f.States == nil {
		return []string{string(assay.RunRunning)}
	}
	return texts(f.States)
}

func texts[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = string(v)
	}
	return out
}

func readControl(results pgx.BatchResults, f store.Fence, c *assay.RunControl) error {
	err := results.QueryRow().Scan(controlInto(c)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return lost(f.Run, f.Epoch)
	}
	return err
}

func controlInto(c *assay.RunControl) []any {
	return []any{&c.Cancel, &c.Now, &c.Pause, &c.End, &c.Concurrency, &c.Revision, asUSDPtr{&c.Budget}}
}

func lost(run assay.RunID, epoch int64) error {
	return assay.Errorf(assay.CodeLost, "run %s is no longer held at epoch %d", run, epoch).
		WithHint("another driver took it up, or it ended; stop without writing")
}

// transact begins a transaction, with the statements of first in the same round trip, runs f in it
// and commits.
func (s *Store) transact(ctx context.Context, first func(*pgx.Batch) func(pgx.BatchResults) error, f func(context.Context, tx) error) error {
	return s.retry(ctx, func(ctx context.Context) (again bool, err error) {
		c, err := s.pool.Acquire(ctx)
		if err != nil {
			return true, acquireError(err)
		}
		defer c.Release() // closes a connection that is broken or still in a transaction
		ended := false
		t := tx{conn{c}, &ended}
		if err = begin(ctx, t, first); err == nil {
			err = f(ctx, t)
		}
		if err != nil {
			var pg *pgconn.PgError
			again = !ended || errors.As(err, &pg) && !fatal(pg)
			rollback(ctx, t)
			return again, err
		}
		if ended {
			return false, nil
		}
		return commit(ctx, t)
	})
}

func begin(ctx context.Context, t tx, first func(*pgx.Batch) func(pgx.BatchResults) error) error {
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	read := first(b)
	results := t.SendBatch(ctx, b)
	_, err := results.Exec()
	if err == nil && read != nil {
		err = read(results)
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return err
}

// commit is not interrupted: once sent, its answer is worth the wait.
func commit(ctx context.Context, t tx) (again bool, err error) {
	if ctx.Err() != nil {
		rollback(ctx, t)
		return false, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitWithin)
	defer cancel()
	_, err = t.Exec(ctx, "COMMIT")
	var pg *pgconn.PgError
	return errors.As(err, &pg) && !fatal(pg), err
}

func rollback(ctx context.Context, t tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = t.Exec(ctx, "ROLLBACK") // the cause is being returned; a broken connection rolls back by itself
}

// retry runs f again where it says that it may and the error is one that passes.
func (s *Store) retry(ctx context.Context, f func(context.Context) (again bool, err error)) error {
	begun := time.Now()
	for n := 1; ; n++ {
		bounded, cancel := context.WithTimeout(ctx, within)
		again, err := f(bounded)
		cancel()
		if err == nil {
			return nil
		}
		if !again || n == tries || time.Since(begun) > patience || !passes(err) || ctx.Err() != nil {
			return translate(ctx, err)
		}
		timer := time.NewTimer(rand.N(time.Duration(n) * 10 * time.Millisecond)) // apart, so that they do not meet again
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// errAgain is what a transaction returns that met another's rows half way.
var errAgain = because(nil, assay.CodeUnavailable, "the database is busy: other writers were first each time", "try again")

func passes(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == serializationFailure || pg.Code == deadlockDetected) {
		return true
	}
	return errors.Is(err, errAgain) || disconnected(err)
}
