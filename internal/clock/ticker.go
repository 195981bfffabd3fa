package clock

import (
	"context"
	"log/slog"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// Starter is the part of the engine that a schedule needs.
type Starter interface {
	StartSuite(ctx context.Context, p assay.Project, name string, q engine.SuiteRequest, idem *store.Idempotency) (assay.Run, bool, error)
	Grade(ctx context.Context, p assay.Project, q engine.GradeRequest, idem *store.Idempotency) (assay.Run, bool, error)
}

// Options make a Ticker. Now and Log may be nil.
type Options struct {
	Store  store.Store
	Engine Starter
	Now    func() time.Time
	Log    *slog.Logger
}

const (
	// Every is how often a Ticker looks for ticks that have come due.
	Every = time.Second
	// Late is how old a tick may be before it counts as one that nobody was there for.
	Late = time.Minute
	// RetryFor is how long a start is tried again whose failure was not the request's.
	RetryFor = 10 * time.Minute
	// startLimit bounds one start, so that one schedule cannot hold up the others.
	startLimit = 30 * time.Second
)

// Ticker starts what schedules owe. The owner that drives runs one; a second one, for a moment at a
// takeover, starts nothing twice.
type Ticker struct {
	store  store.Store
	engine Starter
	now    func() time.Time
	log    *slog.Logger

	owing map[int64]*debt // by schedule: ticks that came due and could not be dealt with yet
	said  string          // the last failure of the look itself
}

// debt is what this process remembers of an owed tick.
type debt struct {
	owed   time.Time
	began  time.Time   // when it was first looked at
	holder assay.RunID // the active run that it waits for; 0: none
	said   string      // the last failure, which is logged once
}

// New makes a Ticker.
func New(o Options) *Ticker {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Ticker{store: o.Store, engine: o.Engine, now: o.Now, log: o.Log, owing: map[int64]*debt{}}
}

// Run looks at once and then every second, until ctx ends; it then returns nil. One goroutine runs it.
func (t *Ticker) Run(ctx context.Context) error {
	every := time.NewTicker(Every)
	defer every.Stop()
	for {
		t.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
		}
	}
}

// look deals with all that is due. What fails is looked at again: the rows still owe it.
func (t *Ticker) look(ctx context.Context) {
	due, err := t.store.Schedules().Due(ctx, t.now())
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		if t.said != err.Error() {
			t.said = err.Error()
			t.log.Warn("schedules cannot be read; trying again each second", "error", err)
		}
		return
	}
	t.said = ""
	owing := make(map[int64]*debt, len(due))
	for _, s := range due {
		d := t.owing[s.ID]
		if d == nil || !d.owed.Equal(*s.NextAt) {
			d = &debt{owed: *s.NextAt, began: t.now()}
		}
		owing[s.ID] = d
		err := t.deal(ctx, s, d)
		if ctx.Err() != nil {
			return
		}
		if err != nil && d.said != err.Error() {
			d.said = err.Error()
			t.log.Warn("a tick could not be dealt with; trying again each second", "project", s.Project, "schedule", s.Name, "tick", d.owed, "error", err)
		}
	}
	t.owing = owing
}
