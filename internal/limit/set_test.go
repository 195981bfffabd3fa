package limit

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever callers do and however calls end, no set limit is exceeded: calls in flight at no moment,
// requests and tokens over no span of time by more than the small burst.
func TestSetLimitsAreNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := simBegan
		reg := New(func() time.Time { return clock })
		l := reg.For(simKey)
		limits := Limits{
			RequestsPerMinute: float64(rapid.IntRange(0, 2).Draw(t, "metered")) * rapid.Float64Range(30, 6_000).Draw(t, "rpm"),
			TokensPerMinute:   float64(rapid.IntRange(0, 1).Draw(t, "weighed")) * rapid.Float64Range(1_000, 1e6).Draw(t, "tpm"),
			Concurrency:       rapid.IntRange(0, 20).Draw(t, "concurrency"),
		}
		reg.Set(simKey, limits)
		shares := []*Share{l.Join("a"), l.Join("b"), l.Join("c")}
		type call struct {
			p      Permit
			tokens int64
		}
		type leave struct {
			at     time.Time
			tokens float64
		}
		var out []call
		var left []leave
		heaviest := 1.0
		kinds := []Kind{Answered, Answered, Answered, Answered, Limited, Failed, Aborted}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2, 3:
				tokens := rapid.Int64Range(0, 5_000).Draw(t, "tokens")
				if p, ok := rapid.SampledFrom(shares).Draw(t, "share").TryTake(tokens); ok {
					out = append(out, call{p, tokens})
					left = append(left, leave{clock, float64(tokens)})
					heaviest = max(heaviest, float64(tokens))
				}
			case 4, 5:
				clock = clock.Add(time.Duration(rapid.IntRange(0, 500).Draw(t, "ms")) * time.Millisecond)
			case 6:
				rapid.SampledFrom(shares).Draw(t, "idle").Idle()
			default:
				if len(out) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(out)-1).Draw(t, "call")
				c := out[i]
				out[i] = out[len(out)-1]
				out = out[:len(out)-1]
				o := Outcome{Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Tokens: c.tokens}
				c.p.Done(o)
				for range rapid.IntRange(0, 2).Draw(t, "again") { // misuse does no harm
					c.p.Done(o)
					c.p.Cancel()
					c.p.Weigh(1_000_000)
				}
			}
			st := l.State()
			if st.InFlight != len(out) {
				t.Fatalf("%d in flight, the limiter says %d", len(out), st.InFlight)
			}
			if limits.Concurrency > 0 && len(out) > limits.Concurrency {
				t.Fatalf("%d in flight, %d are allowed", len(out), limits.Concurrency)
			}
		}
		for i := range left {
			calls, tokens := 0.0, 0.0
			for _, x := range left[i:] {
				calls++
				tokens += x.tokens
				span := x.at.Sub(left[i].at).Seconds() + slack.Seconds()
				if most := limits.RequestsPerMinute / 60 * span; most > 0 && calls > most+1+1e-6 {
					t.Fatalf("%v calls left in %.3f s", calls, span)
				}
				// What was refused gives its tokens back, so the sum may be higher by as much.
				if most := limits.TokensPerMinute / 60 * span; most > 0 && tokens > most+heaviest*(1+float64(l.limited))+1e-6 {
					t.Fatalf("%v tokens left in %.3f s", tokens, span)
				}
			}
		}
		for _, c := range out {
			c.p.Cancel()
		}
		if st := l.State(); st.InFlight != 0 || st.Tokens != 0 {
			t.Fatalf("after the last call %d are in flight with %d tokens", st.InFlight, st.Tokens)
		}
	})
}

func TestTokensAreCorrected(t *testing.T) {
	s := newStand(t, Limits{TokensPerMinute: 60_000}) // 1,000 a second
	p, _ := s.share.TryTake(1_000)
	s.refused(ReasonTokens, time.Second)
	p.Weigh(5_000)
	s.refused(ReasonTokens, 5*time.Second)
	s.pass(time.Second)
	p.Done(Outcome{Kind: Answered, Tokens: 3_000})
	s.refused(ReasonTokens, 2*time.Second)
	s.pass(2 * time.Second)
	p, ok := s.share.TryTake(1_000)
	if !ok {
		t.Fatal("refused")
	}
	p.Cancel()
	s.take().Done(Outcome{Kind: Answered}) // unknown: stays at what was expected
	s.refused(ReasonTokens, time.Millisecond)
}

func TestACancelledCallGivesEverythingBack(t *testing.T) {
	s := newStand(t, Limits{RequestsPerMinute: 60, TokensPerMinute: 60, Concurrency: 1})
	before := s.l.State()
	for range 100 {
		s.take().Cancel()
	}
	after := s.l.State()
	if after.InFlight != 0 || after.Tokens != 0 || after.Granted != before.Granted {
		t.Errorf("after 100 calls that did not leave: %+v", after)
	}
	s.take()
}

func TestLimitsCanBeChanged(t *testing.T) {
	s := newStand(t, Limits{Concurrency: 10})
	var out []Permit
	for range 10 {
		out = append(out, s.take())
	}
	s.refused(ReasonConcurrency, lookAgain)
	s.reg.Set(simKey, Limits{Concurrency: 4})
	for _, p := range out[:6] {
		s.refused(ReasonConcurrency, lookAgain)
		p.Done(Outcome{Kind: Answered})
	}
	s.refused(ReasonConcurrency, lookAgain)
	out[6].Done(Outcome{Kind: Answered})
	s.take()
	s.refused(ReasonConcurrency, lookAgain)
	drain(s.share)
	s.reg.Set(simKey, Limits{Concurrency: 5})
	if !drain(s.share) {
		t.Error("a raised limit woke nobody")
	}
	s.take()

	s.reg.Set(simKey, Limits{RequestsPerMinute: 60})
	s.take()
	s.refused(ReasonRequests, time.Second)
	s.reg.Set(simKey, Limits{RequestsPerMinute: 600})
	if !drain(s.share) {
		t.Error("a raised limit woke nobody")
	}
	s.pass(100 * time.Millisecond)
	s.take()
}

func TestLimitsMayBeSetBeforeAnybodyAsks(t *testing.T) {
	reg := New(time.Now)
	k := Key{"e", "m"}
	reg.Set(k, Limits{Concurrency: 3})
	if got := reg.For(k).State().Set.Concurrency; got != 3 {
		t.Errorf("concurrency %d", got)
	}
	reg.For(Key{"a", "z"})
	if got := reg.States(); len(got) != 2 || got[0].Endpoint != "a" || got[1].Window != 3 {
		t.Errorf("states: %+v", got)
	}
}

func drain(s *Share) bool {
	select {
	case <-s.C():
		return true
	default:
		return false
	}
}

// No burst at the start: what leaves in the first moments is what the rate allows.
func TestBeginsWithoutABurst(t *testing.T) {
	s := &server{rate: 1e6, depth: 1e6, latency: time.Second}
	w := newWorld(1, s)
	w.reg.Set(simKey, Limits{RequestsPerMinute: 60_000})
	w.loop(&loop{most: 5_000})
	w.run(2 * time.Second)
	for from := time.Duration(0); from < 2*time.Second; from += 10 * time.Millisecond {
		if n := count(s.arrived, from, from+100*time.Millisecond); n > 201 {
			t.Fatalf("%d calls left in a tenth of a second from %v, at 1,000 a second", n, from)
		}
	}
	if n := len(s.arrived); math.Abs(float64(n)-2_000) > 100 {
		t.Errorf("%d calls left in two seconds", n)
	}
}

// Nor after a pause: at most a tenth of a second of calls is saved up.
func TestAPauseSavesLittleUp(t *testing.T) {
	s := newStand(t, Limits{RequestsPerMinute: 60_000})
	s.take()
	s.pass(time.Hour)
	n := 0
	for _, ok := s.share.TryTake(1); ok; _, ok = s.share.TryTake(1) {
		n++
	}
	if n > 101 {
		t.Errorf("%d calls left at once, at 1,000 a second", n)
	}
}

// A place that becomes free is told to a share that waits for one, though another's call freed it.
func TestAFreePlaceIsTold(t *testing.T) {
	s := newStand(t, Limits{Concurrency: 1})
	p := s.take()
	other := s.l.Join("other")
	for range 2 {
		if _, ok := other.TryTake(1); ok {
			t.Fatal("two calls in flight")
		}
	}
	p.Done(Outcome{Kind: Answered})
	if !drain(other) {
		t.Error("nobody was told")
	}
	if _, ok := other.TryTake(1); !ok {
		t.Error("refused though a place is free")
	}
}
