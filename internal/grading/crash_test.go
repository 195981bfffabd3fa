package grading

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// crashing is a grader whose process can be killed: after kill none of its writes arrive and its
// calls are cut, which is all that the database sees of a death.
type crashing struct {
	*Grader
	store *dying
}

func (w *world) crashing() *crashing {
	d := &dying{Store: w.store}
	g := w.newGrader()
	g.o.Store = d
	g.o.Gate = nil
	return &crashing{Grader: New(g.o), store: d}
}

func (c *crashing) kill() { c.store.dead.Store(true) }

var errDead = errors.New("the process is dead")

type dying struct {
	store.Store
	dead atomic.Bool
}

func (d *dying) Runs() store.Runs   { return dyingRuns{d.Store.Runs(), d} }
func (d *dying) Items() store.Items { return dyingItems{d.Store.Items(), d} }

type dyingRuns struct {
	store.Runs
	d *dying
}

// Beat of a dead process is answered as lost, so that its goroutines end soon.
func (r dyingRuns) Beat(ctx context.Context, f store.Fence, now time.Time) (assay.RunControl, error) {
	if r.d.dead.Load() {
		return assay.RunControl{}, assay.ErrLost
	}
	return r.Runs.Beat(ctx, f, now)
}

func (r dyingRuns) Change(ctx context.Context, id assay.RunID, c store.Change) (assay.Run, error) {
	if r.d.dead.Load() {
		return assay.Run{}, assay.ErrLost
	}
	return r.Runs.Change(ctx, id, c)
}

type dyingItems struct {
	store.Items
	d *dying
}

func (i dyingItems) Commit(ctx context.Context, f store.Fence, b store.Batch) (assay.RunControl, error) {
	if i.d.dead.Load() {
		return assay.RunControl{}, assay.ErrLost
	}
	return i.Items.Commit(ctx, f, b)
}

func (i dyingItems) Late(ctx context.Context, attempts []assay.Attempt) error {
	if i.d.dead.Load() {
		return errDead
	}
	return i.Items.Late(ctx, attempts)
}
