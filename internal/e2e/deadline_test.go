package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

// With one call in flight at a time, a model that hangs, drips bytes, breaks off, or sends a page or a
// stream on the first call about a session holds its slot no longer than the deadline: all are graded.
func TestASlotIsFreeAtTheDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	const deadline = time.Second
	moods := []struct {
		step  llmtest.Step
		class assay.Class
		until bool // the deadline ends it
	}{
		{llmtest.Hang(), assay.ClassTimeout, true},
		{llmtest.HangBody(), assay.ClassTimeout, true},
		{passing(nil).Drip(50 * time.Millisecond), assay.ClassTimeout, true},
		{llmtest.CutBody(), assay.ClassNetwork, false},
		{llmtest.CutChunk(), assay.ClassNetwork, false},
		{llmtest.Half(), assay.ClassNetwork, false},
		{llmtest.CutStream(), assay.ClassNetwork, false},
		{llmtest.Stream(), assay.ClassMalformed, false},
		{llmtest.Page(200, "Sign in"), assay.ClassMalformed, false},
	}
	var mu sync.Mutex
	asked := map[int]int{}
	w.model.SetScript(func(r *llmtest.Request) llmtest.Step {
		mu.Lock()
		defer mu.Unlock()
		n := ticketOf(r)
		if asked[n]++; asked[n] == 1 {
			return moods[n].step
		}
		return passing(r)
	})
	w.ok("import", w.sessions(len(moods)))
	w.ok("judge", "apply", w.judge("j", "timeout: "+deadline.String()))
	w.ok("grade", "--judge", "j", "--concurrency", "1")
	if v := w.view("r1"); v.Counts.Graded != int64(len(moods)) || w.model.MaxInFlight() > 2 || w.model.Count() != 2*len(moods) {
		t.Errorf("%+v, %d in flight, %d requests", v.Counts, w.model.MaxInFlight(), w.model.Count())
	}
	eventually(t, 5*time.Second, "no call is left at the model", func() bool { return w.model.InFlight() == 0 })
	c, p := w.serve()
	for _, x := range w.calls(c, must[assay.RunID](t)(assay.ParseRunID("r1"))) {
		var n int
		if _, err := fmt.Sscanf(x.Item.SessionID, "s%d", &n); err != nil || len(x.Attempts) != 2 {
			t.Errorf("%s: %d attempts (%v)", x.Item.SessionID, len(x.Attempts), err)
			continue
		}
		a := x.Attempts[0]
		took := a.EndedAt.Sub(*a.CallAt) + time.Millisecond // the deadline's timer starts a moment before the call is stamped
		if a.Class != moods[n].class || moods[n].until != (took >= deadline) || took > deadline+time.Second {
			t.Errorf("fault %d: %s after %s: %s", n, a.Class, took, a.Error)
		}
	}
	p.kill()
}
