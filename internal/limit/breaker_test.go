package limit

import (
	"testing"
	"time"
)

// stand is a limiter whose time a test moves by hand.
type stand struct {
	t     *testing.T
	clock time.Time
	reg   *Registry
	l     *Limiter
	share *Share
}

func newStand(t *testing.T, limits Limits) *stand {
	s := &stand{t: t, clock: simBegan}
	s.reg = New(func() time.Time { return s.clock })
	s.l = s.reg.For(simKey)
	s.reg.Set(simKey, limits)
	s.share = s.l.Join("run")
	return s
}

func (s *stand) pass(d time.Duration) { s.clock = s.clock.Add(d) }

func (s *stand) take() Permit {
	s.t.Helper()
	p, ok := s.share.TryTake(1)
	if !ok {
		at, why := s.share.Wait()
		s.t.Fatalf("refused until %v: %s", at.Sub(s.clock), why)
	}
	return p
}

func (s *stand) refused(want Reason, in time.Duration) {
	s.t.Helper()
	if _, ok := s.share.TryTake(1); ok {
		s.t.Fatalf("a call may leave, want refused: %s", want)
	}
	at, why := s.share.Wait()
	if why != want || in > 0 && at.Sub(s.clock) != in {
		s.t.Fatalf("refused until %v: %s; want %v: %s", at.Sub(s.clock), why, in, want)
	}
}

// fail lets n calls fail over a time.
func (s *stand) fail(n int, over time.Duration, k Kind) {
	s.t.Helper()
	for i := range n {
		if i > 0 {
			s.pass(over / time.Duration(n-1))
		}
		s.take().Done(Outcome{Kind: k, Message: "no route to host"})
	}
}

func (s *stand) closed() {
	s.t.Helper()
	if st := s.l.State(); st.Breaker != Closed {
		s.t.Fatalf("the breaker is %s: %s %s", st.Breaker, st.Cause, st.Message)
	}
}

func TestBreakerOpens(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		over time.Duration
		kind Kind
		open bool
	}{
		{"unreachable", 5, 5 * time.Second, Unreachable, true},
		{"unreachable, too few", 4, 50 * time.Second, Unreachable, false},
		{"unreachable, too short", 50, 4 * time.Second, Unreachable, false},
		{"failed", 20, 5*time.Second + 19, Failed, true},
		{"failed, too few", 19, 50 * time.Second, Failed, false},
		{"failed, too short", 50, 4 * time.Second, Failed, false},
		{"limited", 50, 50 * time.Second, Limited, false},
		{"aborted", 50, 50 * time.Second, Aborted, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStand(t, Limits{Concurrency: 1000})
			if c.kind == Limited {
				s.reg.Set(simKey, Limits{RequestsPerMinute: 1e9})
			}
			for i := range c.n {
				if i > 0 {
					s.pass(c.over / time.Duration(c.n-1))
				}
				p, ok := s.share.TryTake(1)
				if !ok {
					continue
				}
				p.Done(Outcome{Kind: c.kind, Message: "no route to host"})
			}
			cause, message, since, probe, broken := s.l.Broken()
			if broken != c.open {
				t.Fatalf("broken is %v", broken)
			}
			if broken && (cause != c.kind || message != "no route to host" || since != s.clock || probe.Sub(since) != 30*time.Second) {
				t.Errorf("broken: %s %q since %v, probe at %v", cause, message, since, probe)
			}
		})
	}
}

func TestAnAnswerKeepsTheBreakerClosed(t *testing.T) {
	for k, rounds := range map[Kind]int{Answered: 20, Limited: 3} {
		s := newStand(t, Limits{Concurrency: 1000})
		for range rounds {
			s.fail(4, 5*time.Minute, Unreachable)
			s.pass(time.Minute)
			s.take().Done(Outcome{Kind: k})
			s.pass(time.Minute)
		}
		s.closed()
	}
}

func TestBreakerProbes(t *testing.T) {
	s := newStand(t, Limits{Concurrency: 1000})
	s.fail(5, 5*time.Second, Unreachable)
	for _, wait := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
		s.refused(ReasonBreaker, wait)
		s.pass(wait - 1)
		s.refused(ReasonBreaker, 1)
		s.pass(1)
		aborted := s.take()
		s.refused(ReasonProbe, 0)
		aborted.Done(Outcome{Kind: Aborted})
		cancelled := s.take()
		s.refused(ReasonProbe, 0)
		cancelled.Cancel()
		probe := s.take()
		s.refused(ReasonProbe, 0)
		s.pass(10 * time.Second)
		probe.Done(Outcome{Kind: Failed, Message: "502"})
		if cause, message, _, _, broken := s.l.Broken(); !broken || cause != Failed || message != "502" {
			t.Fatalf("after a failed probe: %v %s %q", broken, cause, message)
		}
	}
	s.pass(5 * time.Minute)
	s.take().Done(Outcome{Kind: Answered})
	s.closed()
	s.take()
	s.take()
	if got := s.l.State().Opened; got != 1 {
		t.Errorf("opened %d times", got)
	}
}

// A call that left before the breaker opened shows that the provider is up, if it is answered, and
// nothing new, if it is not.
func TestOldCallsAndTheBreaker(t *testing.T) {
	s := newStand(t, Limits{Concurrency: 1000})
	old := []Permit{s.take(), s.take()}
	s.fail(5, 5*time.Second, Unreachable)
	old[0].Done(Outcome{Kind: Failed})
	s.refused(ReasonBreaker, 30*time.Second)
	old[1].Done(Outcome{Kind: Answered})
	s.closed()
}

func TestQuotaHolds(t *testing.T) {
	for _, c := range []struct{ told, want time.Duration }{{0, time.Hour}, {10 * time.Minute, 10 * time.Minute}, {20 * time.Hour, 20 * time.Hour}} {
		s := newStand(t, Limits{Concurrency: 1000})
		old, late := s.take(), s.take()
		s.take().Done(Outcome{Kind: Quota, RetryAfter: c.told, Message: "you exceeded your current quota"})
		s.refused(ReasonBreaker, c.want)
		old.Done(Outcome{Kind: Answered})
		late.Done(Outcome{Kind: Quota, RetryAfter: 90 * time.Hour})
		if cause, message, _, _, broken := s.l.Broken(); !broken || cause != Quota || message != "you exceeded your current quota" {
			t.Fatalf("quota: %v %s %q", broken, cause, message)
		}
		s.refused(ReasonBreaker, c.want)
		s.pass(c.want)
		s.take().Done(Outcome{Kind: Quota})
		s.refused(ReasonBreaker, time.Hour)
		s.pass(time.Hour)
		s.take().Done(Outcome{Kind: Answered})
		s.closed()
	}
}

// A person who asks again need not wait.
func TestRetryEndsWaits(t *testing.T) {
	s := newStand(t, Limits{RequestsPerMinute: 600})
	s.take().Done(Outcome{Kind: Quota})
	s.refused(ReasonBreaker, time.Hour)
	s.pass(time.Second)
	s.l.Retry()
	s.take().Done(Outcome{Kind: Limited, RetryAfter: time.Hour})
	s.refused(ReasonRetryAfter, time.Hour)
	s.l.Retry()
	s.pass(time.Second)
	s.take()
	s.pass(time.Second)
	s.take()
}

// Also where the limiter has learned to call seldom: how often a person asks is for the person to say.
func TestRetryDoesNotWaitForALearnedRate(t *testing.T) {
	s := newStand(t, Limits{})
	for n := range 8 {
		s.l.Retry()
		permit, ok := s.share.TryTake(1)
		if !ok {
			at, why := s.share.Wait()
			t.Fatalf("after %d refusals a person waits until %s more (%s)", n, at.Sub(s.clock), why)
		}
		s.pass(100 * time.Millisecond)
		permit.Done(Outcome{Kind: Limited, RetryAfter: 3 * time.Hour})
		s.pass(5 * time.Second)
	}
	set := newStand(t, Limits{RequestsPerMinute: 1})
	set.take()
	set.l.Retry()
	set.refused(ReasonRequests, time.Minute) // what a person set holds
}
