package limit

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// real is an event loop as callers have: it asks, and sleeps on signals, times and answers.
type real struct {
	share    *Share
	most     int
	inFlight int
	done     chan Outcome
	calls    atomic.Int64
	latency  time.Duration
	now, top *atomic.Int64 // in flight at the provider, and the most so far
}

func (r *real) run(stop <-chan struct{}) {
	for {
		timer := time.NewTimer(time.Hour)
		for r.inFlight < r.most {
			p, ok := r.share.TryTake(100)
			if !ok {
				at, _ := r.share.Wait()
				timer.Reset(max(time.Until(at), 0))
				break
			}
			r.inFlight++
			r.calls.Add(1)
			r.top.Store(max(r.top.Load(), r.now.Add(1)))
			time.AfterFunc(r.latency, func() {
				r.now.Add(-1)
				p.Done(Outcome{Kind: Answered, Tokens: 100})
				r.done <- Outcome{}
			})
		}
		select {
		case <-stop:
			timer.Stop()
			return
		case <-r.done:
			r.inFlight--
		case <-r.share.C():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Real loops that sleep whenever they are refused lose no time and no wake-up.
func TestLoopsLoseNoTime(t *testing.T) {
	for _, c := range []struct {
		limits Limits
		want   float64 // calls per second
	}{
		{Limits{Concurrency: 10}, 50},
		{Limits{Concurrency: 1}, 5},
		{Limits{RequestsPerMinute: 6_000}, 100},
		{Limits{RequestsPerMinute: 300}, 5},
		{Limits{TokensPerMinute: 120_000}, 20},
	} {
		synctest.Test(t, func(t *testing.T) {
			reg := New(time.Now)
			reg.Set(simKey, c.limits)
			var now, top atomic.Int64
			stop := make(chan struct{})
			var loops []*real
			for range 3 {
				r := &real{share: reg.For(simKey).Join("run"), most: 1_000, done: make(chan Outcome, 10_000), latency: 200 * time.Millisecond, now: &now, top: &top}
				loops = append(loops, r)
				go r.run(stop)
			}
			time.Sleep(time.Minute)
			var sum int64
			for _, r := range loops {
				n := r.calls.Load()
				sum += n
				if mean := c.want * 20; float64(n) < 0.9*mean || float64(n) > 1.1*mean {
					t.Errorf("%+v: a loop of three made %d calls, %.0f are its share", c.limits, n, mean)
				}
			}
			if got := float64(sum) / 60; got < 0.97*c.want || got > 1.03*c.want {
				t.Errorf("%+v: %.2f calls a second, want %.0f", c.limits, got, c.want)
			}
			if most := int64(c.limits.Concurrency); most > 0 && top.Load() > most {
				t.Errorf("%d in flight, %d are allowed", top.Load(), most)
			}
			// A raised limit takes effect at once, though all sleep.
			before := sum
			reg.Set(simKey, Limits{RequestsPerMinute: 60_000})
			time.Sleep(time.Second)
			sum = 0
			for _, r := range loops {
				sum += r.calls.Load()
			}
			if n := sum - before; n < 900 {
				t.Errorf("%+v: %d calls in the second after the limit was raised to 1,000 a second", c.limits, n)
			}
			close(stop)
			time.Sleep(time.Second)
		})
	}
}

// A share that the breaker holds is told when it closes.
func TestTheBreakerWakes(t *testing.T) {
	s := newStand(t, Limits{Concurrency: 100})
	late := s.take()
	s.fail(5, 5*time.Second, Unreachable)
	s.refused(ReasonBreaker, 30*time.Second)
	drain(s.share)
	late.Done(Outcome{Kind: Answered})
	if !drain(s.share) {
		t.Error("nobody was told that the breaker closed")
	}
}

// Ten thousand items that wait are nothing to the limiter: it knows shares only.
func TestWhatWaitsCostsNothing(t *testing.T) {
	s := newStand(t, Limits{Concurrency: 1})
	s.take()
	if n := testing.AllocsPerRun(10_000, func() { s.share.TryTake(1) }); n > 0 {
		t.Errorf("a refusal allocates %.1f times", n)
	}
	if got := len(s.l.hungry); got != 1 {
		t.Errorf("%d entries wait", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	reg := New(time.Now)
	reg.Set(simKey, Limits{Concurrency: 8})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s := reg.For(simKey).Join("run")
			defer s.Leave()
			for i := range 2_000 {
				p, ok := s.TryTake(10)
				switch {
				case !ok:
					s.Wait()
					s.Idle()
				case i%3 == 0:
					p.Cancel()
				default:
					p.Weigh(20)
					p.Quiet()
					p.Done(Outcome{Kind: Answered, Tokens: 15})
				}
				if i%500 == 0 {
					reg.Set(simKey, Limits{Concurrency: 4 + i%7})
					reg.States()
					reg.For(simKey).Broken()
				}
			}
		})
	}
	wg.Wait()
	if st := reg.For(simKey).State(); st.InFlight != 0 || st.Tokens != 0 || st.Shares != 0 || st.Waiting != 0 {
		t.Errorf("when all have left: %+v", st)
	}
}
