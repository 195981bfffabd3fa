package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

// realFile is a file of the public data that lies beside the repository. CI has it.
func realFile(t *testing.T, path string) string {
	t.Helper()
	file := filepath.Join("..", "..", "..", "shared", "data", path)
	if _, err := os.Stat(file); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("the public data is not there: %v", err)
		}
		t.Skipf("the public data is not there: %v", err)
	}
	return file
}

// The main job on real sessions: 100 sessions of tau-bench with 100 labels, 43 of them pass, graded
// with a rules judge and, through kill -9, cancel and retry, with a model.
func TestTauBench(t *testing.T) {
	file := realFile(t, "tau-bench/historical_trajectories/gpt-4o-airline.trials-0-1.json")
	onEach(t, func(t *testing.T, w *world) {
		if out := w.ok("import", file); !strings.Contains(out, "100 new") || !strings.Contains(out, "100 labels") {
			t.Errorf("import: %s", out)
		}
		if out := w.ok("import", file); !strings.Contains(out, "0 new") || !strings.Contains(out, "100 unchanged") {
			t.Errorf("the same file again: %s", out)
		}
		if out := w.labels(t); !strings.Contains(out, `"n":43`) || !strings.Contains(out, `"n":57`) {
			t.Errorf("labels: %s", out)
		}
		if out := w.ok("plan", "--judge", "resolved"); !strings.Contains(out, "100") {
			t.Errorf("plan: %s", out)
		}
		w.ok("grade", "--judge", "resolved")
		if v := w.view("r1"); v.State != assay.RunCompleted || v.Counts.Graded != 100 {
			t.Errorf("rules: %s %+v", v.State, v.Counts)
		}

		w.model.SetScript(llmtest.ByTranscript(func(transcript string) map[string]any {
			return map[string]any{"ok": !strings.Contains(transcript, "transfer_to_human_agents")}
		}))
		w.model.SetLatency(50 * time.Millisecond)
		w.ok("judge", "apply", w.judge("model"))
		w.ok("grade", "--judge", "model", "--detach", "--concurrency", "5")
		killed := w.start("watch", "r2")
		eventually(t, 20*time.Second, "some are graded", func() bool { return w.model.Count() >= 20 })
		killed.kill()
		watch := w.start("watch", "r2")
		eventually(t, 20*time.Second, "the next owner goes on", func() bool { return w.model.Count() >= 40 })
		w.ok("cancel", "r2")
		watch.wait(20 * time.Second)
		cancelled := w.view("r2")
		if cancelled.State != assay.RunCancelled || cancelled.Counts.Graded == 0 || cancelled.Counts.Cancelled == 0 {
			t.Errorf("cancelled: %s %+v", cancelled.State, cancelled.Counts)
		}
		w.ok("retry", "r2")
		if v := w.view("r3"); v.State != assay.RunCompleted || v.Counts.Graded != cancelled.Counts.Cancelled {
			t.Errorf("retry: %s %+v", v.State, v.Counts)
		}
		report := w.ok("report", "r3")
		for _, want := range []string{"window", "coverage", "100"} {
			if !strings.Contains(report, want) {
				t.Errorf("the report does not say %q:\n%s", want, report)
			}
		}
		w.ok("doctor") // it fails when a standing check finds anything
	})
}

// labels asks a server for the tally of labels.
func (w *world) labels(t *testing.T) string {
	t.Helper()
	address := filepath.Join(t.TempDir(), "address")
	p := w.start("serve", "--listen", "127.0.0.1:0", "--address-file", address)
	defer p.kill()
	var url []byte
	eventually(t, 10*time.Second, "the server answers", func() bool {
		url, _ = os.ReadFile(address) // not there yet
		return len(url) > 0
	})
	resp, err := http.Get(strings.TrimSpace(string(url)) + "/api/v1/projects/default/labels/tally")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("labels: %s %v: %s", resp.Status, err, body)
	}
	return string(body)
}
