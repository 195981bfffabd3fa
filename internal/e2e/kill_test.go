package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

// kill -9 of the real program at 20 random moments of a run of 2,000 items with 50 in flight. Every
// item ends once, nothing is paid twice but what was in flight at a kill, and no innocent item is
// quarantined.
func TestKillNine(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const items, flying, kills = 2000, 50, 20
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 1))
		w.model.SetLatency(50 * time.Millisecond)
		w.ok("import", w.sessions(items))
		w.ok("judge", "apply", w.judge("j"))
		w.ok("grade", "--judge", "j", "--per-stratum", "1000", "--concurrency", "50", "--detach")
		var died []death
		var slowest time.Duration
		for i := range kills {
			before := w.model.Count()
			began := time.Now()
			p := w.start("watch", "r1")
			eventually(t, w.takeover(), "the next owner goes on", func() bool { return w.model.Count() > before })
			slowest = max(slowest, time.Since(began))
			moment := time.Duration(random.Int64N(int64(100 * time.Millisecond)))
			if i%4 == 3 { // long enough for an answer: five deaths without one are a crash loop, which has its own test
				moment += 100 * time.Millisecond
			}
			<-time.After(moment)
			d := death{from: time.Now()}
			p.kill()
			d.to = time.Now()
			died = append(died, d)
		}
		t.Logf("slowest start to first call after a kill: %s", slowest)
		if code := w.start("watch", "r1").wait(time.Minute); code != 0 {
			t.Fatalf("the last watch ended with %d", code)
		}
		v := w.view("r1")
		adds(t, v.Counts)
		if v.State != assay.RunCompleted || v.Counts.Graded != items || v.Epoch != kills+1 {
			t.Errorf("%s, epoch %d, %+v", v.State, v.Epoch, v.Counts)
		}
		if w.model.MaxInFlight() > flying {
			t.Errorf("%d in flight at the model", w.model.MaxInFlight())
		}
		repeated := onlyCutCallsRepeat(t, w.model.Records(), died)
		checkTotals(t, w, v.Spend.Spend, repeated)
		w.ok("doctor") // it fails when a standing check finds anything
	})
}

// death is when a process died: after from, before to.
type death struct{ from, to time.Time }

// onlyCutCallsRepeat checks that each call but an item's last was in flight when a process died, and
// returns how many there were.
func onlyCutCallsRepeat(t *testing.T, records []llmtest.Record, died []death) (repeated int) {
	t.Helper()
	// An answer that had left the model when the process died may not have been stored yet: the answer
	// travels, is parsed and waits for the commit that makes it durable.
	const onItsWay = 250 * time.Millisecond
	last := map[string]int{}
	for i, r := range records {
		last[r.Token] = i
	}
	for i, r := range records {
		if last[r.Token] == i {
			continue
		}
		repeated++
		cut := false
		for _, d := range died {
			cut = cut || (r.Arrived.Before(d.to) && (r.Finished.IsZero() || r.Finished.Add(onItsWay).After(d.from)))
		}
		if !cut {
			t.Errorf("a call from %s to %s was repeated although no process died meanwhile", r.Arrived.Format(time.StampMilli), r.Finished.Format(time.StampMilli))
		}
	}
	return repeated
}

// checkTotals compares the run's totals with what the model saw: one attempt per request, and the cut
// ones among the unknown. An attempt that was opened right before a kill may never have left.
func checkTotals(t *testing.T, w *world, s assay.Spend, repeated int) {
	t.Helper()
	requests := int64(w.model.Count())
	if s.Attempts < requests || s.Attempts-s.Unknown > requests || s.Unknown < int64(repeated) {
		t.Errorf("%d attempts (%d unknown) for %d requests of which %d repeat another", s.Attempts, s.Unknown, requests, repeated)
	}
}

// An item whose judging kills the process ends quarantined; all others are graded.
func TestCulpritIsQuarantined(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const items, culprit = 60, 17
		struck := make(chan struct{}, 100)
		w.model.SetScript(func(r *llmtest.Request) llmtest.Step {
			if ticketOf(r) == culprit {
				struck <- struct{}{}
				return llmtest.Hang()
			}
			return passing(r)
		})
		w.ok("import", w.sessions(items))
		w.ok("judge", "apply", w.judge("j"))
		w.ok("grade", "--judge", "j", "--concurrency", "8", "--detach")
		for deaths := 0; ; deaths++ {
			if deaths > 10 {
				t.Fatal("the run never ends")
			}
			p := w.start("watch", "r1")
			select {
			case <-struck:
				p.kill()
				continue
			case <-p.done:
			case <-time.After(time.Minute):
				t.Fatal("the run hangs")
			}
			break
		}
		v := w.view("r1")
		adds(t, v.Counts)
		if v.State != assay.RunCompleted || v.Counts.Graded != items-1 || v.Counts.ByClass[assay.ClassJudgeError] != 1 {
			t.Errorf("%s %s: %+v", v.State, v.Sentence, v.Counts)
		}
	})
}
