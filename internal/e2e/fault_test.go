package e2e

import (
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

// Each of these faults for 5 % of the sessions, always: every item ends in the right class and none
// as a verdict.
func TestEveryFaultEndsInItsClass(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		const items = 200
		faults := map[int]struct {
			step  llmtest.Step
			class assay.Class
		}{
			0: {llmtest.ServerError(), assay.ClassProviderError},
			1: {llmtest.Hang(), assay.ClassTimeout},
			2: {llmtest.Garbage(), assay.ClassMalformed},
			3: {llmtest.Empty(), assay.ClassMalformed},
			4: {llmtest.Refusal("I will not judge that."), assay.ClassRefused},
			5: {llmtest.Cut(), assay.ClassNetwork},
			6: {llmtest.Truncated(map[string]any{"ok": true}), assay.ClassTruncated},
			7: {llmtest.Filtered(), assay.ClassContentFiltered},
			8: {llmtest.ContextTooLong(), assay.ClassContextTooLong},
		}
		w.model.SetScript(func(r *llmtest.Request) llmtest.Step {
			if f, ok := faults[ticketOf(r)%20]; ok {
				return f.step
			}
			return passing(r)
		})
		w.ok("import", w.sessions(items))
		w.ok("judge", "apply", w.judge("j", "timeout: 300ms"))
		w.ok("grade", "--judge", "j", "--per-stratum", "1000", "--concurrency", "100")
		v := w.view("r1")
		adds(t, v.Counts)
		want := map[assay.Class]int64{}
		for _, f := range faults {
			want[f.class] += items / 20
		}
		for class, n := range want {
			if v.Counts.ByClass[class] != n {
				t.Errorf("%d items ended as %s, want %d", v.Counts.ByClass[class], class, n)
			}
		}
		if v.Counts.Graded != items-int64(len(faults))*items/20 {
			t.Errorf("%+v", v.Counts)
		}
		if n := strings.Count(w.ok("verdicts", "r1", "--json"), `"judge_version"`); int64(n) != v.Counts.Graded {
			t.Errorf("%d verdicts for %d graded items", n, v.Counts.Graded)
		}
	})
}

// An item that waits is listed with its cause and until when.
func TestWaitingItemsSayWhy(t *testing.T) {
	w := newWorld(t, "")
	w.model.SetScript(llmtest.Always(llmtest.RateLimited(10 * time.Minute)))
	w.model.SetLatency(500 * time.Millisecond) // all three leave before the first answer holds the model
	w.ok("import", w.sessions(3))
	w.ok("judge", "apply", w.judge("j"))
	grade := w.start("grade", "--judge", "j")
	eventually(t, 10*time.Second, "all wait", func() bool { return w.model.Count() == 3 && w.view("r1").Counts.Waiting == 3 })
	out := w.ok("runs", "errors", "r1", "--waiting")
	if strings.Count(out, "waits until") != 3 || strings.Count(out, string(assay.ClassRateLimited)) != 3 {
		t.Errorf("waiting items: %s", out)
	}
	w.ok("cancel", "r1")
	grade.wait(10 * time.Second)
	if out := w.ok("runs", "errors", "r1", "--waiting"); out != "" {
		t.Errorf("nothing waits in a cancelled run: %s", out)
	}
}

func TestQuotaPauses(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.model.SetScript(llmtest.Always(llmtest.Quota()))
		w.ok("import", w.sessions(100))
		w.ok("judge", "apply", w.judge("j"))
		grade := w.start("grade", "--judge", "j", "--concurrency", "7")
		eventually(t, 10*time.Second, "the run is accepted", func() bool { return strings.Contains(grade.err.String(), "r1") })
		eventually(t, 20*time.Second, "the run pauses", func() bool { return w.view("r1").State == assay.RunPaused })
		v := w.view("r1")
		if v.WakeAt == nil || time.Until(*v.WakeAt) < 50*time.Minute {
			t.Errorf("it wakes at %v", v.WakeAt)
		}
		if v.State != assay.RunPaused || v.Reason != assay.Reason(assay.ClassQuota) || v.Counts.Pending != 100 || w.model.Count() > 7 {
			t.Errorf("%s %s after %d calls: %+v", v.State, v.Reason, w.model.Count(), v.Counts)
		}
		if r := w.run("grade", "--judge", "j"); r.code != 5 || !strings.Contains(r.err, "r1") || !strings.Contains(r.err, "assay end r1") {
			t.Errorf("a second grade: exit %d: %s", r.code, r.err)
		}
		w.model.SetScript(passing)
		w.ok("resume", "r1", "--detach")
		if code := grade.wait(20 * time.Second); code != 0 {
			t.Errorf("grade ended with %d: %s", code, grade.err)
		}
		if v := w.view("r1"); v.State != assay.RunCompleted || v.Counts.Graded != 100 {
			t.Errorf("%s %+v", v.State, v.Counts)
		}
	})
}

// The limit holds at the provider, and after it was lowered no call starts until fewer are in flight.
func TestConcurrencyAtTheProvider(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.model.SetLatency(100 * time.Millisecond)
		w.ok("import", w.sessions(400))
		w.ok("judge", "apply", w.judge("j"))
		grade := w.start("grade", "--judge", "j", "--per-stratum", "1000", "--concurrency", "30")
		eventually(t, 10*time.Second, "30 in flight", func() bool { return w.model.InFlight() == 30 })
		w.ok("runs", "set", "r1", "--concurrency", "4")
		lowered := time.Now().Add(time.Second) // the driver reads its row at least this often
		grade.wait(30 * time.Second)
		if w.model.MaxInFlight() != 30 {
			t.Errorf("%d in flight, the limit was 30", w.model.MaxInFlight())
		}
		for _, r := range w.model.Records() {
			if r.Arrived.After(lowered) && r.InFlight > 4 {
				t.Errorf("a call started as the %dth in flight after the limit was lowered to 4", r.InFlight)
			}
		}
	})
}
