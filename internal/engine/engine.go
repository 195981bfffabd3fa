package engine

import (
	"context"
	"errors"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// Driver carries one run on, at one epoch, until the run leaves running or the driver loses it. It
// is all that a dispatcher (engine/local today, many machines later) needs of a kind of run.
//
// Drive is called after the run was taken up at that epoch; run.Reason is still the one with which it
// waited. It returns nil when it stored a state that is not running, assay.ErrLost when the fence was
// gone (it then wrote nothing more), and another error when it could not go on (the store is away): the
// run stays running and is taken up again, and ends as failed when that happens time and again for a
// cause other than the store. When
// ctx ends Drive makes no new call, gives calls in flight StopGrace to finish, and leaves the run
// queued. The driver of suites instead leaves the run running and its harness alone, and returns ctx's
// error: the harness goes on, and the next owner carries it on. For the same reason the errors of such a
// driver end a run only where Gone says that there is no harness any more.
type Driver interface {
	Drive(ctx context.Context, run assay.Run) error
}

// Gone marks the error of a driver that cannot store how a harness ended, which is gone for sure.
func Gone(err error) error { return gone{err} }

// IsGone says whether an error was marked by Gone.
func IsGone(err error) bool {
	_, is := errors.AsType[gone](err)
	return is
}

type gone struct{ error }

func (g gone) Unwrap() error { return g.error }

// Beginner is a Driver that knows things of rows longer than it drives. Begin is called before a process
// that has begun to own the database drives: others may have changed them since it owned it last.
type Beginner interface{ Begin() }

// Engine is what the doors call. It changes rows; whoever drives carries the changes out.
type Engine struct {
	store   store.Store
	planner Planner
	suites  SuiteResolver
	wake    func()
	now     func() time.Time
	silence *Silence

	finishing chan struct{} // one external run at a time has its cases read into the store
}

// New makes an Engine. wake tells a dispatcher of this process, if there is one, that there may be
// work; losing the wake-up costs time, never work. suites is nil where none can be started.
func New(s store.Store, p Planner, suites SuiteResolver, wake func(), now func() time.Time) *Engine {
	return &Engine{store: s, planner: p, suites: suites, wake: wake, now: now, silence: NewSilence(), finishing: make(chan struct{}, 1)}
}

// Silence is what the engine knows of reports, for the dispatcher of this process.
func (e *Engine) Silence() *Silence { return e.silence }
