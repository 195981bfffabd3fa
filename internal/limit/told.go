package limit

import "time"

const (
	toldUnder = 0.99 // of a told limit: others may use the account too
	refilling = 0.05 // how far from the line the reset of a bucket may lie
)

// told is what the provider's headers said last.
type told struct {
	requests, tokens float64 // per second
	// The provider fills up continuously: the reset that it tells is when all is there again, and a call
	// may leave long before.
	requestsRefill, tokensRefill bool
}

// hear takes in headers.
func (l *Limiter) hear(t Told, now time.Time) {
	window := t.Window
	if window <= 0 {
		window = time.Minute
	}
	before := l.told
	l.told.requests = toldRate(l.told.requests, t.LimitRequests, window)
	l.told.tokens = toldRate(l.told.tokens, t.LimitTokens, window)
	l.remaining(t.RemainingRequests, t.LimitRequests, t.ResetRequests, window, 1, &l.told.requestsRefill, now)
	l.remaining(t.RemainingTokens, t.LimitTokens, t.ResetTokens, window, l.mean(), &l.told.tokensRefill, now)
	if l.told != before {
		l.reopen()
		l.retune()
	}
}

func toldRate(was, limit float64, window time.Duration) float64 {
	if limit <= 0 {
		return was
	}
	return toldUnder * limit / window.Seconds()
}

// mean is what calls in flight weigh.
func (l *Limiter) mean() float64 {
	return max(float64(l.weight)/float64(max(l.inFlight, 1)), 1)
}

// remaining makes the limiter quiet when nothing remains: until the reset, or of a bucket that fills up all the
// time, until it has filled up by one call.
func (l *Limiter) remaining(left *float64, limit float64, reset, window time.Duration, weight float64, refill *bool, now time.Time) {
	if left == nil || reset <= 0 {
		return
	}
	if *left >= 1 {
		if limit > *left {
			full := time.Duration((limit - *left) / limit * float64(window))
			*refill = (reset - full).Abs() <= time.Duration(refilling*float64(window))
		}
		return
	}
	if *refill && limit > 0 {
		reset = time.Duration(min(weight/limit, 1) * float64(reset))
	}
	l.silence(now, now.Add(reset), ReasonRemaining)
}
