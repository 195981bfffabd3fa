package engine

import (
	"context"

	"assay/internal/assay"
	"assay/internal/store"
)

// Preview says what Grade would do; it writes nothing.
func (e *Engine) Preview(ctx context.Context, p assay.Project, q GradeRequest) (Preview, error) {
	return e.planner.Preview(ctx, p, q, e.now())
}

// Grade accepts a run. A held key is CodeConflict, which names the run, except for a single run: the
// second of two equal ones joins the first. replayed says that the idempotency key was known.
func (e *Engine) Grade(ctx context.Context, p assay.Project, q GradeRequest, idem *store.Idempotency) (run assay.Run, replayed bool, err error) {
	panic("not yet")
}

// Retry accepts a new run over the errored, cancelled and abandoned items of a terminal one.
func (e *Engine) Retry(ctx context.Context, id assay.RunID, by string, idem *store.Idempotency) (run assay.Run, replayed bool, err error) {
	panic("not yet")
}

// Cancel asks a run to stop: no new call starts later than 1 s after it returns; calls in flight
// finish and are kept, or are cut with now. A terminal run is returned unchanged.
func (e *Engine) Cancel(ctx context.Context, id assay.RunID, now bool) (assay.Run, error) {
	panic("not yet")
}

// Pause asks a queued or running run to pause once nothing is in flight.
func (e *Engine) Pause(ctx context.Context, id assay.RunID) (assay.Run, error) { panic("not yet") }

// Resume queues a paused run, or takes back a pause that has not happened yet.
func (e *Engine) Resume(ctx context.Context, id assay.RunID) (assay.Run, error) { panic("not yet") }

// End asks a run to complete with what it has: calls in flight finish, the rest is abandoned.
func (e *Engine) End(ctx context.Context, id assay.RunID) (assay.Run, error) { panic("not yet") }

// SetConcurrency changes the limit of a run that is not terminal, while it runs too.
func (e *Engine) SetConcurrency(ctx context.Context, id assay.RunID, n int) (assay.Run, error) {
	panic("not yet")
}
