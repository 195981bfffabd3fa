package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

// Cancel from a second terminal: no call starts later than a second after its answer, calls in flight
// are kept, and the run ends cancelled. Also while an import is writing.
func TestCancelFromASecondTerminal(t *testing.T) {
	for _, importing := range []bool{false, true} {
		t.Run(fmt.Sprintf("importing=%v", importing), func(t *testing.T) {
			onEach(t, func(t *testing.T, w *world) {
				w.model.SetLatency(400 * time.Millisecond)
				w.ok("import", w.sessions(1000))
				w.ok("judge", "apply", w.judge("j"))
				grade := w.start("grade", "--judge", "j", "--per-stratum", "1000", "--concurrency", "20")
				eventually(t, 10*time.Second, "20 calls in flight", func() bool { return w.model.InFlight() == 20 })
				var writing *process
				if importing {
					writing = w.importInBackground(t)
				}
				began := time.Now()
				out := w.ok("cancel", "r1")
				answered := time.Now()
				if took := answered.Sub(began); took > 2*time.Second {
					t.Errorf("cancel took %s", took)
				}
				if !strings.Contains(out, "cancel") {
					t.Errorf("cancel says %q", out)
				}
				if writing != nil { // an owner whose command is done waits for what it still serves
					eventually(t, 20*time.Second, "the run is cancelled", func() bool { return w.view("r1").State.Terminal() })
					writing.kill()
				}
				if code := grade.wait(20 * time.Second); code != 1 {
					t.Errorf("grade ended with %d:\n%s", code, grade.err)
				}
				for _, r := range w.model.Records() {
					if r.Arrived.After(answered.Add(time.Second)) {
						t.Errorf("a call started %s after the cancel was answered", r.Arrived.Sub(answered))
					}
				}
				v := w.view("r1")
				adds(t, v.Counts)
				if v.State != assay.RunCancelled || v.Counts.Graded != int64(w.model.Count()) || v.Counts.Pending != 0 || v.Spend.Attempts != int64(w.model.Count()) {
					t.Errorf("%s, %d calls, %+v, %+v", v.State, w.model.Count(), v.Counts, v.Spend)
				}
				if out := w.ok("cancel", "r1", "--json"); !strings.Contains(out, `"cancelled"`) {
					t.Errorf("cancel of a cancelled run: %s", out)
				}
			})
		})
	}
}

// importInBackground imports 100,000 sessions from another terminal, and returns when it is writing.
func (w *world) importInBackground(t *testing.T) *process {
	t.Helper()
	var b bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&b, `{"format":"assay.session/1","user_id":"v%d","session_id":"x%06d","turns":[{"started_at":"2026-04-%02dT10:00:00Z","messages":[{"role":"user","content":"%s"}]}]}`+"\n",
			i%500, i, 1+i%20, strings.Repeat("words that fill the page ", 20))
	}
	file := filepath.Join(t.TempDir(), "many.jsonl")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p := w.start("import", file)
	eventually(t, 20*time.Second, "the import is writing", func() bool {
		select {
		case <-p.done:
			t.Fatalf("the import was over before the cancel:\n%s", p.err)
		default:
		}
		return strings.Contains(w.ok("sessions", "list", "--limit", "1", "--filter", "user.startsWith('v')"), "x0")
	})
	return p
}

// The last call finishes and only then the driver learns of the cancel: cancelled all the same.
func TestCancelBeatsTheLastCall(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.ok("import", w.sessions(3))
		w.ok("judge", "apply", w.judge("j"))
		w.model.SetLatency(time.Second)
		grade := w.start("grade", "--judge", "j", "--concurrency", "3")
		eventually(t, 10*time.Second, "all calls in flight", func() bool { return w.model.InFlight() == 3 })
		w.ok("cancel", "r1")
		grade.wait(10 * time.Second)
		if v := w.view("r1"); v.State != assay.RunCancelled || v.Counts.Graded != 3 {
			t.Errorf("%s %+v", v.State, v.Counts)
		}
		w.ok("grade", "--judge", "j") // the key is free; all three verdicts are reused
		if v := w.view("r2"); v.Counts.Reused != 3 {
			t.Errorf("%+v", v.Counts)
		}
	})
}

func TestCancelNowCutsHangingCalls(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.model.SetScript(llmtest.Always(llmtest.Hang()))
		w.ok("import", w.sessions(20))
		w.ok("judge", "apply", w.judge("j"))
		grade := w.start("grade", "--judge", "j", "--concurrency", "5")
		eventually(t, 10*time.Second, "calls hang", func() bool { return w.model.InFlight() == 5 })
		w.ok("cancel", "r1", "--now")
		grade.wait(5 * time.Second)
		if v := w.view("r1"); v.State != assay.RunCancelled || v.Counts.Cancelled != 20 {
			t.Errorf("%s %+v", v.State, v.Counts)
		}
	})
}
