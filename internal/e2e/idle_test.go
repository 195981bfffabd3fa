package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

// A harness that works hard and says nothing for its idle alarm is alive: its heartbeat goes on, and everybody
// sees since when it is silent, until it says something again.
func TestABusyAndSilentHarnessIsSeen(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		dir := w.suite("quiet", "echo begin\nwhile [ ! -e go ]; do :; done\necho again\nwhile [ ! -e end ]; do :; done\n", "    idle_alarm: 1s\n")
		let := func(name string) {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, _ := w.serve()
		id := run(t, c, "quiet")
		slowly(t, 20*time.Second, "the alarm is shown", func() bool { v := w.view(id.String()); return v.Harness != nil && v.Harness.Idle })
		v := w.view(id.String())
		if v.State != assay.RunRunning || v.Phase != assay.PhaseExecuting || gone(v.Harness.PID) || v.HeartbeatAt == nil || v.Harness.ActiveAt == nil ||
			v.HeartbeatAt.Sub(*v.Harness.ActiveAt) < time.Second {
			t.Errorf("%s %s: %+v, heartbeat %v", v.State, v.Phase, v.Harness, v.HeartbeatAt)
		}
		slowly(t, 20*time.Second, "the heartbeat goes on", func() bool { now := w.view(id.String()); return now.HeartbeatAt.After(*v.HeartbeatAt) })
		if later := w.view(id.String()); later.ProgressAt == nil || v.ProgressAt == nil || !later.ProgressAt.Equal(*v.ProgressAt) || !later.Harness.Idle {
			t.Errorf("it said nothing, and its progress went from %v to %v", v.ProgressAt, later.ProgressAt)
		}
		if list := w.ok("suite", "list"); !strings.Contains(list, "running, silent since") {
			t.Errorf("suite list\n%s", list)
		}
		let("go")
		slowly(t, 20*time.Second, "the alarm is over", func() bool { return !w.view(id.String()).Harness.Idle })
		if list := w.ok("suite", "list"); !strings.Contains(list, "executing") || strings.Contains(list, "silent") {
			t.Errorf("suite list\n%s", list)
		}
		let("end")
		if v := ended(t, w, id, 20*time.Second); v.State != assay.RunCompleted || v.Harness.Idle {
			t.Errorf("%s: %s %+v", v.State, v.Sentence, v.Harness)
		}
	})
}
