package ingest

import (
	"context"
	"errors"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// States that an import ends in.
const (
	stateDone   = "done"
	stateFailed = "failed"
)

// Bounds of one transaction. Rows adapts to the database: a batch that took longer than slow is
// halved, one that took less than fast may grow, so that none comes near the 50 ms that others wait.
const (
	minRows, startRows, maxRows = 8, 64, 512
	maxBatchBytes               = 1 << 19 // of compressed bodies; a larger body goes alone
	slow, fast                  = 15 * time.Millisecond, 6 * time.Millisecond
)

// Progress is stored so often, or when so many rejects wait.
const (
	progressEvery  = 500 * time.Millisecond
	progressReject = 500
)

// writer collects prepared pieces and stores them batch by batch. It has one user.
type writer struct {
	*importing
	ctx     context.Context
	in      *source
	id      int64
	totals  store.Import
	rejects []store.Reject
	batch   []store.NewSession
	bytes   int
	rows    int
	told    time.Time // when progress was stored last
}

// writer begins an import.
func (i *importing) writer(ctx context.Context, in *source) (*writer, error) {
	o, at := i.options, i.now()
	id, err := i.store.Imports().Start(ctx, i.project.ID, o.File, in.format, o.By, at)
	if err != nil {
		return nil, err
	}
	return &writer{
		importing: i, ctx: ctx, in: in, id: id, rows: startRows, told: time.Now(),
		totals: store.Import{ID: id, File: o.File, Format: in.format, By: o.By, StartedAt: at},
	}, nil
}

func (w *writer) take(p prepared) error {
	if p.reject != nil {
		w.totals.Rejected++
		w.rejects = append(w.rejects, *p.reject)
		return w.tell()
	}
	if len(w.batch) > 0 && w.bytes+len(p.session.Body) > maxBatchBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.batch = append(w.batch, p.session)
	w.bytes += len(p.session.Body)
	if len(w.batch) < w.rows {
		return nil
	}
	return w.flush()
}

// flush stores the batch in one transaction.
func (w *writer) flush() error {
	if len(w.batch) == 0 {
		return nil
	}
	began := time.Now()
	results, err := w.store.Sessions().Put(w.ctx, w.project.ID, w.id, w.batch, w.now())
	if err != nil {
		return err
	}
	w.adapt(time.Since(began))
	for n, r := range results {
		s := &w.batch[n]
		switch r {
		case store.PutNew:
			w.totals.New++
		case store.PutChanged:
			w.totals.Changed++
		default:
			w.totals.Unchanged++
		}
		if r != store.PutUnchanged {
			w.totals.Labels += int64(len(s.Labels))
		}
		if s.Head.Repaired {
			w.totals.Repaired++
		}
	}
	clear(w.batch)
	w.batch, w.bytes = w.batch[:0], 0
	return w.tell()
}

func (w *writer) adapt(took time.Duration) {
	switch {
	case took > slow:
		w.rows = max(w.rows/2, minRows)
	case took < fast && len(w.batch) == w.rows:
		w.rows = min(w.rows*2, maxRows)
	}
}

// tell stores running totals now and then.
func (w *writer) tell() error {
	if len(w.rejects) < progressReject && time.Since(w.told) < progressEvery {
		return nil
	}
	w.told = time.Now()
	w.totals.Bytes = w.in.n.Load()
	err := w.store.Imports().Progress(w.ctx, w.id, w.totals, w.rejects)
	w.rejects = w.rejects[:0]
	return err
}

// finish stores how the import ended, whatever has become of ctx.
func (w *writer) finish(cause error) (store.Import, error) {
	ctx := context.WithoutCancel(w.ctx)
	at := w.now()
	w.totals.State, w.totals.EndedAt, w.totals.Bytes = stateDone, &at, w.in.n.Load()
	if cause != nil {
		w.totals.State, w.totals.Error = stateFailed, cause.Error()
		cause = w.tellWhy(cause)
	}
	var told error
	for len(w.rejects) > 0 && told == nil {
		n := min(len(w.rejects), progressReject)
		told = w.store.Imports().Progress(ctx, w.id, w.totals, w.rejects[:n])
		w.rejects = w.rejects[n:]
	}
	if err := errors.Join(told, w.store.Imports().Finish(ctx, w.id, w.totals, at)); cause == nil && err != nil {
		return w.totals, assay.Errorf(assay.CodeOf(err), "finish import of %s: %w", w.options.File, err)
	}
	return w.totals, cause
}

func (w *writer) tellWhy(cause error) error {
	var known *assay.Error
	if errors.As(cause, &known) && known.Code == assay.CodeRejected {
		return cause
	}
	code := assay.CodeOf(cause)
	if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		code = assay.CodeUnavailable
	}
	return assay.Errorf(code, "import of %s broke off: %w", w.options.File, cause).
		WithHint("what was read before is stored; import the file again to add the rest")
}
