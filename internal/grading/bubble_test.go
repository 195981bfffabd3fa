package grading

import (
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/engine/local"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

// bubbleEnv names the test that a process of its own is to run.
const bubbleEnv = "GRADING_TEST_BUBBLE"

// inBubble runs f in a simulated clock (testing/synctest) that stands at 1 June 2026, with a store. It
// does so in a process of its own: what libraries keep in pools must not cross a bubble's border. Other
// tests go on meanwhile: its clock is not theirs.
func inBubble(t *testing.T, f func(t *testing.T, s store.Store)) {
	if os.Getenv(bubbleEnv) != t.Name() {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
		cmd.Env = append(os.Environ(), bubbleEnv+"="+t.Name())
		out, err := cmd.CombinedOutput()
		if t.Log(string(out)); err != nil {
			t.Fatal(err)
		}
		return
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)))
		s, err := sqlite.Open(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		f(t, s)
	})
}

// driveForHours and withinHours are drive and eventuallyWithin for simulated hours: they look once a second.
func (w *world) driveForHours() (stop func()) {
	return w.dispatch(local.New(local.Options{
		Store: w.store, Now: utcNow, Poll: time.Second,
		Drivers: map[assay.RunKind]engine.Driver{assay.RunGrade: w.grader, assay.RunSingle: w.grader},
	}))
}

func (w *world) withinHours(d time.Duration, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(d); !ok(); time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			w.t.Fatalf("did not happen within %s", d)
		}
	}
}
