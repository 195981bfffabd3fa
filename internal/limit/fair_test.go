package limit

import (
	"fmt"
	"testing"
	"time"
)

// even fails when two loops that both want all they can get differ by more than a tenth in any ten
// seconds of [from, to).
func even(t *testing.T, from, to time.Duration, loops ...*loop) {
	t.Helper()
	for at := from; at+10*time.Second <= to; at += 500 * time.Millisecond {
		sum := 0
		for _, l := range loops {
			sum += l.between(at, at+10*time.Second)
		}
		mean := float64(sum) / float64(len(loops))
		for i, l := range loops {
			// One call more or less is no matter of fairness.
			if n := float64(l.between(at, at+10*time.Second)); n < 0.9*mean-1 || n > 1.1*mean+1 {
				t.Fatalf("loop %d made %v calls in ten seconds from %v, the mean is %.1f", i, n, at, mean)
			}
		}
	}
}

// Two that want all they can get have the same, whatever they are like and whatever bounds them.
func TestTwoSharesAreEven(t *testing.T) {
	bounds := map[string]Limits{
		"5 a second":       {RequestsPerMinute: 300},
		"100 a second":     {RequestsPerMinute: 6_000},
		"1,000 a second":   {RequestsPerMinute: 60_000},
		"1 in flight":      {Concurrency: 1},
		"10 in flight":     {Concurrency: 10},
		"200 in flight":    {Concurrency: 200},
		"tokens":           {TokensPerMinute: 600_000},
		"learned":          {},
		"both":             {RequestsPerMinute: 6_000, Concurrency: 60},
		"a call in flight": {RequestsPerMinute: 1_200, Concurrency: 2},
	}
	pairs := map[string][2]loop{
		"alike":           {{most: 5_000}, {most: 5_000}},
		"few and many":    {{most: 800}, {most: 10_000}},
		"slow to commit":  {{most: 5_000, commit: 40 * time.Millisecond}, {most: 5_000}},
		"slow to come":    {{most: 5_000, react: 60 * time.Millisecond}, {most: 5_000}},
		"both slow":       {{most: 5_000, react: 30 * time.Millisecond}, {most: 5_000, react: 20 * time.Millisecond}},
		"light and heavy": {{most: 5_000, tokens: 1_000}, {most: 5_000, tokens: 1_000}},
	}
	for bound, limits := range bounds {
		for name, pair := range pairs {
			t.Run(bound+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := &server{rate: 1e6, depth: 1e6, latency: 400 * time.Millisecond, jitter: 0.5}
				if bound == "learned" {
					s.rate, s.depth = 80, 80
				}
				w := newWorld(5, s)
				w.reg.Set(simKey, limits)
				a, b := pair[0], pair[1]
				a.tokens, b.tokens = max(a.tokens, 500), max(b.tokens, 500)
				w.loop(&a)
				w.loop(&b)
				w.run(40 * time.Second)
				if a.between(0, 40*time.Second) < 20 {
					t.Fatal("hardly a call was made")
				}
				even(t, 2*time.Second, 40*time.Second, &a, &b)
			})
		}
	}
}

func TestTwentySharesAreEven(t *testing.T) {
	for _, limits := range []Limits{{RequestsPerMinute: 60 * 40}, {RequestsPerMinute: 60 * 400}, {Concurrency: 30}} {
		t.Run(fmt.Sprint(limits), func(t *testing.T) {
			w := newWorld(5, &server{rate: 1e6, depth: 1e6, latency: 400 * time.Millisecond, jitter: 0.5})
			w.reg.Set(simKey, limits)
			var all []*loop
			for i := range 20 {
				all = append(all, w.loop(&loop{most: 50 + 100*i, commit: time.Duration(i) * time.Millisecond}))
			}
			w.run(40 * time.Second)
			even(t, 2*time.Second, 40*time.Second, all...)
			if sum := count(w.server.arrived, 20*time.Second, 30*time.Second); limits.RequestsPerMinute > 0 && float64(sum) < 0.97*limits.RequestsPerMinute/6 {
				t.Errorf("%d calls left in ten seconds", sum)
			}
		})
	}
}

// One that comes later has its share at once, and nothing for the time before.
func TestNewcomerHasItsShareAtOnce(t *testing.T) {
	for _, limits := range []Limits{{RequestsPerMinute: 6_000}, {Concurrency: 40}} {
		w := newWorld(5, &server{rate: 1e6, depth: 1e6, latency: 400 * time.Millisecond, jitter: 0.5})
		w.reg.Set(simKey, limits)
		a := w.loop(&loop{most: 1000})
		w.run(30 * time.Second)
		b := w.loop(&loop{most: 1000})
		w.run(60 * time.Second)
		even(t, 30*time.Second, 60*time.Second, a, b)
		if x, y := a.between(30*time.Second, 32*time.Second), b.between(30*time.Second, 32*time.Second); x < y*8/10 || y < x*8/10 {
			t.Errorf("%v: in its first two seconds the newcomer made %d calls, the other %d", limits, y, x)
		}
	}
}

// A share that was refused and never comes back, one that is idle and one that has left hold nobody up.
func TestQuietSharesHoldNobodyUp(t *testing.T) {
	for _, limits := range []Limits{{RequestsPerMinute: 3_000}, {RequestsPerMinute: 300}, {Concurrency: 20}, {Concurrency: 1}} {
		w := newWorld(5, &server{rate: 1e6, depth: 1e6, latency: 200 * time.Millisecond})
		w.reg.Set(simKey, limits)
		a := w.loop(&loop{most: 1000})
		w.run(10 * time.Second)
		lost, idle, left := w.limit.Join("lost"), w.limit.Join("idle"), w.limit.Join("left")
		var taken []Permit
		for _, s := range []*Share{lost, idle, left} {
			for {
				p, ok := s.TryTake(1)
				if !ok {
					break
				}
				taken = append(taken, p)
			}
		}
		for _, p := range taken {
			p.Cancel()
		}
		idle.Idle()
		left.Leave()
		w.run(20 * time.Second)
		before, after := a.between(5*time.Second, 10*time.Second), a.between(10*time.Second, 15*time.Second)
		if after < before*9/10 {
			t.Errorf("%v: %d calls in five seconds, %d with three quiet shares", limits, before, after)
		}
		if _, ok := left.TryTake(1); ok {
			t.Error("a share that has left took a permit")
		}
	}
}

// A share that says that it is idle gives its turn to the next at once.
func TestIdleGivesTheTurnAway(t *testing.T) {
	s := newStand(t, Limits{Concurrency: 1})
	p := s.take()
	other := s.l.Join("other")
	if _, ok := other.TryTake(1); ok {
		t.Fatal("two calls in flight")
	}
	p.Done(Outcome{Kind: Answered})
	s.refused(ReasonTurn, patience)
	drain(s.share)
	other.Idle()
	if !drain(s.share) {
		t.Error("nobody was told")
	}
	s.take()
}
