package local

import (
	"context"
	"errors"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
)

// failure is what is remembered of a run whose driver gave it up.
type failure struct {
	epoch int64  // at which it was given up last
	times int    // in a row, without progress and with the store there
	cause string // of the last of these
}

// maxFailures is how many of them a run survives: what fails so often fails for ever.
const maxFailures = 10

// drive lets the driver carry a run on, or ends one that it only ever fails to. That is done here and
// not when it fails: the takeover closed the calls that the driver left open.
func (d *Dispatcher) drive(ctx context.Context, driver engine.Driver, run assay.Run) error {
	if f := d.failure(run.ID); f.times >= maxFailures {
		_, err := engine.FinishFail(context.WithoutCancel(ctx), d.o.Store, run, assay.ReasonDriverFailed, f.cause, d.o.Now)
		return err
	}
	wait(ctx, d.o.Grace)
	return driver.Drive(ctx, run)
}

func (d *Dispatcher) failure(id assay.RunID) failure {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gave[id]
}

// giveUp remembers that a living driver gave a run up, and why.
func (d *Dispatcher) giveUp(ctx context.Context, run assay.Run, cause error) {
	f := d.failure(run.ID)
	f.epoch = run.Epoch
	if f.times < maxFailures { // else it is being ended, and that failed
		now, err := d.o.Store.Runs().Get(ctx, run.ID)
		switch {
		case err == nil && progressed(run, now):
			f.times = 0
		case run.Kind == assay.RunSuite && !engine.IsGone(cause):
			// Its harness may live: what ends the run frees its key.
		case err == nil && blames(ctx, cause):
			f.times, f.cause = f.times+1, cause.Error()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gave[run.ID] = f
}

func (d *Dispatcher) gaveUp(run assay.Run) bool { return d.failure(run.ID).epoch == run.Epoch }

// forget drops what is remembered of runs that are not running any more. runs are all that are.
func (d *Dispatcher) forget(runs []assay.Run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.gave) == 0 {
		return
	}
	kept := map[assay.RunID]failure{}
	for _, run := range runs {
		if f, ok := d.gave[run.ID]; ok && run.State == assay.RunRunning {
			kept[run.ID] = f
		}
	}
	d.gave = kept
}

// progressed says that an item ended or a phase began since the run was taken up.
func progressed(before, now assay.Run) bool {
	return before.Phase != now.Phase || !at(before.ProgressAt).Equal(at(now.ProgressAt))
}

func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// blames says that an error is the run's or its driver's own: not a stop, a takeover or a store that
// is away.
func blames(ctx context.Context, cause error) bool {
	return ctx.Err() == nil && !errors.Is(cause, assay.ErrLost) && assay.CodeOf(cause) != assay.CodeUnavailable
}
