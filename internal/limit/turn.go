package limit

import (
	"math"
	"time"
)

// turns is start-time fair queueing between shares that come and ask.
type turns struct {
	shares int
	hungry []*Share // were refused and have not come back
	clock  float64  // virtual time: start of the last share that was served
}

const (
	patience      = 250 * time.Millisecond // how long others wait for a share whose turn it is
	patienceLeast = 5 * time.Millisecond
	arrears       = 250 * time.Millisecond // what a share that came late may catch up
)

// comes takes a share that asks out of those that are waited for, and bounds what it may catch up.
func (l *Limiter) comes(s *Share) {
	l.unwait(s)
	base := l.clock
	for i, h := range l.hungry {
		if i == 0 || h.start < base {
			base = h.start
		}
	}
	if !s.idle {
		base -= l.arrears()
	}
	s.start = max(s.start, base)
	s.idle = false
}

func (l *Limiter) arrears() float64 { return 2 + l.history.pace()*arrears.Seconds() }

func (l *Limiter) waits(s *Share) {
	s.waits = true
	l.hungry = append(l.hungry, s)
}

func (l *Limiter) unwait(s *Share) {
	if !s.waits {
		return
	}
	s.waits = false
	for i, h := range l.hungry {
		if h == s {
			last := len(l.hungry) - 1
			l.hungry[i] = l.hungry[last]
			l.hungry[last] = nil
			l.hungry = l.hungry[:last]
			break
		}
	}
}

// rests takes a share out that will not come, and lets the others know.
func (l *Limiter) rests(s *Share) {
	s.since = time.Time{}
	if s.waits {
		l.unwait(s)
		l.wakeFree()
	}
}

func (l *Limiter) serves(s *Share) {
	if !s.since.IsZero() {
		s.since, s.patient = time.Time{}, patience
	}
	l.clock = s.start
	s.start++
}

// owed is how many calls of those to come belong to other shares before s may have one.
func (l *Limiter) owed(s *Share, most float64) float64 {
	var calls float64
	for _, h := range l.hungry {
		if h.start < s.start {
			calls += s.start - h.start
		}
	}
	return min(calls, most)
}

// turn refuses a share as long as all that is there now is owed to others that wait. What is owed is
// kept for them in the slack of the bucket, as far as it holds that much.
func (l *Limiter) turn(s *Share, able float64, now time.Time) (time.Time, Reason) {
	for {
		owed := l.owed(s, l.most())
		if able > owed {
			return time.Time{}, ReasonNone
		}
		until, late := l.await(s, now)
		if late == nil {
			if l.requests.rate > 0 {
				l.pressedR = now
				until = earlier(until, later(l.requests.free(1+owed, 1), now.Add(time.Millisecond)))
			}
			return until, ReasonTurn
		}
		l.unwait(late)
		late.since = time.Time{}
		late.patient = max(late.patient/2, patienceLeast)
	}
}

// most is how many calls can be kept for others.
func (l *Limiter) most() float64 {
	most := math.Inf(1)
	if l.requests.rate > 0 {
		most = math.Floor(l.requests.rate * slack.Seconds())
	}
	if w := l.window(); w != unbounded {
		most = min(most, float64(w-1))
	}
	return max(most, 1)
}

// await tells those whose turn it is, and says until when they are waited for, or who did not come.
func (l *Limiter) await(s *Share, now time.Time) (until time.Time, late *Share) {
	for _, h := range l.hungry {
		if h.start >= s.start {
			continue
		}
		if h.since.IsZero() {
			h.since = now
			h.tell()
		}
		at := h.since.Add(h.patient)
		if !now.Before(at) {
			return time.Time{}, h
		}
		if until.IsZero() || at.Before(until) {
			until = at
		}
	}
	return until, nil
}

// wake tells those who wait for a call in flight to end, the next ones first, that n calls may leave; and
// one more, who looks after them. Those who wait for a time come by themselves.
func (l *Limiter) wake(n int) {
	for ; n >= 0; n-- {
		var next *Share
		for _, h := range l.hungry {
			if len(h.c) == 0 && l.listens(h) && (next == nil || h.start < next.start) {
				next = h
			}
		}
		if next == nil {
			return
		}
		next.tell()
	}
}

func (l *Limiter) listens(h *Share) bool {
	switch h.why {
	case ReasonWindow, ReasonConcurrency, ReasonTurn, ReasonProbe:
		return true
	case ReasonTokens:
		return l.tokens.level >= 0
	}
	return false
}

// wakeAll tells everybody: what they wait for is not what it was.
func (l *Limiter) wakeAll() {
	for _, h := range l.hungry {
		h.tell()
	}
}
