package limit

import (
	"maps"
	"time"
)

// State is what a limiter knows and does, for people and metrics.
type State struct {
	Key
	Set Limits
	// What bounds calls at present; 0 is nothing.
	RequestsPerSecond float64
	TokensPerSecond   float64
	Window            int // calls in flight
	// What was learned of it, and from what.
	LearnedPerSecond float64
	LearnedWindow    int
	ToldPerSecond    float64
	InFlight         int
	Tokens           int64 // expected of the calls in flight
	Shares           int
	Waiting          int // shares that were refused and have not come back
	QuietUntil       time.Time
	QuietWhy         Reason
	Breaker          BreakerState
	Cause            Kind // of the breaker not being closed
	Message          string
	Since            time.Time
	ProbeAt          time.Time
	Granted          int64
	Refused          map[Reason]int64
	Limited          int64 // calls that got a 429
	Episodes         int64 // of 429s
	Opened           int64 // times that the breaker opened
}

// State describes the limiter at this moment.
func (l *Limiter) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.advance(now)
	s := State{
		Key: l.key, Set: l.limits,
		RequestsPerSecond: l.requests.rate, TokensPerSecond: l.tokens.rate,
		LearnedPerSecond: l.rate.value, LearnedWindow: int(l.open.value), ToldPerSecond: l.told.requests,
		InFlight: l.inFlight, Tokens: l.weight, Shares: l.shares, Waiting: len(l.hungry),
		Breaker: l.breaker.state, Cause: l.breaker.cause, Message: l.breaker.message,
		Since: l.breaker.since, ProbeAt: l.breaker.probeAt,
		Granted: l.granted, Refused: maps.Clone(l.refused), Limited: l.limited, Episodes: l.episodes, Opened: l.breaker.opened,
	}
	if w := l.window(); w != unbounded {
		s.Window = w
	}
	if now.Before(l.quiet) {
		s.QuietUntil, s.QuietWhy = l.quiet, l.quietWhy
	}
	return s
}

// Broken says whether the provider is thought to be down, or the quota used up; since when, why, and
// when a call may try again.
func (l *Limiter) Broken() (cause Kind, message string, since, probeAt time.Time, broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &l.breaker
	return b.cause, b.message, b.since, b.probeAt, b.state != Closed
}
