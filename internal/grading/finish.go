package grading

import (
	"context"
	"fmt"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// finish decides what the run becomes when nothing is in flight. done is false when it goes on after
// all: an ask was taken back, or rows hold items that the queue did not know.
func (l *loop) finish() (done bool, err error) {
	ctx := context.WithoutCancel(l.stop)
	if !l.failing.IsZero() {
		l.await()
		return false, nil
	}
	if done, err := l.carryOut(ctx, l.control); done || err != nil {
		return done, err
	}
	if asked(l.control) {
		return false, l.survive(l.beat()) // it was taken back
	}
	if l.queue.empty() {
		return l.complete(ctx)
	}
	if l.pausing != nil {
		return true, l.pauseRun(ctx)
	}
	if l.stop.Err() != nil {
		return true, l.leaveQueued()
	}
	return false, nil
}

func (l *loop) pauseRun(ctx context.Context) error {
	c := store.Change{Reason: l.pausing.reason, Sentence: l.pausing.sentence}
	if !l.pausing.wake.IsZero() {
		c.WakeAt = &l.pausing.wake
	}
	return l.cancelIfRefused(ctx, l.move(ctx, engine.EventPause, c))
}

func (l *loop) complete(ctx context.Context) (done bool, err error) {
	counts, err := l.g.o.Store.Items().Counts(ctx, l.ID, l.g.o.Now())
	if err != nil {
		return false, l.survive(err)
	}
	if counts.Pending > 0 {
		l.queue.restart()
		if ready, err := l.queue.peek(l.g.o.Now()); err != nil || ready {
			return false, l.survive(err)
		}
		return true, l.fail(ctx, assay.ReasonPlanIncomplete, fmt.Errorf("%d items are pending but none can be read", counts.Pending))
	}
	switch {
	case counts.Total == 0:
		now, err := l.g.o.Store.Runs().Get(ctx, l.ID) // planning stored what was left out after this run was read
		if err != nil {
			return false, l.survive(err)
		}
		return true, l.cancelIfRefused(ctx, l.move(ctx, engine.EventDone, store.Change{Phase: assay.PhaseFinishing, Reason: assay.ReasonNothing, Sentence: nothingSentence(now)}))
	case counts.Graded == 0:
		return true, l.fail(ctx, assay.ReasonNothingGraded, fmt.Errorf("none of %d items has a verdict: %s", counts.Total, classes(counts)))
	default:
		return true, l.cancelIfRefused(ctx, l.move(ctx, engine.EventDone, store.Change{Phase: assay.PhaseFinishing, Reason: assay.ReasonDone, Sentence: doneSentence(counts)}))
	}
}

// cancelIfRefused cancels a run that may not end otherwise because a cancel was asked for, even
// though everything happened to finish.
func (r *run) cancelIfRefused(ctx context.Context, err error) error {
	if assay.CodeOf(err) == assay.CodeRefused {
		return r.cancel(ctx)
	}
	return err
}

func nothingSentence(r assay.Run) string {
	return fmt.Sprintf("nothing to grade: no eligible session met the frame (%d not settled yet, %d undated, %d empty, %d arrived or changed after the run was accepted)",
		r.Left.Unsettled, r.Left.Undated, r.Left.Empty, r.Left.Late)
}

func doneSentence(c assay.Counts) string {
	s := fmt.Sprintf("%d of %d items graded", c.Graded, c.Total)
	if without := c.Errored + c.Ungradable; without > 0 {
		s += fmt.Sprintf(", %d without a verdict (%s)", without, classes(c))
	}
	return s
}
