package limit

import "time"

// Retry ends every wait that the provider asked for or that its failures brought about, because a
// person asks for a call now: the next call leaves, as a probe where the breaker is open.
func (l *Limiter) Retry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.held = time.Time{}
	if l.breaker.state == Open {
		l.breaker.probeAt = now
	}
	l.wakeAll()
}
