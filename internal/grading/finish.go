package grading

import (
	"context"
	"fmt"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
)

// pausing is a cause that no retry helps against.
type pausing struct {
	reason   assay.Reason
	sentence string
	wake     time.Duration // 0: a person must resume
}

// streak tells a short disturbance from one that should pause the run.
type streak struct {
	unreachable      int
	unreachableSince time.Time
	limitedSince     time.Time
}

const (
	unreachableCalls = 5 // in a row, and
	unreachableFor   = 5 * time.Second
	unreachableWake  = time.Minute
	limitedFor       = 30 * time.Minute
	limitedWake      = 15 * time.Minute
	quotaWake        = time.Hour // where the provider does not say when its quota is back
)

// judgeOf looks at a reply for causes to pause. The first one found stays. Whether a model's endpoint
// is there at all is for its limiter to say, who hears of all runs' calls (stuck).
func (l *loop) judgeOf(judge int, reply judge.Reply, now time.Time) {
	metered := judge < len(l.meters) && l.meters[judge] != nil
	if reply.HTTPStatus != 0 && reply.Class != assay.ClassUnreachable {
		l.streak.unreachable = 0 // somebody answers there
	}
	switch reply.Class {
	case assay.ClassNone:
		l.streak = streak{}
	case assay.ClassUnreachable:
		if metered {
			return
		}
		if l.streak.unreachable++; l.streak.unreachable == 1 {
			l.streak.unreachableSince = now
		}
		if l.streak.unreachable >= unreachableCalls && now.Sub(l.streak.unreachableSince) >= unreachableFor {
			l.pause(assay.Reason(reply.Class), reply, unreachableWake)
		}
	case assay.ClassRateLimited:
		if l.streak.limitedSince.IsZero() {
			l.streak.limitedSince = now
		}
		if now.Sub(l.streak.limitedSince) >= limitedFor {
			l.pause(assay.ReasonRateLimited, reply, limitedWake)
		}
	case assay.ClassQuota:
		l.pause(assay.Reason(reply.Class), reply, max(reply.RetryAfter, quotaWake))
	default:
		if assay.Policies[reply.Class].Pauses {
			l.pause(assay.Reason(reply.Class), reply, 0)
		}
	}
}

// stuck pauses a run of which nothing can happen until a budget is raised or a model takes calls again.
// A wait of seconds is no reason: the run stays where it is.
func (l *loop) stuck(now time.Time) {
	if l.pausing != nil || l.used()+len(l.batch.Done) > 0 || l.halt.Load() || l.queue.soon(now.Add(unreachableWake)) {
		return
	}
	if l.tight != nil {
		l.pausing = l.tight
		return
	}
	for i, m := range l.meters {
		if m == nil || !l.queue.lane(i).closed {
			continue
		}
		if why := m.holding(now); why != nil {
			l.pausing = why
			return
		}
	}
}

// granted is when the first model that takes no call now may take one again.
func (l *loop) granted() (at time.Time, ok bool) {
	for i, m := range l.meters {
		if m == nil || !l.queue.lane(i).closed {
			continue
		}
		if t, _ := m.share.Wait(); !t.IsZero() && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	return at, ok
}

func (l *loop) pause(reason assay.Reason, reply judge.Reply, wake time.Duration) {
	if l.pausing == nil {
		l.pausing = &pausing{reason, fmt.Sprintf("%s: %s", reply.Error, assay.Policies[reply.Class].Remedy), wake}
	}
}

// sleepers pauses a run of which nothing can happen for longer than a rate limit is waited for: a run
// that waits until tomorrow should say so, and needs no driver meanwhile.
func (l *loop) sleepers(now time.Time) {
	at, asleep := l.queue.asleep()
	if l.pausing != nil || !asleep || l.used()+len(l.batch.Done) > 0 || at.Sub(now) < limitedFor {
		return
	}
	l.pausing = &pausing{assay.ReasonRateLimited, fmt.Sprintf("the provider asked to wait until %s", at.UTC().Format("2006-01-02 15:04 UTC")), at.Sub(now)}
}

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
	now := l.g.o.Now()
	c := store.Change{Reason: l.pausing.reason, Sentence: l.pausing.sentence}
	if l.pausing.wake > 0 {
		at := now.Add(l.pausing.wake)
		c.WakeAt = &at
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
