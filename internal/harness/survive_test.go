package harness

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/harness/shim"
	"assay/internal/process"
)

// The owner is killed while a harness runs; another goes on with it at once, to its true exit code.
func TestAKilledOwnerLosesNothing(t *testing.T) {
	w := newWorld(t, script("echo before; read x < gate; echo after; exit 3"))
	open := w.gate("gate")
	run := w.start()
	kill := w.owned()
	w.said(run.ID, "before\n")
	_, first := w.until(run.ID, func(r assay.Run, f assay.Harness) bool { return r.Phase == assay.PhaseExecuting && f.PID != 0 })
	kill()
	w.drive()
	w.until(run.ID, func(r assay.Run, _ assay.Harness) bool { return r.Epoch == 2 })
	open()
	got, facts := w.ended(run.ID, assay.RunFailed, assay.ReasonExitCode)
	if facts.Exit.Code != 3 || facts.PID != first.PID || w.log(run.ID) != "before\nafter\n" || got.Stalls != 0 || facts.Launch != 1 {
		t.Errorf("%+v %+v\n%s", got, facts, w.log(run.ID))
	}
}

// The harness ends while nobody is there.
func TestAHarnessThatEndedMeanwhile(t *testing.T) {
	w := newWorld(t, script("echo before; read x < gate; echo after; exit 3"))
	open := w.gate("gate")
	run := w.start()
	kill := w.owned()
	w.said(run.ID, "before\n")
	kill()
	open()
	dir := launchDir(w.dir, run.ID, 1)
	if !within(15*time.Second, func() bool { s, _ := shim.Look(dir); return s == shim.Finished }) {
		t.Fatal("it did not end")
	}
	w.drive()
	_, facts := w.ended(run.ID, assay.RunFailed, assay.ReasonExitCode)
	if facts.Exit.Code != 3 || w.log(run.ID) != "before\nafter\n" || facts.PID == 0 || facts.LaunchedAt == nil || facts.LogLines != 2 {
		t.Errorf("%+v\n%s", facts, w.log(run.ID))
	}
}

// Killed over and over, at any moment, a run is launched once and ends as it would have.
func TestOwnersThatAreKilledOneAfterTheOther(t *testing.T) {
	w := newWorld(t, script("echo $$ >> numbers; read x < gate; exit 3"))
	open := w.gate("gate")
	run := w.start()
	for i := range 8 {
		kill := w.owned()
		epoch := int64(i + 1)
		if !within(15*time.Second, func() bool { r, _ := w.get(run.ID); return r.Epoch >= epoch || r.State.Terminal() }) {
			t.Fatal("it was not taken up")
		}
		<-time.After(time.Duration(i*i) * time.Millisecond) // sooner and later after the takeover
		kill()
	}
	w.drive()
	open()
	got, _ := w.until(run.ID, func(r assay.Run, _ assay.Harness) bool { return r.State.Terminal() })
	launched := len(w.numbers("numbers"))
	// Killed between launch.json and the shim's start nothing was started, and the run is lost; else it ran.
	if launched > 1 || launched == 1 && got.Reason != assay.ReasonExitCode || launched == 0 && got.State != assay.RunStateLost {
		t.Errorf("launched %d times: %+v", launched, got)
	}
	w.start()
}

func TestAnOwnerThatStopsLeavesTheHarnessAlone(t *testing.T) {
	w := newWorld(t, script("echo before; read x < gate"))
	open := w.gate("gate")
	run := w.start()
	stop := w.drive()
	_, facts := w.until(run.ID, func(_ assay.Run, f assay.Harness) bool { return f.PID != 0 })
	stop()
	if got, _ := w.get(run.ID); got.State != assay.RunRunning || !alive(facts.PID) {
		t.Errorf("%+v, alive %v", got, alive(facts.PID))
	}
	w.drive()
	open()
	w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
}

func TestAnOrphanIsLostWithItsLog(t *testing.T) {
	def := script("echo before; echo $$ > numbers; read x < gate")
	def.OrphanGrace = assay.Seconds(300 * time.Millisecond)
	w := newWorld(t, def)
	w.gate("gate")
	run := w.start()
	kill := w.owned()
	w.said(run.ID, "before\n")
	kill()
	dir := launchDir(w.dir, run.ID, 1)
	if !within(15*time.Second, func() bool { s, _ := shim.Look(dir); return s == shim.Finished }) {
		t.Fatal("nobody came, and it was not ended")
	}
	w.drive()
	_, facts := w.ended(run.ID, assay.RunStateLost, assay.ReasonOrphaned)
	if !strings.HasPrefix(w.log(run.ID), "before\n") || facts.Exit.Cause != assay.ExitOrphaned || facts.LogBytes != int64(len(w.log(run.ID))) {
		t.Errorf("%+v\n%s", facts, w.log(run.ID))
	}
	for _, pid := range w.numbers("numbers") {
		if alive(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
	w.start() // startable again at once
}

// shimOf is the process number of a launch's shim.
func (w *world) shimOf(id assay.RunID, launch int) int {
	w.t.Helper()
	var b struct {
		Shim process.Identity `json:"shim"`
	}
	raw, err := os.ReadFile(filepath.Join(launchDir(w.dir, id, launch), "shim.json"))
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	if err != nil || b.Shim.PID == 0 {
		w.t.Fatalf("%v %s", err, raw)
	}
	return b.Shim.PID
}

func TestAKilledShimIsLostWithItsLog(t *testing.T) {
	for name, withOwner := range map[string]bool{"while it is watched": true, "while nobody is there": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, assay.SuiteDefinition{Command: []string{self(), "stubborn", "numbers"}})
			run := w.start()
			kill := w.owned()
			w.said(run.ID, "here\nhere\n")
			w.until(run.ID, func(r assay.Run, _ assay.Harness) bool { return r.Phase == assay.PhaseExecuting })
			if !withOwner {
				kill()
			}
			if err := syscall.Kill(w.shimOf(run.ID, 1), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if !withOwner {
				w.drive()
			}
			_, facts := w.ended(run.ID, assay.RunStateLost, assay.ReasonShimDied)
			if !strings.HasPrefix(w.log(run.ID), "here\nhere\n") || facts.Exit != nil || facts.LogLines < 2 {
				t.Errorf("%+v\n%s", facts, w.log(run.ID))
			}
			if len(w.numbers("numbers")) != 2 {
				t.Error("the tree did not grow")
			}
			for _, pid := range w.numbers("numbers") {
				if alive(pid) {
					t.Errorf("process %d lives", pid)
				}
			}
			w.start() // startable again at once
		})
	}
}

func TestACancelWhoseShimIsDead(t *testing.T) {
	def := script("echo before; read x < gate")
	def.LostRetries = 3
	w := newWorld(t, def)
	w.gate("gate")
	run := w.start()
	kill := w.owned()
	w.said(run.ID, "before\n")
	w.until(run.ID, func(r assay.Run, _ assay.Harness) bool { return r.Phase == assay.PhaseExecuting })
	kill()
	if err := syscall.Kill(w.shimOf(run.ID, 1), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Cancel(t.Context(), run.ID, false); err != nil {
		t.Fatal(err)
	}
	w.drive()
	if got, facts := w.ended(run.ID, assay.RunCancelled, assay.ReasonAsked); !strings.Contains(got.Sentence, "its shim died") || facts.Launch != 1 {
		t.Errorf("%+v %+v", got, facts)
	}
}

func TestALostRunIsStartedAgainWhileItMay(t *testing.T) {
	def := script(`echo "try $ASSAY_RUN"; read x < gate; echo end`)
	def.LostRetries = 1
	for name, shims := range map[string]int{"once": 1, "too often": 2} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, def)
			open := w.gate("gate")
			run := w.start()
			w.drive()
			for launch := 1; launch <= shims; launch++ {
				w.until(run.ID, func(_ assay.Run, f assay.Harness) bool { return f.Launch == launch && f.PID != 0 })
				if !within(15*time.Second, func() bool { return strings.Count(w.log(run.ID), "try") == launch }) {
					t.Fatal(w.log(run.ID))
				}
				if err := syscall.Kill(w.shimOf(run.ID, launch), syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
			if shims == 2 {
				got, facts := w.ended(run.ID, assay.RunStateLost, assay.ReasonShimDied)
				if facts.Launch != 2 {
					t.Errorf("%+v %+v", got, facts)
				}
				return
			}
			if !within(15*time.Second, func() bool { return strings.Count(w.log(run.ID), "try") == 2 }) {
				t.Fatal(w.log(run.ID))
			}
			open()
			got, facts := w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
			if facts.Launch != 2 || got.Epoch != 2 || !strings.Contains(w.log(run.ID), "launch 2") || !strings.HasSuffix(w.log(run.ID), "end\n") {
				t.Errorf("%+v %+v\n%s", got, facts, w.log(run.ID))
			}
		})
	}
}

// A stubborn tree, a server that is killed with -9, and a cancel to the next one.
func TestACancelAfterTheOwnerWasKilled(t *testing.T) {
	def := assay.SuiteDefinition{Command: []string{self(), "stubborn", "numbers"}, Grace: assay.Seconds(500 * time.Millisecond)}
	w := newWorld(t, def)
	run := w.start()
	kill := w.owned()
	w.said(run.ID, "here\nhere\n")
	kill()
	asked := time.Now()
	if _, err := w.engine.Cancel(t.Context(), run.ID, false); err != nil {
		t.Fatal(err)
	}
	w.drive()
	w.ended(run.ID, assay.RunCancelled, assay.ReasonAsked)
	if took := time.Since(asked); took > def.Grace.Duration()+2*time.Second {
		t.Errorf("it took %s", took)
	}
	for _, pid := range w.numbers("numbers") {
		if alive(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
}

func TestACancelThatWaitsForNothing(t *testing.T) {
	w := newWorld(t, assay.SuiteDefinition{Command: []string{self(), "stubborn", "numbers"}, Grace: assay.Seconds(time.Minute)})
	run := w.start()
	w.drive()
	w.said(run.ID, "here\nhere\n")
	if _, err := w.engine.Cancel(t.Context(), run.ID, false); err != nil {
		t.Fatal(err)
	}
	w.until(run.ID, func(r assay.Run, _ assay.Harness) bool { return r.Phase == assay.PhaseStopping })
	if _, err := w.engine.Cancel(t.Context(), run.ID, true); err != nil {
		t.Fatal(err)
	}
	w.ended(run.ID, assay.RunCancelled, assay.ReasonAsked)
}
