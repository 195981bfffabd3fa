package ingest

import (
	"context"
	"errors"
	"io"
	"runtime"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"assay/internal/assay"
	"assay/internal/session"
	"assay/internal/session/piece"
	"assay/internal/store"
)

// prepared is a piece ready to be stored: a session or a reject.
type prepared struct {
	session store.NewSession
	reject  *store.Reject
}

// Bounds of what is on its way between the file and the writer.
const (
	maxInFlight = 16 << 20 // bytes of raw pieces; a larger piece goes alone
	maxPieces   = 512
	pieceCost   = 4 << 10 // what a piece costs beside its bytes
)

// pipe reads pieces one after the other, prepares them on all cores and hands them to take in the
// file's order. take is called by one goroutine. The first error ends everything.
func pipe(ctx context.Context, in session.Reader, prepare func(piece.Record) prepared, take func(prepared) error) error {
	type job struct {
		task session.Task
		size int64
		done chan prepared
	}
	group, ctx := errgroup.WithContext(ctx)
	room := semaphore.NewWeighted(maxInFlight)
	work := make(chan job)
	order := make(chan job, maxPieces)

	group.Go(func() error {
		defer close(work)
		defer close(order)
		for {
			task, err := in.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			j := job{task, min(int64(task.Size)+pieceCost, maxInFlight), make(chan prepared, 1)}
			if err := room.Acquire(ctx, j.size); err != nil {
				return err
			}
			for _, to := range []chan job{order, work} {
				select {
				case to <- j:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
	})
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			for j := range work {
				j.done <- prepare(j.task.Read())
			}
			return nil
		})
	}
	group.Go(func() error {
		for j := range order {
			select {
			case p := <-j.done:
				room.Release(j.size)
				if err := take(p); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return group.Wait()
}

// prepare makes of a record what is stored.
func (i *importing) prepare(r piece.Record) prepared {
	fault := r.Fault
	if fault == nil {
		fault = checkNames(r.Session)
	}
	if fault == nil {
		body, hash, size, err := store.EncodeBody(r.Session)
		if err == nil {
			h := Head(r.Session, i.project.Settings, i.zone)
			h.ContentHash, h.BodyBytes, h.Repaired = hash, size, r.Repaired
			for n := range r.Labels {
				l := &r.Labels[n]
				l.UserID, l.SessionID, l.ContentHash = h.UserID, h.SessionID, hash
			}
			return prepared{session: store.NewSession{Head: h, Body: body, Labels: r.Labels}}
		}
		fault = piece.Faultf("", "cannot be stored: %s", err)
	}
	return prepared{reject: &store.Reject{Line: r.Line, Where: fault.Where, Reason: fault.Reason, Excerpt: r.Excerpt}}
}

// maxName bounds user and session ids, in bytes: they stand in index entries, which have a bound.
const maxName = 512

func checkNames(s *assay.Session) *piece.Fault {
	for _, n := range []struct{ what, name string }{{"user_id", s.UserID}, {"session_id", s.SessionID}} {
		if len(n.name) > maxName {
			return piece.Faultf("", "the %s is %d bytes long, more than %d", n.what, len(n.name), maxName)
		}
	}
	return nil
}
