package limit

import (
	"math"
	"time"
)

const (
	rateLeast   = 1.0 / 60 // calls per second
	sureCalls   = 5        // from which a rate can be told
	sureRefused = 3        // from which it surely was too high
	soon        = 3 * time.Second
	workBounds  = 10 * time.Second       // nobody was kept waiting for so long
	rampEvery   = 250 * time.Millisecond // the window does not double faster
	lookedBack  = 20                     // calls that a rate is measured over
	// Slots that a rate is measured over: at least shortest where the last episode is near, else shortRate,
	// or knownRate while a ceiling is known; at most longest, which is less than history remembers.
	shortest  = 5
	shortRate = 10
	knownRate = 20
	longest   = 250
)

// learn takes in how a call ended.
func (l *Limiter) learn(t *ticket, o Outcome, now time.Time) {
	switch o.Kind {
	case Answered:
		l.openBySuccess(now)
		l.recover(t)
	case Limited:
		l.limited++
		if s := l.history.at(t.slot); s != nil {
			s.limited++
		}
		l.rate.excess--
		l.news = now.Sub(t.at)
		l.rate.lag, l.open.lag = l.news.Seconds(), l.news.Seconds()
		if t.epoch < l.epoch {
			l.refine(t, now)
		} else {
			l.shrink(t, now)
		}
		if o.RetryAfter > 0 {
			l.silence(now, now.Add(o.RetryAfter), ReasonRetryAfter)
			l.rate.dear(now, o.RetryAfter)
		}
	}
}

// openBySuccess opens the window by one for each success until the first 429.
func (l *Limiter) openBySuccess(now time.Time) {
	if l.episodes > 0 || l.open.value <= 0 || now.Sub(l.pressedW) > 3*lookAgain {
		return
	}
	if now.Sub(l.rampAt) >= rampEvery {
		l.ramp, l.rampAt = l.open.value, now
	}
	l.open.value = min(l.open.value+1, max(2*l.ramp, l.open.value))
}

// shrink begins an episode: the rate goes to slightly under what was accepted lately, the window to what
// was accepted in flight when this call left.
func (l *Limiter) shrink(t *ticket, now time.Time) {
	last := l.cut.slot
	again := l.again(now)
	if l.episodes++; l.episodes == 1 {
		l.first = now
	}
	l.epoch++
	l.cut.rate = math.Inf(1)
	if l.requests.rate > 0 {
		l.cut.rate = l.requests.rate
	}
	l.cut.from, l.cut.to, l.cut.slot = l.lookBack(t.slot, last), t.slot, l.history.last
	if l.allRefused(now) {
		l.backOff(now)
		l.capWindow(t)
		l.requests.level = min(l.requests.level, 0) - 1
		return
	}
	l.blind = false
	upper, lower, sure := l.estimate(now)

	if t.full && !t.paced && l.episodes > 1 {
		l.shrinkWindow(t, upper, now)
	} else {
		l.shrinkRate(upper, lower, again, sure, now)
		l.capWindow(t)
	}
	l.retune()
	l.requests.level = min(l.requests.level, 0) - 1
}

// allRefused says that no call of the episode was accepted: it tells that the provider takes none now, and
// nothing of how many it takes when it does.
func (l *Limiter) allRefused(now time.Time) bool {
	left, limited, _, _ := l.history.between(l.cut.from, min(l.cut.to, l.cut.slot), now)
	return limited > 0 && limited >= left
}

// backOff halves the rate for each such episode. A ceiling made of nothing accepted would hold the calls
// at next to nothing long after the provider takes them again.
func (l *Limiter) backOff(now time.Time) {
	half := l.cut.rate / 2
	if math.IsInf(half, 1) {
		half = 1
	}
	l.blind = true
	l.rate.value, l.rate.ceiling, l.rate.excess = max(half, rateLeast), 0, 0
	l.rate.climb = opening
	l.rate.again(now)
	l.retune()
}

// recover doubles the rate with each call that is accepted after that.
func (l *Limiter) recover(t *ticket) {
	if !l.blind || t.epoch < l.epoch {
		return
	}
	l.rate.value = min(2*l.rate.value, max(1, l.rate.value))
	l.blind = l.rate.value < 1
	l.retune()
}

// again says that the last episode is hardly over: the rate was still too high after it.
func (l *Limiter) again(now time.Time) bool {
	if l.episodes == 0 {
		return false
	}
	over := later(l.history.began.Add(time.Duration(l.cut.slot)*slotWidth), l.quiet)
	recent := max(soon, 2*l.news)
	if rate := l.requests.rate; rate > 0 {
		recent = max(recent, time.Duration(10/rate*float64(time.Second)))
	}
	return now.Sub(over) < recent
}

// estimate is what the provider accepted per second in the slots of the episode, at most and at least,
// and whether enough calls were refused to be sure that it is far less than the rate of the calls.
func (l *Limiter) estimate(now time.Time) (upper, lower float64, sure bool) {
	left, limited, span, silent := l.history.between(l.cut.from, min(l.cut.to, l.cut.slot), now)
	calls := float64(left - limited)
	whole := max(span, shortest*slotWidth)
	if l.episodes == 1 {
		whole = max(span, time.Second)
	}
	lower = calls / whole.Seconds()
	upper = calls / max(whole-silent, slotWidth).Seconds()
	sure = limited >= sureRefused
	if math.IsInf(l.cut.rate, 1) {
		return upper, lower, sure
	}
	// While the rate grew, the mean is behind; and the last that was refused counts half, for with few
	// calls it would tell too much.
	upper = max(upper, l.cut.rate*(1-(float64(limited)-0.5)/float64(max(left, 1))))
	if !sure {
		upper = max(upper, 0.95*l.cut.rate)
	}
	return upper, lower, sure
}

// lookBack is the first slot of those that tell what is accepted, for a call that left in slot to:
// as few as hold enough calls, and none before the last episode if it can be.
func (l *Limiter) lookBack(to, last int64) int64 {
	from, calls := to+1, 0
	for from > 0 && from > to-longest {
		from--
		if s := l.history.at(from); s != nil {
			calls += int(s.left - s.limited)
		}
		long := to-from+1 >= shortRate
		if l.rate.ceiling > 0 {
			long = to-from+1 >= knownRate
		}
		if l.episodes > 1 && from <= last+1 && to-from+1 >= shortest && calls >= sureCalls {
			break
		}
		if long && calls >= lookedBack {
			break
		}
	}
	return from
}

// shrinkRate puts the rate under what was accepted.
func (l *Limiter) shrinkRate(upper, lower float64, again, sure bool, now time.Time) {
	ceiling := max(min(l.cut.rate, upper), rateLeast)
	probed := l.rate.probes()
	if probed {
		ceiling = min(ceiling, 1.05*l.rate.ceiling)
	}
	value := under * ceiling
	if again && !probed {
		ceiling = min(ceiling, max((upper+lower)/2, 0.85*l.cut.rate))
		value = under * ceiling
		if sure {
			value = min(value, max(under*lower, 0.7*l.cut.rate))
		}
	}
	l.rate.cut(now, ceiling, max(value, rateLeast))
	switch bound := later(l.pressedR, l.pressedW); {
	case now.Sub(bound) > workBounds: // what was accepted is what was wanted: it tells nothing of the limit
		l.rate.value, l.rate.ceiling = max(l.rate.value, 1), 0
	case now.Sub(l.first) < soon:
		l.rate.ceiling = 0 // a burst at the start tells little
	default:
		l.rate.climb = climbing
	}
}

// shrinkWindow is for a provider that bounds calls in flight. The rate stays a little above what the
// window lets through: should it be the true bound, the next refusal shows it.
func (l *Limiter) shrinkWindow(t *ticket, upper float64, now time.Time) {
	accepted := max(float64(t.inFlight-1), 1)
	l.open.cut(now, accepted, accepted)
	l.open.climb = climbing
	if most := max(1.15*upper, rateLeast); l.rate.value <= 0 || l.rate.value > most {
		l.rate.value, l.rate.ceiling = most, 0
	}
}

// capWindow keeps the window from growing without bound where the rate is what bounds.
func (l *Limiter) capWindow(t *ticket) {
	accepted := max(float64(t.inFlight-1), 1)
	most := max(2*accepted, windowFirst)
	if t.full && !t.paced { // both are unknown
		most, l.open.ceiling = accepted, 0
	}
	if l.open.value <= 0 || l.open.value > most {
		l.open.value = most
	}
}

// refine lowers what an episode taught when more of its calls turn out to be refused.
func (l *Limiter) refine(t *ticket, now time.Time) {
	if t.epoch != l.epoch-1 {
		return
	}
	l.cut.to = max(l.cut.to, t.slot)
	if l.allRefused(now) {
		l.backOff(now)
		return
	}
	upper, _, _ := l.estimate(now)
	upper = max(upper, rateLeast)
	if l.rate.ceiling > 0 {
		l.rate.ceiling = min(l.rate.ceiling, upper)
	}
	l.rate.value = min(l.rate.value, under*upper)
	l.retune()
	if t.full && !t.paced && l.open.value > 0 {
		l.open.value = max(min(l.open.value, float64(t.inFlight-1)), 1)
	}
}
