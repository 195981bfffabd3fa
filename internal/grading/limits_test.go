package grading

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/limit"
	"assay/internal/store"
)

// counting is a provider that allows so many requests a second, and says 429 to all others.
type counting struct {
	mu      sync.Mutex
	rate    float64 // a second
	tokens  float64
	at      time.Time
	latency time.Duration
	taken   []time.Time // when requests were accepted
	refused int
}

func (c *counting) answer(ctx context.Context, _ int) (judge.Reply, assay.Usage) {
	now := time.Now()
	c.mu.Lock()
	c.tokens = min(c.tokens+now.Sub(c.at).Seconds()*c.rate, max(1, c.rate/10))
	c.at = now
	if c.tokens < 1 {
		wait := time.Duration((1 - c.tokens) / c.rate * float64(time.Second))
		c.refused++
		c.mu.Unlock()
		reply := failing(assay.ClassRateLimited)
		reply.HTTPStatus, reply.RetryAfter = 429, wait
		return reply, assay.Usage{}
	}
	c.tokens--
	c.taken = append(c.taken, now)
	c.mu.Unlock()
	select {
	case <-ctx.Done():
		return failing(assay.ClassAborted), assay.Usage{}
	case <-time.After(c.latency):
	}
	return passing(), assay.Usage{}
}

func (c *counting) setRate(r float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rate = r
}

// between counts the requests that were accepted in [from, to) after began.
func (c *counting) between(began time.Time, from, to time.Duration) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.taken {
		if d := t.Sub(began); d >= from && d < to {
			n++
		}
	}
	return n
}

// simulated runs f in a simulated clock with a world whose judges ask one counting provider.
func simulated(t *testing.T, sessions int, c *counting, f func(t *testing.T, w *world, p *provider)) {
	inBubble(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, sessions)
		p := &provider{key: assay.ModelKey{Endpoint: "http://model", Model: "m"}, input: 100, output: 10}
		p.answer = c.answer
		c.at = time.Now()
		w.serve(p)
		stop := w.drive()
		defer stop()
		f(t, w, p)
	})
}

// The whole engine against a provider of L requests a second: at least 90 % of it within 30 s, within
// 60 s again after it was halved and restored, and never more in flight than was set.
func TestTheProvidersLimitIsFoundAndFoundAgain(t *testing.T) {
	c := &counting{rate: 20, latency: 300 * time.Millisecond}
	simulated(t, 4000, c, func(t *testing.T, w *world, p *provider) {
		w.grader.o.Limits.Set(limit.Key(p.key), limit.Limits{Concurrency: 15})
		began := time.Now()
		id := w.grade(engine.GradeRequest{PerStratum: ptr(4000), Concurrency: ptr(200)}).ID
		time.Sleep(30 * time.Second)
		if n := c.between(began, 20*time.Second, 30*time.Second); n < 180 {
			t.Errorf("20 to 30 s after the start: %d requests in 10 s, want at least 180 of 200", n)
		}
		c.setRate(10)
		time.Sleep(40 * time.Second)
		if n := c.between(began, 60*time.Second, 70*time.Second); n < 85 {
			t.Errorf("while halved: %d requests in 10 s of 100", n)
		}
		c.setRate(20)
		time.Sleep(60 * time.Second)
		if n := c.between(began, 120*time.Second, 130*time.Second); n < 180 {
			t.Errorf("60 s after it was restored: %d requests in 10 s, want at least 180 of 200", n)
		}
		if p.most.Load() > 15 {
			t.Errorf("%d in flight, 15 were allowed", p.most.Load())
		}
		if c.refused > len(c.taken)/10 {
			t.Errorf("%d refused beside %d accepted", c.refused, len(c.taken))
		}
		if _, err := w.engine.Cancel(t.Context(), id, true); err != nil {
			t.Fatal(err)
		}
		w.until(id, assay.RunCancelled)
	})
}

// Two runs share a model's limit within 10 %, whatever their own concurrency.
func TestTwoRunsShareALimit(t *testing.T) {
	c := &counting{rate: 1000, latency: 200 * time.Millisecond}
	simulated(t, 3000, c, func(t *testing.T, w *world, p *provider) {
		w.grader.o.Limits.Set(limit.Key(p.key), limit.Limits{RequestsPerMinute: 40 * 60})
		w.apply("k", "v2")
		a := w.grade(engine.GradeRequest{Judges: []string{"j"}, PerStratum: ptr(3000), Concurrency: ptr(300)}).ID
		b := w.grade(engine.GradeRequest{Judges: []string{"k"}, PerStratum: ptr(3000), Concurrency: ptr(12)}).ID
		time.Sleep(40 * time.Second)
		na, nb := w.counts(a).Graded, w.counts(b).Graded
		if all := na + nb; all < 40*36 || na*100 > nb*121 || nb*100 > na*121 {
			t.Errorf("after 40 s at 40/s: %d and %d", na, nb)
		}
		for _, id := range []assay.RunID{a, b} {
			if _, err := w.engine.Cancel(t.Context(), id, true); err != nil {
				t.Fatal(err)
			}
			w.until(id, assay.RunCancelled)
		}
	})
}

// After one 429 that asks for hours nothing else leaves: the run pauses until then, and the rest of the
// sample was not asked.
func TestOneRetryAfterHoldsTheModel(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 40)
		p := &provider{key: assay.ModelKey{Endpoint: "http://model", Model: "m"}, input: 100, output: 10}
		p.answer = func(context.Context, int) (judge.Reply, assay.Usage) {
			reply := failing(assay.ClassRateLimited)
			reply.HTTPStatus, reply.RetryAfter = 429, 3*time.Hour
			return reply, assay.Usage{}
		}
		w.serve(p)
		w.drive()
		run := w.until(w.grade(engine.GradeRequest{Concurrency: ptr(4)}).ID, assay.RunPaused)
		if _, calls := p.bill(); run.Reason != assay.ReasonRateLimited || run.WakeAt == nil || time.Until(*run.WakeAt) < 2*time.Hour || calls > 4 {
			t.Errorf("%s until %v after %d calls: %s", run.Reason, run.WakeAt, calls, run.Sentence)
		}
		// A person who resumes wants it tried now.
		p.mu.Lock()
		p.answer = nil
		p.mu.Unlock()
		if _, err := w.engine.Resume(t.Context(), run.ID); err != nil {
			t.Fatal(err)
		}
		w.until(run.ID, assay.RunCompleted)
	})
}

// A dead endpoint pauses the run with the reason; at each wake-up one call asks whether it is back.
func TestADeadEndpointIsProbedByOneCall(t *testing.T) {
	inBubble(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 60)
		p := &provider{key: assay.ModelKey{Endpoint: "http://model", Model: "m"}, input: 100, output: 10}
		var mu sync.Mutex
		down := true
		p.answer = func(context.Context, int) (judge.Reply, assay.Usage) {
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if down {
				return failing(assay.ClassUnreachable), assay.Usage{}
			}
			return passing(), assay.Usage{}
		}
		w.serve(p)
		stop := w.drive()
		defer stop()
		run := w.until(w.grade(engine.GradeRequest{Concurrency: ptr(30)}).ID, assay.RunPaused)
		_, before := p.bill()
		if run.Reason != assay.Reason(assay.ClassUnreachable) || run.WakeAt == nil {
			t.Fatalf("%s until %v: %s", run.Reason, run.WakeAt, run.Sentence)
		}
		time.Sleep(10 * time.Minute)
		if _, now := p.bill(); now == before || now-before > 12 {
			t.Errorf("%d calls to a dead endpoint in 10 minutes", now-before)
		}
		mu.Lock()
		down = false
		mu.Unlock()
		w.eventuallyWithin(10*time.Minute, func() bool { return w.run(run.ID).State == assay.RunCompleted })
		if c := w.counts(run.ID); c.Graded != 60 {
			t.Errorf("%+v", c)
		}
	})
}

// A pause for a model's limits says who set them, and where a person did what to type.
func TestAPauseSaysWhoseLimitItIs(t *testing.T) {
	for name, c := range map[string]struct {
		set  limit.Limits
		told limit.Told
		want []string
		not  string
	}{
		"a person's": {set: limit.Limits{RequestsPerMinute: 0.01}, want: []string{
			"0.01 requests per minute", "`assay models set http://model m --requests-per-minute`", "`assay resume r1`"}},
		"a person's of tokens": {set: limit.Limits{TokensPerMinute: 1}, want: []string{
			"1 tokens per minute", "`assay models set http://model m --tokens-per-minute`", "`assay resume r1`"}},
		"the provider's, below a person's": {
			set: limit.Limits{RequestsPerMinute: 100}, told: limit.Told{LimitRequests: 1, Window: 2 * time.Hour},
			want: []string{"m at http://model", "`assay resume r1`"}, not: "models set"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s store.Store) {
				w := newWorld(t, s, 40)
				p := tenth()
				answer := p.answer
				p.answer = func(ctx context.Context, nth int) (judge.Reply, assay.Usage) {
					r, used := answer(ctx, nth)
					r.Told = c.told
					return r, used
				}
				w.serve(p)
				w.grader.o.Limits.Set(limit.Key(p.key), c.set)
				stop := w.drive()
				defer stop()
				run := w.until(w.grade(engine.GradeRequest{Concurrency: ptr(1)}).ID, assay.RunPaused)
				for _, want := range c.want {
					if !strings.Contains(run.Sentence, want) {
						t.Errorf("no %q in %q", want, run.Sentence)
					}
				}
				if c.not != "" && strings.Contains(run.Sentence, c.not) {
					t.Errorf("%q in %q", c.not, run.Sentence)
				}
			})
		})
	}
}

// What waits for a model costs no goroutine.
func TestWaitingItemsCostNoGoroutine(t *testing.T) {
	c := &counting{rate: 1e9, latency: time.Second}
	simulated(t, 10_000, c, func(t *testing.T, w *world, p *provider) {
		w.grader.o.Limits.Set(limit.Key(p.key), limit.Limits{Concurrency: 5})
		before := runtime.NumGoroutine()
		id := w.grade(engine.GradeRequest{PerStratum: ptr(10_000), Concurrency: ptr(assay.MaxConcurrency)}).ID
		time.Sleep(20 * time.Second)
		if now := runtime.NumGoroutine(); now > before+40 {
			t.Errorf("%d goroutines, %d before", now, before)
		}
		if _, err := w.engine.Cancel(t.Context(), id, true); err != nil {
			t.Fatal(err)
		}
		w.until(id, assay.RunCancelled)
	})
}
