package limit

import "time"

const (
	unreachableCalls = 5
	failedCalls      = 20
	badFor           = 5 * time.Second // calls fail for at least this long before the breaker opens
	openFirst        = 30 * time.Second
	openMost         = 5 * time.Minute
	quotaFor         = time.Hour // when the provider did not say
)

// BreakerState is a state of the diagram in this package's comment.
type BreakerState string

const (
	Closed   BreakerState = "closed"
	Open     BreakerState = "open"
	HalfOpen BreakerState = "half_open"
)

// breaker keeps calls from a provider that is down. Its owner locks.
type breaker struct {
	state   BreakerState
	cause   Kind
	message string
	since   time.Time // when it left closed
	probeAt time.Time
	wait    time.Duration
	opened  int64

	probe uint64 // the last call that left as probe

	unreachable int // in a row
	bad         int // failed or unreachable, in a row
	badSince    time.Time
}

// refuse says until when no call may leave.
func (b *breaker) refuse(now time.Time) (time.Time, Reason) {
	switch {
	case b.state == HalfOpen:
		return now.Add(lookAgain), ReasonProbe
	case b.state == Open && now.Before(b.probeAt):
		return b.probeAt, ReasonBreaker
	}
	return time.Time{}, ReasonNone
}

// leave notes that a call leaves, and names it when it is the probe.
func (b *breaker) leave() (probe uint64) {
	if b.state != Open {
		return 0
	}
	b.state = HalfOpen
	b.probe++
	return b.probe
}

// back gives the place of a probe that says nothing to another.
func (b *breaker) back(probe uint64) {
	if b.probing(probe) {
		b.state = Open
	}
}

func (b *breaker) probing(probe uint64) bool {
	return b.state == HalfOpen && probe != 0 && probe == b.probe
}

// learn takes in how a call ended and says whether the breaker closed. A call that left before the
// breaker opened shows that the provider is up, but not that it is down still.
func (b *breaker) learn(o Outcome, named uint64, now time.Time) (closed bool) {
	probe := b.probing(named)
	switch o.Kind {
	case Answered, Limited:
		b.unreachable, b.bad = 0, 0
		if b.state == Closed || b.cause == Quota && !probe {
			return false
		}
		*b = breaker{state: Closed, opened: b.opened, probe: b.probe}
		return true
	case Quota:
		if b.state == Closed || probe || b.cause != Quota {
			wait := o.RetryAfter
			if wait <= 0 {
				wait = quotaFor
			}
			b.open(o, now, wait)
		}
	case Failed, Unreachable:
		b.suffer(o, probe, now)
	case Aborted:
		b.back(named)
	}
	return false
}

func (b *breaker) suffer(o Outcome, probe bool, now time.Time) {
	if probe {
		if b.cause == Quota {
			b.wait = 0
		}
		b.open(o, now, min(max(2*b.wait, openFirst), openMost))
		return
	}
	if b.state != Closed || o.Again && o.Kind == Failed {
		return
	}
	if b.bad++; b.bad == 1 {
		b.badSince = now
	}
	if b.unreachable++; o.Kind != Unreachable {
		b.unreachable = 0
	}
	if now.Sub(b.badSince) >= badFor && (b.unreachable >= unreachableCalls || b.bad >= failedCalls) {
		b.open(o, now, openFirst)
	}
}

func (b *breaker) open(o Outcome, now time.Time, wait time.Duration) {
	if b.state == Closed {
		b.since = now
		b.opened++
	}
	b.state, b.cause, b.message = Open, o.Kind, o.Message
	b.wait, b.probeAt = wait, now.Add(wait)
	b.unreachable, b.bad = 0, 0
}
