package limit

import "time"

// Retry ends every wait that the provider asked for or that its failures and refusals brought about,
// because a person asks for a call now: the next call leaves, as a probe where the breaker is open. What
// a person set holds.
func (l *Limiter) Retry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.advance(now)
	l.quiet = time.Time{}
	if l.requests.rate == l.rate.value {
		l.requests.level = max(l.requests.level, 0)
	}
	if l.breaker.state == Open {
		l.breaker.probeAt = now
	}
	l.wakeAll()
}
