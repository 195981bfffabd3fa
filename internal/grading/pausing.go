package grading

import (
	"fmt"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
)

// pausing is a cause that no retry helps against.
type pausing struct {
	reason   assay.Reason
	sentence string
	wake     time.Time // zero: a person must resume
}

// sooner is the one of two causes that ends first; nil is none.
func sooner(a, b *pausing) *pausing {
	if a == nil || b != nil && !b.wake.IsZero() && (a.wake.IsZero() || b.wake.Before(a.wake)) {
		return b
	}
	return a
}

// streak tells a short disturbance from one that should pause the run.
type streak struct {
	limitedSince time.Time
}

const (
	limitedFor  = 30 * time.Minute
	limitedWake = 15 * time.Minute
	quotaWake   = time.Hour // where the provider does not say when its quota is back
)

// judgeOf looks at a reply for causes to pause. The first one found stays.
func (l *loop) judgeOf(reply judge.Reply, now time.Time) {
	switch reply.Class {
	case assay.ClassNone:
		l.streak = streak{}
	case assay.ClassUnreachable:
		// Only calls to a model end so. Whether it is there at all is for its limiter to say, who hears of
		// all runs' calls (stuck).
	case assay.ClassRateLimited:
		if l.streak.limitedSince.IsZero() {
			l.streak.limitedSince = now
		}
		if now.Sub(l.streak.limitedSince) >= limitedFor {
			l.pause(assay.ReasonRateLimited, reply, now.Add(limitedWake))
		}
	case assay.ClassQuota:
		wake := quotaWake
		if reply.RetryAfter > 0 {
			wake = reply.RetryAfter
		}
		l.pause(assay.Reason(reply.Class), reply, now.Add(wake))
	default:
		if assay.Policies[reply.Class].Pauses {
			l.pause(assay.Reason(reply.Class), reply, time.Time{})
		}
	}
}

func (l *loop) pause(reason assay.Reason, reply judge.Reply, wake time.Time) {
	if l.pausing == nil {
		l.pausing = &pausing{reason, fmt.Sprintf("%s: %s", reply.Error, assay.Policies[reply.Class].Remedy), wake}
	}
}

// stuck pauses a run of which nothing can happen for long: until a budget is raised, or a model takes
// calls again, or what its items wait for has come, whichever is first. Until then it needs no driver,
// and should not look alive.
func (l *loop) stuck(now time.Time) {
	if l.pausing != nil || !l.failing.IsZero() || l.used()+len(l.batch.Done) > 0 || l.halt.Load() || l.queue.soon(now.Add(limitedFor)) {
		return
	}
	var why *pausing
	for i := range l.judges {
		if !l.queue.lane(i).closed {
			continue
		}
		w := l.holds(i, now)
		if w == nil {
			return // it goes on before long
		}
		why = sooner(why, w)
	}
	if at, ok := l.queue.wakes(); ok {
		why = sooner(why, &pausing{assay.ReasonRateLimited, "the provider asked to wait until " + minute(at), at})
	}
	l.pausing = why
}

// holds says why a judge's items wait, as a cause to pause; nil when they do not wait long.
func (l *loop) holds(judge int, now time.Time) *pausing {
	if no := l.tight[judge]; no != nil {
		if l.budget.hopes(no, l.control.Budget) {
			return nil
		}
		return l.budget.why(no, l.control.Budget)
	}
	if m := l.meters[judge]; m != nil {
		return m.waits(now, l.ID)
	}
	return nil
}
