package harness

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

// launchedBy makes what was launched look as if another version of Assay had launched it.
func (w *world) launchedBy(id assay.RunID, protocol int) {
	w.t.Helper()
	path := filepath.Join(launchDir(w.dir, id, 1), "launch.json")
	raw, err := os.ReadFile(path)
	var all map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err == nil {
		all["protocol"] = protocol
		raw, err = json.Marshal(all)
	}
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// A server that finds a shim of another version says so, leaves its harness alone and keeps it from being an
// orphan; the fitting version carries it on; a cancel ends it all the same; and how one ended that no fitting
// version came for is not known.
func TestAShimOfAnotherVersion(t *testing.T) {
	for name, c := range map[string]struct {
		then   func(w *world, run assay.Run, open, stop func())
		state  assay.RunState
		reason assay.Reason
		says   string
	}{
		"the fitting version comes back": {func(w *world, run assay.Run, open, stop func()) {
			stop()
			w.launchedBy(run.ID, 1)
			open()
			w.drive()
		}, assay.RunCompleted, assay.ReasonDone, "exit code 0"},
		"a cancel": {func(w *world, run assay.Run, _, _ func()) {
			if _, err := w.engine.Cancel(w.t.Context(), run.ID, false); err != nil {
				w.t.Fatal(err)
			}
		}, assay.RunCancelled, assay.ReasonAsked, "what it left was ended"},
		"it ends": {func(_ *world, _ assay.Run, open, _ func()) { open() },
			assay.RunStateLost, assay.ReasonShimDied, "how cannot be read: it was launched by another version of Assay"},
	} {
		t.Run(name, func(t *testing.T) {
			def := script(`echo here; read x < gate`)
			def.OrphanGrace = assay.Seconds(2 * time.Second)
			w := newWorld(t, def)
			open := w.gate("gate")
			run := w.start()
			kill := w.owned()
			w.said(run.ID, "here")
			w.until(run.ID, func(_ assay.Run, f assay.Harness) bool { return f.PID != 0 })
			kill()
			w.launchedBy(run.ID, 99)
			stop := w.drive()
			told, facts := w.until(run.ID, func(r assay.Run, _ assay.Harness) bool { return strings.Contains(r.Sentence, "protocol 99") })
			if told.State != assay.RunRunning || !strings.Contains(told.Sentence, "that version of Assay carries the run on") {
				t.Errorf("%+v", told)
			}
			begin := *told.HeartbeatAt
			w.until(run.ID, func(r assay.Run, _ assay.Harness) bool { return r.HeartbeatAt.Sub(begin) > 2500*time.Millisecond })
			if !alive(facts.PID) {
				t.Error("the harness was taken for an orphan")
			}
			c.then(w, told, open, stop)
			got, facts := w.ended(run.ID, c.state, c.reason)
			if !strings.Contains(got.Sentence, c.says) || strings.HasPrefix(got.Sentence, string(got.State)) && got.State == assay.RunStateLost {
				t.Errorf("%q", got.Sentence)
			}
			if !within(time.Second, func() bool { return !alive(facts.PID) }) {
				t.Error("the harness lives")
			}
		})
	}
}
