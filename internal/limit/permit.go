package limit

import "time"

// ticket is what a limiter remembers of a call in flight. It is used again for later calls: use tells
// them apart, so that a permit that is given back twice does no harm.
type ticket struct {
	use      uint64
	share    *Share
	tokens   int64
	epoch    int64
	slot     int64
	at       time.Time
	inFlight int  // with this one, when it left
	full     bool // the window was what bounded
	paced    bool // the rate was
	probe    uint64
}

func (l *Limiter) ticket() *ticket {
	if n := len(l.free); n > 0 {
		t := l.free[n-1]
		l.free = l.free[:n-1]
		return t
	}
	return &ticket{use: 1}
}

// Permit lets one call leave. It must be given back by Done or Cancel; what is done with it after that
// has no effect. The zero Permit permits nothing and may be given back.
type Permit struct {
	l   *Limiter
	t   *ticket
	use uint64
}

// lock returns false when the permit was given back before.
func (p Permit) lock() bool {
	if p.l == nil {
		return false
	}
	p.l.mu.Lock()
	if p.t.use != p.use {
		p.l.mu.Unlock()
		return false
	}
	return true
}

// Weigh says what the call really weighs, prompt and expected answer, before it leaves.
func (p Permit) Weigh(tokens int64) {
	if !p.lock() {
		return
	}
	defer p.l.mu.Unlock()
	p.l.advance(p.l.now())
	p.reweigh(tokens)
}

func (p Permit) reweigh(tokens int64) {
	p.l.tokens.take(float64(tokens - p.t.tokens))
	p.l.weight += tokens - p.t.tokens
	p.t.tokens = tokens
}

// Quiet says that the limiter has become quiet, or the breaker has opened, since the permit was given, and
// until when. A call that has not left then should wait until then, or be cancelled.
func (p Permit) Quiet() (until time.Time, quiet bool) {
	if !p.lock() {
		return time.Time{}, false
	}
	defer p.l.mu.Unlock()
	l, now := p.l, p.l.now()
	if l.breaker.state == Open && now.Before(l.breaker.probeAt) {
		return l.breaker.probeAt, true
	}
	return l.quiet, now.Before(l.quiet)
}

// Cancel gives everything back: the call never left.
func (p Permit) Cancel() {
	if !p.lock() {
		return
	}
	defer p.l.mu.Unlock()
	l, t := p.l, p.t
	l.advance(l.now())
	l.requests.take(-1)
	l.tokens.take(-float64(t.tokens))
	l.rate.excess--
	l.granted--
	if s := l.history.at(t.slot); s != nil {
		s.left--
	}
	t.share.start--
	l.breaker.back(t.probe)
	p.end()
}

// Done says how the call ended, once.
func (p Permit) Done(o Outcome) {
	if !p.lock() {
		return
	}
	defer p.l.mu.Unlock()
	l, now := p.l, p.l.now()
	l.advance(now)
	switch {
	case o.Kind == Limited || o.Kind == Unreachable:
		l.tokens.take(-float64(p.t.tokens)) // nothing was read or written
	case o.Tokens > 0:
		l.tokens.take(float64(o.Tokens - p.t.tokens))
	}
	l.hear(o.Told, now)
	l.learn(p.t, o, now)
	if l.breaker.learn(o, p.t.probe, now) {
		l.wakeAll()
	}
	p.end()
}

// end frees the call's place.
func (p Permit) end() {
	l, t := p.l, p.t
	l.inFlight--
	l.weight -= t.tokens
	*t = ticket{use: t.use + 1}
	l.free = append(l.free, t)
	l.wakeFree()
}
