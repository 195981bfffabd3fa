package e2e

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

// reach is how long a change of a model's limits may need to be in force: none in the process that took
// it, and a look at the rows where another process did.
func (w *world) reach() time.Duration {
	const onItsWay = 150 * time.Millisecond // a call that left before is not there yet
	if w.database != "" {
		return time.Second + onItsWay
	}
	return onItsWay
}

// Two runs of two judges and sessions graded on demand share one model: it never sees more in flight than
// is set, also when that is changed meanwhile.
func TestOneLimiterForAll(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		w.model.SetLatency(150 * time.Millisecond)
		w.ok("import", w.sessions(200))
		for _, name := range []string{"j", "k"} {
			w.ok("judge", "apply", w.judge(name, "rubric: as "+name))
		}
		w.ok("judge", "apply", w.judge("single", "rubric: alone"))
		w.ok("models", "set", "j", "--concurrency", "8")
		c, _ := w.serve()
		w.ok("grade", "--judge", "j", "--per-stratum", "1000", "--concurrency", "60", "--detach")
		w.ok("grade", "--judge", "k", "--per-stratum", "1000", "--concurrency", "60", "--detach")
		eventually(t, 10*time.Second, "8 in flight", func() bool { return w.model.InFlight() == 8 })

		began := time.Now()
		w.ok("grade", "--judge", "single", "--session", "u7/s000007")
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("a session on demand waited %s behind two runs", took)
		}
		if n := w.model.MaxInFlight(); n != 8 {
			t.Errorf("%d in flight, 8 were allowed", n)
		}

		w.ok("models", "set", "j", "--concurrency", "3")
		lowered := time.Now().Add(w.reach())
		<-time.After(time.Until(lowered) + 500*time.Millisecond)
		w.ok("grade", "--judge", "single", "--session", "u8/s000008")
		raising := time.Now()
		key := must[api.ModelView](t)(c.Model(t.Context(), "default", assay.ModelKey{Endpoint: w.model.BaseURL, Model: "test-2026-01-01"}))
		put := api.ModelPut{ModelKey: key.ModelKey}
		put.Limits.Concurrency = 12
		must[api.ModelView](t)(c.PutModel(t.Context(), put))
		eventually(t, w.reach()+2*time.Second, "12 in flight", func() bool { return w.model.InFlight() == 12 })
		for _, r := range w.model.Records() {
			if r.Arrived.After(lowered) && r.Arrived.Before(raising) && r.InFlight > 3 {
				t.Errorf("a call arrived as the %dth in flight, %s after 3 were set", r.InFlight, r.Arrived.Sub(lowered))
			}
		}
		slowly(t, 30*time.Second, "both runs end", func() bool { return w.view("r1").State.Terminal() && w.view("r2").State.Terminal() })
		for _, run := range []string{"r1", "r2"} {
			if v := w.view(run); v.Counts.Graded != 200 || v.Spend.Attempts != 200 {
				t.Errorf("%s: %+v %+v", run, v.Counts, v.Spend)
			}
		}
		if n := w.model.MaxInFlight(); n > 12 {
			t.Errorf("%d in flight, 12 were allowed at most", n)
		}
	})
}

// After a 429 with Retry-After no run calls the model earlier than it says, each item that got one is
// graded all the same, and afterwards fewer calls are in flight.
func TestRetryAfterHoldsEveryRun(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		const asked = 2 * time.Second
		var first atomic.Int64 // when the first 429 was sent, in ns
		var limited atomic.Int64
		w.model.SetScript(func(r *llmtest.Request) llmtest.Step {
			now := time.Now().UnixNano()
			switch {
			case r.N >= 30 && first.CompareAndSwap(0, now), first.Load() > 0 && now < first.Load()+int64(asked):
				limited.Add(1)
				return llmtest.RateLimited(asked)
			}
			return passing(r).After(100 * time.Millisecond)
		})
		w.ok("import", w.sessions(60))
		w.serve()
		for _, name := range []string{"j", "k"} {
			w.ok("judge", "apply", w.judge(name, "rubric: as "+name))
			w.ok("grade", "--judge", name, "--concurrency", "20", "--detach")
		}
		slowly(t, 40*time.Second, "both runs end", func() bool { return w.view("r1").State.Terminal() && w.view("r2").State.Terminal() })
		told := time.Unix(0, first.Load())
		before, after := int64(0), int64(0)
		for _, r := range w.model.Records() {
			if r.Arrived.After(told.Add(150*time.Millisecond)) && r.Arrived.Before(told.Add(asked)) {
				t.Errorf("a call arrived %s after a 429 that asked for %s", r.Arrived.Sub(told), asked)
			}
			if r.Arrived.Before(told) {
				before = max(before, r.InFlight)
			} else if r.Arrived.After(told.Add(asked)) && r.Arrived.Before(told.Add(asked+time.Second)) {
				after = max(after, r.InFlight)
			}
		}
		if after >= before || limited.Load() == 0 {
			t.Errorf("%d calls got a 429; %d in flight before, %d after", limited.Load(), before, after)
		}
		var spend assay.Spend
		for _, run := range []string{"r1", "r2"} {
			v := w.view(run)
			spend = spend.Add(v.Spend.Spend)
			if v.State != assay.RunCompleted || v.Counts.Graded != 60 {
				t.Errorf("%s %s: %+v", run, v.State, v.Counts)
			}
		}
		if n := int64(w.model.Count()); spend.Attempts != n || n != 120+limited.Load() {
			t.Errorf("%d attempts, %d requests, %d of them 429s", spend.Attempts, n, limited.Load())
		}
	})
}

// A 429 uses up none of an item's attempts, however many it gets.
func TestManyLimitsForOneItem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	const limits = 5 // more than any class has attempts
	var mu sync.Mutex
	got := map[int]int{}
	w.model.SetScript(func(r *llmtest.Request) llmtest.Step {
		mu.Lock()
		defer mu.Unlock()
		n := ticketOf(r)
		if got[n]++; n == 1 && got[n] <= limits {
			return llmtest.RateLimited(0).With("Retry-After-Ms", "50")
		}
		return passing(r)
	})
	w.ok("import", w.sessions(3))
	w.ok("judge", "apply", w.judge("j"))
	w.ok("grade", "--judge", "j")
	if v := w.view("r1"); v.Counts.Graded != 3 || v.Spend.Attempts != 3+limits {
		t.Errorf("%+v %+v", v.Counts, v.Spend)
	}
}

// A provider that takes so many calls at a time and no more is found out: most calls are taken, and all
// items finish.
func TestTheWindowShrinksToWhatIsAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	const places = 4
	var flying, refused atomic.Int64
	w.model.SetScript(func(r *llmtest.Request) llmtest.Step {
		if flying.Add(1) > places {
			flying.Add(-1)
			refused.Add(1)
			return llmtest.RateLimited(0).With("Retry-After-Ms", "100")
		}
		time.AfterFunc(80*time.Millisecond, func() { flying.Add(-1) })
		return passing(r).After(80 * time.Millisecond)
	})
	w.ok("import", w.sessions(120))
	w.ok("judge", "apply", w.judge("j"))
	began := time.Now()
	w.ok("grade", "--judge", "j", "--concurrency", "40")
	took := time.Since(began)
	if v := w.view("r1"); v.Counts.Graded != 120 {
		t.Errorf("%+v", v.Counts)
	}
	t.Logf("%d of %d calls were refused, in %s", refused.Load(), w.model.Count(), took)
	if refused.Load() > 40 || took > 30*time.Second {
		t.Errorf("%d of %d calls were refused, in %s", refused.Load(), w.model.Count(), took)
	}
}
