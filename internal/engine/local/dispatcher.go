// Package local drives runs inside one process: the owner of a data folder or of a database.
//
// It owns the loop that finds runs by query and takes them up. It refuses to know what a run does:
// that is its Driver. Its invariant: a run is driven at most once in this process, and only at an
// epoch that this process got from TakeUp.
package local

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// Options say what a Dispatcher works with.
type Options struct {
	Store   store.Store
	Drivers map[assay.RunKind]engine.Driver
	Now     func() time.Time
	Log     *slog.Logger
	// Grace is the wait between taking a run up and its first call (store.Ownership.Grace).
	Grace time.Duration
	// Look makes a dispatcher that takes nothing up: it only finishes cancels and ends of runs that
	// nobody drives. Commands that only look run one while they own.
	Look bool
	// Silence is the engine's of this process; where it is nil reports are seen in their rows only.
	Silence *engine.Silence
	// Poll is how often rows are looked at without a wake-up; 250 ms when 0.
	Poll time.Duration
	// ErrorPause keeps a run that could not be driven from being taken up in a tight loop; 1 s when 0.
	ErrorPause time.Duration
}

// Dispatcher finds runs and drives them.
type Dispatcher struct {
	o    Options
	poke chan struct{}

	mu    sync.Mutex
	mine  map[assay.RunID]bool
	gave  map[assay.RunID]failure // runs that a living driver of ours gave up after an error
	group sync.WaitGroup
}

// New makes a Dispatcher for one ownership; it does nothing before Run.
func New(o Options) *Dispatcher {
	if o.Poll == 0 {
		o.Poll = 250 * time.Millisecond
	}
	if o.ErrorPause == 0 {
		o.ErrorPause = time.Second
	}
	if o.Silence == nil {
		o.Silence = engine.NewSilence()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Dispatcher{o: o, poke: make(chan struct{}, 1), mine: map[assay.RunID]bool{}, gave: map[assay.RunID]failure{}}
}

// Wake says that there may be work. It never blocks.
func (d *Dispatcher) Wake() {
	select {
	case d.poke <- struct{}{}:
	default:
	}
}

// Run drives until ctx ends, then waits for its drivers to stop gracefully. It returns nil: errors
// of single runs are stored with them or logged, and tried again.
func (d *Dispatcher) Run(ctx context.Context) error {
	defer d.group.Wait()
	for _, driver := range d.o.Drivers {
		if b, ok := driver.(engine.Beginner); ok {
			b.Begin()
		}
	}
	tick := time.NewTicker(d.o.Poll)
	defer tick.Stop()
	for {
		d.sweep(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-d.poke:
		case <-tick.C:
		}
	}
}

func (d *Dispatcher) sweep(ctx context.Context) {
	runs, err := d.o.Store.Runs().Waiting(ctx, d.o.Now())
	if err != nil {
		if ctx.Err() == nil {
			d.o.Log.Warn("look for runs", "error", err)
		}
		return
	}
	d.forget(runs)
	d.o.Silence.Look(runs)
	for _, run := range runs {
		if ctx.Err() != nil || d.driving(run.ID) {
			continue
		}
		if err := d.look(ctx, run); err != nil && ctx.Err() == nil && !errors.Is(err, assay.ErrLost) {
			d.o.Log.Warn("take up run", "run", run.ID.String(), "error", err)
		}
	}
}

// look does what one waiting run needs.
func (d *Dispatcher) look(ctx context.Context, run assay.Run) error {
	switch {
	case run.Kind == assay.RunExternal:
		_, err := engine.EndSilent(ctx, d.o.Store, run, d.o.Silence.Of(run.ID), d.o.Now)
		return err
	case run.State == assay.RunRunning:
		// Nobody of this process drives it and we own: its driver is dead, unless it was ours and gave up.
		if d.o.Look && run.CancelRequestedAt == nil {
			return nil
		}
		// A harness lives on without its driver: going on with it is no death.
		return d.takeUp(ctx, run, run.Kind != assay.RunSuite && !d.gaveUp(run))
	case run.CancelRequestedAt != nil:
		_, err := engine.FinishCancel(ctx, d.o.Store, run, d.o.Now)
		return err
	case run.State == assay.RunPaused && run.EndRequestedAt != nil:
		_, err := engine.FinishEnd(ctx, d.o.Store, run, d.o.Now)
		return err
	case d.o.Look:
		return nil
	case run.State == assay.RunPaused:
		_, err := engine.Move(ctx, d.o.Store.Runs(), run.ID, engine.EventWake, store.Change{
			Reason: assay.ReasonWoken, Sentence: "its wake-up time came: waits for a driver", ClearPause: true, Now: d.o.Now(),
		})
		d.Wake()
		return err
	default:
		return d.takeUp(ctx, run, false)
	}
}

func (d *Dispatcher) takeUp(ctx context.Context, run assay.Run, dead bool) error {
	driver := d.o.Drivers[run.Kind]
	if driver == nil {
		return assay.Errorf(assay.CodeInternal, "no driver for runs of kind %s in this process", run.Kind)
	}
	// It may have changed since it was listed: a driver of ours paused it and a person resumed it, which
	// is no death. What nobody drives changes by itself no more.
	now, err := d.o.Store.Runs().Get(ctx, run.ID)
	if err != nil {
		return err
	}
	if now.State != run.State || now.Epoch != run.Epoch {
		d.Wake()
		return nil
	}
	why := now.Reason // it waited
	run, err = d.o.Store.Runs().TakeUp(ctx, run.ID, run.Epoch, dead, d.o.Now())
	if err != nil {
		return err
	}
	run.Reason = why
	d.o.Log.Info("took up run", "run", run.ID.String(), "epoch", run.Epoch, "after_death", dead)
	d.hold(run.ID)
	d.group.Go(func() {
		defer d.release(run.ID)
		if err := d.drive(ctx, driver, run); err != nil && (ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
			d.o.Log.Warn("drive run", "run", run.ID.String(), "epoch", run.Epoch, "error", err)
			d.giveUp(ctx, run, err)
			wait(ctx, d.o.ErrorPause)
		}
	})
	return nil
}

func (d *Dispatcher) driving(id assay.RunID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mine[id]
}

func (d *Dispatcher) hold(id assay.RunID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mine[id] = true
}

func (d *Dispatcher) release(id assay.RunID) {
	d.mu.Lock()
	delete(d.mine, id)
	d.mu.Unlock()
	d.Wake()
}

// wait returns after t or when ctx ends: a driver whose ctx has ended leaves its run queued.
func wait(ctx context.Context, t time.Duration) {
	if t == 0 {
		return
	}
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
