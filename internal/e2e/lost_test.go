package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

// family is a harness of three that ignore TERM, each with its number in a file: itself, a child, and a
// grandchild in a session of its own. It waits before it says "after".
const family = `trap '' TERM
setsid sh -c 'trap "" TERM; echo $$ > grandchild; while :; do sleep 1; done' &
sh -c 'trap "" TERM; echo $$ > child; while :; do sleep 1; done' &
echo $$ > self
while [ ! -s grandchild ] || [ ! -s child ]; do sleep 0.01; done
echo before
read x < go
echo after
`

// relatives are the processes of a family that has said "before".
func relatives(t *testing.T, dir string) (pids []int) {
	t.Helper()
	for _, who := range []string{"self", "child", "grandchild"} {
		pids = append(pids, pidIn(t, filepath.Join(dir, who)))
	}
	return pids
}

func allGone(pids []int) bool {
	for _, pid := range pids {
		if !gone(pid) {
			return false
		}
	}
	return true
}

// shimOf is the process number of the shim of a run's first launch.
func (w *world) shimOf(id assay.RunID) int {
	w.t.Helper()
	var born struct {
		Shim struct {
			PID int `json:"pid"`
		} `json:"shim"`
	}
	raw, err := os.ReadFile(filepath.Join(w.dir, "runs", id.String(), "a1", "shim.json"))
	if err == nil {
		err = json.Unmarshal(raw, &born)
	}
	if err != nil || born.Shim.PID == 0 {
		w.t.Fatalf("%s: %v", raw, err)
	}
	return born.Shim.PID
}

// The shim is killed, while a server is there or while none is: all of its harness is ended, and the run is
// lost with its log so far.
func TestAKilledShimLosesTheRun(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		for _, watched := range []bool{true, false} {
			dir := w.suite("doomed", family, "")
			fifo(t, dir)
			c, server := w.serve()
			id := run(t, c, "doomed")
			slowly(t, 20*time.Second, "the harness is there", func() bool { return w.run("logs", id.String()).out == "before\n" })
			slowly(t, 20*time.Second, "it is watched", func() bool { v := w.view(id.String()); return v.Harness != nil && v.Harness.PID != 0 })
			pids := relatives(t, dir)
			if !watched {
				server.kill()
			}
			if err := syscall.Kill(w.shimOf(id), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if !watched {
				c, server = w.serve()
			}
			v := ended(t, w, id, 30*time.Second)
			if v.State != assay.RunStateLost || v.Reason != assay.ReasonShimDied || v.Harness.Exit != nil || v.Harness.LogLines != 1 {
				t.Errorf("watched %t: %s (%s): %s, %+v", watched, v.State, v.Reason, v.Sentence, v.Harness)
			}
			if log := w.ok("logs", id.String()); log != "before\n" {
				t.Errorf("log %q", log)
			}
			if !allGone(pids) {
				t.Errorf("watched %t: some of %v live", watched, pids)
			}
			again := run(t, c, "doomed") // at once
			must[api.RunView](t)(c.Cancel(t.Context(), again, true))
			ended(t, w, again, 30*time.Second)
			w.ok("doctor")
			server.kill()
		}
	})
}

// Nobody comes for the orphan grace: the shim ends the harness by itself, and the next server learns that the
// run is lost.
func TestAnOrphanIsEndedAndLost(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		dir := w.suite("orphan", family, "    orphan_grace: 1s\n    grace: 500ms\n")
		fifo(t, dir)
		c, server := w.serve()
		id := run(t, c, "orphan")
		slowly(t, 20*time.Second, "the harness is there", func() bool { return w.run("logs", id.String()).out == "before\n" })
		pids := relatives(t, dir)
		server.kill()
		exit := filepath.Join(w.dir, "runs", id.String(), "a1", "exit.json")
		slowly(t, 20*time.Second, "it is ended without a server", func() bool { _, err := os.Stat(exit); return err == nil })
		if !allGone(pids) {
			t.Errorf("some of %v live", pids)
		}
		c, _ = w.serve()
		v := ended(t, w, id, 30*time.Second)
		if v.State != assay.RunStateLost || v.Reason != assay.ReasonOrphaned || !strings.Contains(v.Sentence, "no server came for 1s") {
			t.Errorf("%s (%s): %s", v.State, v.Reason, v.Sentence)
		}
		if x := v.Harness.Exit; x == nil || x.Cause != assay.ExitOrphaned || !x.Killed || v.Harness.PID != pids[0] {
			t.Errorf("%+v", v.Harness)
		}
		if log := w.ok("logs", id.String()); !strings.HasPrefix(log, "before\n") || strings.Contains(log, "\nafter\n") || int64(len(log)) != v.Harness.LogBytes {
			t.Errorf("log %q, %d bytes", log, v.Harness.LogBytes)
		}
		again := run(t, c, "orphan") // at once
		must[api.RunView](t)(c.Cancel(t.Context(), again, true))
		ended(t, w, again, 30*time.Second)
		w.ok("doctor")
	})
}
