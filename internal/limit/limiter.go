package limit

import (
	"math"
	"sync"
	"time"
)

const (
	windowFirst = 10                     // calls in flight before anything is known
	lookAgain   = 100 * time.Millisecond // where no time is known: nobody waits on a signal alone
	growEvery   = 10 * time.Millisecond
	mostQuiet   = 24 * time.Hour // a provider that asks for more is asked again
	unbounded   = math.MaxInt
)

// Limiter decides for one model. It is safe for concurrent use.
type Limiter struct {
	key Key
	now func() time.Time

	mu       sync.Mutex
	limits   Limits
	told     told
	requests bucket
	tokens   bucket
	rate     learned // calls per second
	open     learned // calls in flight
	history  history
	breaker  breaker
	grown    time.Time

	quiet     time.Time // no call leaves before
	quietFrom time.Time
	quietWhy  Reason

	inFlight int
	weight   int64
	free     []*ticket // not in use

	epoch int64   // cuts so far
	cut   episode // the last
	blind bool    // no call was accepted since before it
	first time.Time

	news     time.Duration // how long the last refusal took to be heard of
	ramp     float64
	rampAt   time.Time
	pressedR time.Time // the rate last kept a call waiting
	pressedW time.Time // the window did

	turns    // fairness
	granted  int64
	refused  map[Reason]int64
	limited  int64
	episodes int64
}

// episode is what the last cut was made from.
type episode struct {
	from, to int64   // slots in which calls left that tell what was accepted
	slot     int64   // in which it was made
	rate     float64 // of calls before it; infinite when nothing bounded them
}

func newLimiter(k Key, clock func() time.Time) *Limiter {
	now := clock()
	l := &Limiter{key: k, now: clock, refused: map[Reason]int64{}, grown: now, rampAt: now}
	l.breaker.state = Closed
	l.history.began = now
	l.requests.at, l.tokens.at = now, now
	l.rate = learned{metered: true, climb: opening, interval: restFirst}
	l.open = learned{climb: 1, interval: restFirst}
	l.reopen()
	return l
}

// reopen lets the window open from a small start only where nothing else says how fast to begin.
func (l *Limiter) reopen() {
	switch known := l.limits.RequestsPerMinute > 0 || l.limits.Concurrency > 0 || l.told.requests > 0; {
	case l.episodes > 0:
	case known:
		l.open.value = 0
	default:
		l.open.value = max(l.open.value, windowFirst, float64(l.inFlight))
		l.ramp = l.open.value
	}
}

func (l *Limiter) set(limits Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.advance(now)
	if limits == l.limits {
		return
	}
	l.limits = limits
	l.rate.again(now)
	l.open.again(now)
	l.reopen()
	l.retune()
	l.wakeAll()
}

// retune gives the buckets the least of all rates.
func (l *Limiter) retune() {
	l.requests.set(least(l.limits.RequestsPerMinute/60, l.told.requests, l.rate.value))
	l.tokens.set(least(l.limits.TokensPerMinute/60, l.told.tokens))
}

// least is the smallest of those that are not 0.
func least(bounds ...float64) float64 {
	var low float64
	for _, b := range bounds {
		if b > 0 && (low == 0 || b < low) {
			low = b
		}
	}
	return low
}

// window is how many calls may be in flight.
func (l *Limiter) window() int {
	w := unbounded
	if l.limits.Concurrency > 0 {
		w = l.limits.Concurrency
	}
	if l.open.value > 0 {
		w = min(w, max(int(l.open.value), 1))
	}
	return w
}

// advance brings everything that changes by time up to now.
func (l *Limiter) advance(now time.Time) {
	l.requests.advance(now, l.quiet)
	l.tokens.advance(now, l.quiet)
	l.history.roll(now, l.quietFrom, l.quiet)
	dt := now.Sub(l.grown)
	if dt < growEvery {
		return
	}
	l.grown = now
	if now.Before(l.quiet) || l.breaker.state != Closed {
		return
	}
	seconds := min(dt, time.Second).Seconds()
	before := l.window()
	outer := least(l.limits.RequestsPerMinute/60, l.told.requests)
	if outer == 0 {
		outer = math.Inf(1)
	}
	l.rate.grow(now, seconds, now.Sub(l.pressedR) < l.pressure(), outer)
	l.open.grow(now, seconds, now.Sub(l.pressedW) < 3*lookAgain, math.Inf(1))
	l.retune()
	if l.window() > before {
		l.wakeFree()
	}
}

// wakeFree tells those who wait for a place that there are some.
func (l *Limiter) wakeFree() {
	if free := l.window() - l.inFlight; free > 0 && len(l.hungry) > 0 {
		l.wake(min(free, len(l.hungry)))
	}
}

// pressure is how long after a refusal the rate is thought to be what keeps calls waiting.
func (l *Limiter) pressure() time.Duration {
	if l.requests.rate <= 0 {
		return 0
	}
	return max(time.Second, time.Duration(2/l.requests.rate*float64(time.Second)))
}

// refuse says why and until when the share may not take; ReasonNone when it may. A zero time: nobody
// knows.
func (l *Limiter) refuse(s *Share, weight float64, now time.Time) (time.Time, Reason) {
	if at, why := l.breaker.refuse(now); why != ReasonNone {
		return at, why
	}
	if now.Before(l.quiet) {
		return l.quiet, l.quietWhy
	}
	slots := l.window() - l.inFlight
	if slots <= 0 {
		l.pressedW = now
		return now.Add(lookAgain), l.fullWhy()
	}
	if l.requests.calls(1) < 1 {
		l.pressedR = now
		return l.requests.free(1+l.owed(s, l.most()), 1), ReasonRequests
	}
	if l.tokens.calls(weight) < 1 {
		return l.tokens.free(1, weight), ReasonTokens
	}
	able := min(float64(slots), l.requests.calls(1), l.tokens.calls(weight))
	return l.turn(s, able, now)
}

func (l *Limiter) fullWhy() Reason {
	if l.limits.Concurrency > 0 && l.inFlight >= l.limits.Concurrency {
		return ReasonConcurrency
	}
	return ReasonWindow
}

// grant takes everything that a call needs.
func (l *Limiter) grant(s *Share, tokens int64, now time.Time) Permit {
	window := l.window()
	l.requests.take(1)
	l.tokens.take(float64(tokens))
	l.inFlight++
	l.weight += tokens
	l.granted++
	l.rate.excess++
	t := l.ticket()
	t.share, t.tokens, t.epoch, t.at = s, tokens, l.epoch, now
	t.slot, t.inFlight = l.history.leave(1), l.inFlight
	t.full = float64(l.inFlight) >= 0.9*float64(window)
	t.paced = l.requests.rate > 0 && l.requests.level < l.requests.rate*slack.Seconds()/2
	t.probe = l.breaker.leave()
	return Permit{l, t, t.use}
}

// silence lets no call leave until at.
func (l *Limiter) silence(now, at time.Time, why Reason) {
	if at = earlier(at, now.Add(mostQuiet)); !at.After(l.quiet) {
		return
	}
	if !now.Before(l.quiet) {
		l.quietFrom = now
	}
	l.quiet, l.quietWhy = at, why
	l.requests.level, l.tokens.level = min(l.requests.level, 0), min(l.tokens.level, 0)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
