package limit

import "time"

// Share is one run's, or one kind of caller's, part in a model. Its methods are safe for concurrent
// use, but one event loop is what asks.
type Share struct {
	l    *Limiter
	name string
	c    chan struct{}

	// start is the share's virtual time: how many calls it has had, on a scale that all shares have in
	// common. Who waits with the lowest is next.
	start   float64
	idle    bool
	gone    bool
	waits   bool // was refused, and is in the limiter's list of the hungry
	at      time.Time
	why     Reason
	since   time.Time // when another first had to wait for its sake; zero: nobody is
	patient time.Duration
}

// Join makes a share. Leave must be called when it is needed no more.
func (l *Limiter) Join(name string) *Share {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shares++
	return &Share{l: l, name: name, c: make(chan struct{}, 1), idle: true, patient: patience}
}

// Leave gives the share up. Its permits remain good.
func (s *Share) Leave() {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	if s.gone {
		return
	}
	s.gone = true
	s.l.shares--
	s.l.rests(s)
}

// Idle says that the share wants nothing at the moment: others need not keep its turn. The next TryTake
// ends it.
func (s *Share) Idle() {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	s.idle = true
	s.l.rests(s)
}

// C has an element when something has changed since the last refusal: try again.
func (s *Share) C() <-chan struct{} { return s.c }

// Wait says, after a refusal, when trying again makes sense at the latest, and why.
func (s *Share) Wait() (at time.Time, why Reason) {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	return s.at, s.why
}

// TryTake takes a permit for a call that is expected to weigh so many tokens, prompt and answer. It
// never blocks; after a refusal, C and Wait say when to ask again.
func (s *Share) TryTake(tokens int64) (Permit, bool) {
	l := s.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.gone {
		s.at, s.why = time.Time{}, ReasonLeft
		return Permit{}, false
	}
	now := l.now()
	l.advance(now)
	l.comes(s)
	at, why := l.refuse(s, float64(tokens), now)
	s.at, s.why = at, why
	if why != ReasonNone {
		l.refused[why]++
		l.waits(s)
		return Permit{}, false
	}
	l.serves(s)
	return l.grant(s, max(tokens, 0), now), true
}

// tell puts the signal there, unless it is there already.
func (s *Share) tell() {
	select {
	case s.c <- struct{}{}:
	default:
	}
}
