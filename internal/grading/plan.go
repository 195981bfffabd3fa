package grading

import (
	"context"
	"errors"
	"slices"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// itemBatch bounds one write transaction of planning.
const itemBatch = 1000

// errAsked stops planning because the run was asked to end, pause or cancel.
var errAsked = errors.New("asked to stop planning")

// plan freezes the frame and writes strata and items; it ends with the phase grading. A takeover in
// planning begins again from the same spec and AsOf.
func (r *run) plan(ctx context.Context) error {
	if _, err := r.phase(ctx, assay.PhasePlanning, "planning: freezing the frame and drawing the sample"); err != nil {
		return err
	}
	if err := r.g.o.Store.Plans().Reset(ctx, r.fence); err != nil {
		return err
	}
	if r.RetryOf != 0 {
		return r.planRetry(ctx)
	}
	if r.Spec.Frame.Since != nil {
		if err := r.awaitArrivals(ctx); err != nil {
			return err
		}
	}
	d, err := r.g.draw(ctx, r.ProjectID, r.Spec, r.AsOf, r.beat(ctx))
	if err != nil {
		return err
	}
	sampled := int64(len(d.picks))
	if err := r.g.o.Store.Plans().PutStrata(ctx, r.fence, d.strata, sampled, d.left); err != nil {
		return err
	}
	w := planWriter{run: r, ctx: ctx, pulse: r.beat(ctx)}
	for part := range chunks(d.picks) {
		if err := w.picks(part); err != nil {
			return err
		}
	}
	return w.finish()
}

// arrivalLag bounds the time from the stamp of a session's arrival to the end of the write that stores it.
const arrivalLag = 3 * time.Second

// awaitArrivals waits until what arrived before AsOf can be read. A session is stamped before it is
// written; one that a scan misses is graded by a later run, but the run that follows this one leaves out
// all that had arrived by now.
func (r *run) awaitArrivals(ctx context.Context) error {
	beat := r.beat(ctx)
	left := min(arrivalLag, arrivalLag-r.g.o.Now().Sub(r.AsOf)) // AsOf is later than now where the clock was set back
	for end := time.Now().Add(left); left > 0; left = time.Until(end) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(left, beatEvery)):
		}
		if err := beat(); err != nil {
			return err
		}
	}
	return nil
}

// planRetry copies the strata of the old run and the items that it left without a verdict.
func (r *run) planRetry(ctx context.Context) error {
	plans := r.g.o.Store.Plans()
	strata, err := plans.Strata(ctx, r.RetryOf)
	if err != nil {
		return err
	}
	var items []assay.Item
	contents := map[assay.ContentKey]bool{}
	err = plans.Retryable(ctx, r.RetryOf, func(it assay.Item) error {
		items = append(items, assay.Item{Session: it.Session, Content: it.Content, Stratum: it.Stratum, Judge: it.Judge, Repeat: it.Repeat})
		contents[it.Content] = true
		return nil
	})
	if err != nil {
		return err
	}
	if err := plans.PutStrata(ctx, r.fence, strata, int64(len(contents)), assay.Excluded{}); err != nil {
		return err
	}
	w := planWriter{run: r, ctx: ctx, pulse: r.beat(ctx)}
	for part := range slices.Chunk(items, reuseChunk) {
		if err := r.adoptStored(ctx, part); err != nil {
			return err
		}
		for _, it := range part {
			if err := w.add(it); err != nil {
				return err
			}
		}
	}
	return w.finish()
}

// adoptStored gives items of a retry the verdicts that other runs stored since they ended without one:
// retried twice, nothing is paid twice. Of a forced run only what was stored since that run was asked
// for will do.
func (r *run) adoptStored(ctx context.Context, items []assay.Item) error {
	type question struct{ judge, repeat int }
	asked := map[question][]pick{}
	for _, it := range items {
		q := question{it.Judge, it.Repeat}
		asked[q] = append(asked[q], pick{content: it.Content})
	}
	var floor time.Time
	if !reuses(r.Spec) {
		floor = r.AsOf
	}
	for q, picks := range asked {
		found, err := r.g.reusable(ctx, r.ProjectID, r.Spec.Judges[q.judge], q.repeat, picks, r.CreatedAt, floor)
		if err != nil {
			return err
		}
		for k := range items {
			if old, ok := found[items[k].Content]; ok && q == (question{items[k].Judge, items[k].Repeat}) {
				adopt(&items[k], old)
			}
		}
	}
	return nil
}

func adopt(it *assay.Item, old store.Reuse) {
	it.State, it.Origin, it.Pass, it.Cut = assay.ItemGraded, &old.Origin, old.Pass, old.Cut
}

// planWriter numbers items in dispatch order and writes them in batches.
type planWriter struct {
	run   *run
	ctx   context.Context
	pulse pulse
	seq   int64
	batch []assay.Item
}

// picks writes the items of some sampled sessions: judges and repeats of one session stand together.
func (w *planWriter) picks(part []pick) error {
	spec := w.run.Spec
	found := make([]map[assay.ContentKey]store.Reuse, len(spec.Judges))
	for i := range spec.Judges {
		if !reuses(spec) {
			break
		}
		var err error
		if found[i], err = w.run.g.reusable(w.ctx, w.run.ProjectID, spec.Judges[i], 0, part, w.run.AsOf, time.Time{}); err != nil {
			return err
		}
	}
	for _, p := range part {
		for repeat := range spec.Repeats {
			for i := range spec.Judges {
				it := assay.Item{Session: p.session, Content: p.content, Stratum: p.stratum, Judge: i, Repeat: repeat}
				if old, ok := found[i][p.content]; ok {
					adopt(&it, old)
				}
				if err := w.add(it); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w *planWriter) add(it assay.Item) error {
	w.seq++
	it.Run, it.Seq = w.run.ID, w.seq
	if it.State == "" {
		it.State = assay.ItemPending
	}
	w.batch = append(w.batch, it)
	if len(w.batch) < itemBatch {
		return nil
	}
	return w.flush()
}

func (w *planWriter) flush() error {
	if len(w.batch) == 0 {
		return nil
	}
	if err := w.pulse(); err != nil {
		return err
	}
	err := w.run.g.o.Store.Plans().PutItems(w.ctx, w.run.fence, w.batch, w.run.g.o.Now())
	w.batch = w.batch[:0]
	return err
}

func (w *planWriter) finish() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.run.g.o.Store.Plans().Finish(w.ctx, w.run.fence, w.seq, w.run.g.o.Now())
}

// beat makes a pulse that stores a heartbeat every so often and notices asks.
func (r *run) beat(ctx context.Context) pulse {
	last := time.Now()
	return func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Since(last) < beatEvery {
			return nil
		}
		control, err := r.g.o.Store.Runs().Beat(ctx, r.fence, r.g.o.Now())
		last = time.Now()
		if err == nil && (control.Cancel || control.Pause || control.End) {
			err = errAsked
		}
		return err
	}
}
