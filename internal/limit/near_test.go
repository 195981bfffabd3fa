package limit

import (
	"fmt"
	"testing"
	"time"
)

// provider is one kind of provider that the tests below meet.
type provider struct {
	rate    float64
	depth   float64 // seconds of calls that it saves up
	latency time.Duration
	style   string
}

func (p provider) String() string {
	return fmt.Sprintf("%v a second, saves %v s, %v, Retry-After %q", p.rate, p.depth, p.latency, p.style)
}

func (p provider) server() *server {
	return &server{rate: p.rate, depth: max(p.rate*p.depth, 1), latency: p.latency, jitter: 0.5, style: p.style}
}

func providers() (all []provider) {
	for _, rate := range []float64{5, 50, 300} {
		for _, latency := range []time.Duration{50 * time.Millisecond, time.Second, 5 * time.Second} {
			for _, style := range []string{"ms", "1s", ""} {
				all = append(all, provider{rate, 1, latency, style})
				if rate > 100 && style != "1s" {
					all = append(all, provider{rate, 0.1, latency, style})
				}
			}
		}
	}
	return append(all,
		provider{1000, 1, 50 * time.Millisecond, "ms"},
		provider{1000, 1, time.Second, "1s"},
		provider{1000, 1, 5 * time.Second, ""})
}

// part is which part of the calls that the server could take in the ten seconds before until it took.
// Silence that it asked for is no time in which it could take calls.
func (s *server) part(until time.Duration) float64 {
	from := until - 10*time.Second
	could := s.rate * (10*time.Second - s.silence(from, until)).Seconds()
	return float64(count(s.accepted, from, until)) / could
}

// silence is how long in [from, to) no call was to leave because of Retry-After.
func (s *server) silence(from, to time.Duration) (sum time.Duration) {
	for i, q := range s.quiet {
		a, b := max(q.from, from), min(q.to, to)
		if i > 0 {
			a = max(a, s.quiet[i-1].to)
		}
		sum += max(b-a, 0)
	}
	return sum
}

func (s *server) refusedPart(from, to time.Duration) float64 {
	return float64(count(s.refused, from, to)) / float64(count(s.arrived, from, to))
}

// A provider's limit that nobody set is found within 30 s, kept to with few refusals, and found again
// within 60 s after it was halved and restored.
func TestLearnsTheLimit(t *testing.T) {
	for _, p := range providers() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			s := p.server()
			w := newWorld(7, s)
			w.loop(&loop{most: 10_000, commit: 3 * time.Millisecond})
			w.run(30 * time.Second)
			if part := s.part(30 * time.Second); part < 0.9 {
				t.Errorf("after 30 s %.3f of the limit is used", part)
			}
			w.run(90 * time.Second)
			if part := s.refusedPart(45*time.Second, 90*time.Second); part > 0.03 {
				t.Errorf("in the steady state %.3f of the calls are refused", part)
			}
			s.rate /= 2
			w.run(120 * time.Second)
			s.rate *= 2
			w.run(180 * time.Second)
			if part := s.part(180 * time.Second); part < 0.9 {
				t.Errorf("60 s after the limit was restored %.3f of it is used", part)
			}
		})
	}
}

// The same with limits set: nothing needs to be learned, and more than the set calls are never in flight.
func TestKeepsSetLimits(t *testing.T) {
	for _, p := range providers() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			s := p.server()
			s.most = int(p.rate*p.latency.Seconds()*1.6) + 2
			w := newWorld(7, s)
			set := Limits{RequestsPerMinute: 60 * p.rate, Concurrency: s.most}
			w.reg.Set(simKey, set)
			w.loop(&loop{most: 10_000, commit: 3 * time.Millisecond})
			w.run(30 * time.Second)
			if part := s.part(30 * time.Second); part < 0.9 {
				t.Errorf("after 30 s %.3f of the limit is used", part)
			}
			s.rate /= 2
			w.run(60 * time.Second)
			s.rate *= 2
			w.run(120 * time.Second)
			if part := s.part(120 * time.Second); part < 0.9 {
				t.Errorf("60 s after the limit was restored %.3f of it is used", part)
			}
			if s.peak > set.Concurrency {
				t.Errorf("%d calls were in flight, %d are allowed", s.peak, set.Concurrency)
			}
			if part := s.refusedPart(10*time.Second, 30*time.Second); part > 0.03 {
				t.Errorf("in the steady state %.3f of the calls are refused", part)
			}
		})
	}
}

// Set calls in flight are kept to while the rate is learned.
func TestLearnsTheLimitUnderASetWindow(t *testing.T) {
	for _, p := range []provider{{5, 1, time.Second, ""}, {50, 1, 5 * time.Second, "ms"}, {300, 1, time.Second, "1s"}} {
		s := p.server()
		w := newWorld(7, s)
		most := int(p.rate*p.latency.Seconds()*1.5) + 2
		w.reg.Set(simKey, Limits{Concurrency: most})
		w.loop(&loop{most: 10_000, commit: 3 * time.Millisecond})
		w.run(30 * time.Second)
		if part := s.part(30 * time.Second); part < 0.9 {
			t.Errorf("%v: after 30 s %.3f of the limit is used", p, part)
		}
		if s.peak > most {
			t.Errorf("%v: %d calls were in flight, %d are allowed", p, s.peak, most)
		}
	}
}

// A provider that bounds calls in flight only is met with few refusals, though not all its places are used.
func TestLearnsTheWindow(t *testing.T) {
	for _, most := range []int{2, 8, 40, 200} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Parallel()
			s := &server{rate: 1e6, depth: 1e6, most: most, latency: time.Second, jitter: 0.5}
			w := newWorld(3, s)
			w.loop(&loop{most: 10_000, commit: 3 * time.Millisecond})
			w.run(2 * time.Minute)
			used := float64(count(s.accepted, time.Minute, 2*time.Minute)) / (60 * float64(most))
			refused := s.refusedPart(time.Minute, 2*time.Minute)
			t.Logf("%.2f used, %.3f refused", used, refused)
			if used < 0.6 {
				t.Errorf("%.3f of the places are used", used)
			}
			if refused > 0.05 {
				t.Errorf("%.3f of the calls are refused", refused)
			}
		})
	}
}

// Only 429s shrink: a provider that fails now and then, or hangs, keeps its window.
func TestFailuresDoNotShrink(t *testing.T) {
	s := &server{rate: 1e6, depth: 1e6, latency: time.Second, jitter: 0.5}
	w := newWorld(1, s)
	s.sick = func() Kind {
		if w.rng.Float64() < 0.3 {
			return Failed
		}
		return Aborted
	}
	w.loop(&loop{most: 300})
	w.run(time.Minute)
	st := w.limit.State()
	if st.LearnedWindow < 300 || st.LearnedPerSecond != 0 || st.Episodes != 0 || st.Breaker != Closed {
		t.Errorf("failures changed the limiter: %+v", st)
	}
}

// What nobody wants does not grow.
func TestGrowsOnlyWhileItBounds(t *testing.T) {
	s := &server{rate: 1e6, depth: 1e6, latency: time.Second}
	w := newWorld(1, s)
	w.loop(&loop{most: 5})
	w.run(time.Minute)
	if got := w.limit.State().LearnedWindow; got != windowFirst {
		t.Errorf("the window grew to %d though five calls were all that was wanted", got)
	}
}

// However many 429s a moment brings, they are one episode.
func TestEpisodeCountsOnce(t *testing.T) {
	w := newWorld(1, &server{})
	w.reg.Set(simKey, Limits{Concurrency: 100})
	share := w.limit.Join("run")
	var out []Permit
	for range 100 {
		p, ok := share.TryTake(1)
		if !ok {
			t.Fatal("refused")
		}
		out = append(out, p)
	}
	w.clock = w.clock.Add(time.Second)
	for i, p := range out {
		if i < 60 {
			p.Done(Outcome{Kind: Answered})
		} else {
			p.Done(Outcome{Kind: Limited})
		}
	}
	st := w.limit.State()
	if st.Episodes != 1 || st.Limited != 40 {
		t.Errorf("%d episodes of %d refusals", st.Episodes, st.Limited)
	}
	if st.LearnedPerSecond > 60 || st.LearnedPerSecond < 50 {
		t.Errorf("60 of 100 calls of a second were accepted; the rate is %.1f", st.LearnedPerSecond)
	}
}

// Calls that are rare are learned too, if more coarsely.
func TestLearnsALowLimit(t *testing.T) {
	for _, rate := range []float64{0.05, 0.33, 1} {
		s := &server{rate: rate, depth: max(1, 60*rate), latency: 3 * time.Second, jitter: 0.5, style: "ms"}
		w := newWorld(1, s)
		w.loop(&loop{most: 50})
		w.run(40 * time.Minute)
		used := float64(count(s.accepted, 20*time.Minute, 40*time.Minute)) / (1200 * rate)
		refused := s.refusedPart(20*time.Minute, 40*time.Minute)
		t.Logf("%v a second: %.2f used, %.3f refused", rate, used, refused)
		if used < 0.9 || refused > 0.2 {
			t.Errorf("%v a second: %.2f used, %.3f refused", rate, used, refused)
		}
	}
}
