package limit

import (
	"testing"
	"time"
)

// No call of the model leaves before Retry-After has passed, of no share; those in flight go on.
func TestRetryAfterHoldsEverybody(t *testing.T) {
	s := newStand(t, Limits{Concurrency: 100})
	other := s.l.Join("other")
	inFlight, not := s.take(), s.take()
	s.take().Done(Outcome{Kind: Limited, RetryAfter: 20 * time.Second})
	s.refused(ReasonRetryAfter, 20*time.Second)
	if _, ok := other.TryTake(1); ok {
		t.Error("another share's call left")
	}
	if until, quiet := not.Quiet(); !quiet || until.Sub(s.clock) != 20*time.Second {
		t.Errorf("a call that has not left yet is not told: %v %v", until, quiet)
	}
	s.pass(5 * time.Second)
	not.Done(Outcome{Kind: Limited, RetryAfter: time.Second}) // a shorter one shortens nothing
	s.refused(ReasonRetryAfter, 15*time.Second)
	inFlight.Done(Outcome{Kind: Answered})
	s.pass(15*time.Second - 1)
	s.refused(ReasonRetryAfter, 1)
	s.pass(1)
	s.pass(3 * time.Second)
	if _, ok := other.TryTake(1); !ok {
		t.Error("refused after the wait")
	}
}

func TestRetryAfterIsKeptInTraffic(t *testing.T) {
	for _, p := range []provider{{50, 1, time.Second, "1s"}, {300, 0.1, 50 * time.Millisecond, "ms"}} {
		s := p.server()
		w := newWorld(9, s)
		for range 3 {
			w.loop(&loop{most: 500}) // commit is 0: what is taken leaves
		}
		w.run(time.Minute)
		if len(s.quiet) == 0 {
			t.Fatal("the provider refused nothing")
		}
		for _, q := range s.quiet {
			if n := count(s.arrived, q.from+1, q.to); n > 0 {
				t.Fatalf("%v: %d calls left in [%v, %v), which the provider asked to wait", p, n, q.from, q.to)
			}
		}
	}
}

func number(x float64) *float64 { return &x }

// A told limit bounds the rate before any 429.
func TestToldLimitBounds(t *testing.T) {
	s := newStand(t, Limits{})
	s.take().Done(Outcome{Kind: Answered, Told: Told{LimitRequests: 600, LimitTokens: 90_000}})
	st := s.l.State()
	if st.RequestsPerSecond > 10 || st.RequestsPerSecond < 9.5 || st.TokensPerSecond > 1_500 || st.TokensPerSecond < 1_400 {
		t.Errorf("600 requests and 90,000 tokens a minute are told; %.2f and %.1f a second may leave", st.RequestsPerSecond, st.TokensPerSecond)
	}
	s.reg.Set(simKey, Limits{RequestsPerMinute: 6_000})
	if got := s.l.State().RequestsPerSecond; got > 10 {
		t.Errorf("a set limit above the told one lifts it to %.1f", got)
	}
	s.pass(time.Second)
	s.take().Done(Outcome{Kind: Answered, Told: Told{LimitRequests: 100, Window: time.Second}})
	if got := s.l.State().RequestsPerSecond; got < 95 || got > 100 {
		t.Errorf("100 a second are told; %.1f may leave", got)
	}
}

// A provider that tells its limit is never driven into a 429.
func TestToldLimitNeedsNo429(t *testing.T) {
	s := &server{rate: 50, depth: 50, latency: time.Second, jitter: 0.5, tells: true}
	w := newWorld(1, s)
	w.loop(&loop{most: 500})
	w.run(time.Minute)
	if len(s.refused) > 0 {
		t.Errorf("%d calls were refused", len(s.refused))
	}
	if part := s.part(time.Minute); part < 0.95 {
		t.Errorf("%.3f of the limit is used", part)
	}
}

func TestNothingRemainsHolds(t *testing.T) {
	s := newStand(t, Limits{Concurrency: 100})
	s.take().Done(Outcome{Kind: Answered, Told: Told{LimitRequests: 600, RemainingRequests: number(0), ResetRequests: 7 * time.Second}})
	s.refused(ReasonRemaining, 7*time.Second)
	s.pass(7 * time.Second)
	s.take().Done(Outcome{Kind: Answered, Told: Told{RemainingTokens: number(0), ResetTokens: 3 * time.Second}})
	s.refused(ReasonRemaining, 3*time.Second)
}

// A provider that fills up all the time tells when all is there again: waiting so long for one call
// would waste nearly everything.
func TestARefillingProviderIsNotWaitedOut(t *testing.T) {
	s := newStand(t, Limits{Concurrency: 100})
	s.take().Done(Outcome{Kind: Answered, Told: Told{LimitRequests: 600, RemainingRequests: number(300), ResetRequests: 30 * time.Second}})
	s.pass(time.Second)
	s.take().Done(Outcome{Kind: Answered, Told: Told{LimitRequests: 600, RemainingRequests: number(0), ResetRequests: time.Minute}})
	s.refused(ReasonRemaining, 100*time.Millisecond)
}
