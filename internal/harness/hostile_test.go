package harness

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// A shim that is told to end, as everything is when the machine goes down, did not wait for a server.
func TestAShimThatIsToldToEndSaysSo(t *testing.T) {
	w := newWorld(t, script("echo before; read x < gate"))
	w.gate("gate")
	run := w.start()
	w.drive()
	w.said(run.ID, "before\n")
	w.until(run.ID, func(_ assay.Run, f assay.Harness) bool { return f.PID != 0 })
	if err := syscall.Kill(w.shimOf(run.ID, 1), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	got, _ := w.ended(run.ID, assay.RunStateLost, assay.ReasonOrphaned)
	if strings.Contains(got.Sentence, "no server") || !strings.Contains(got.Sentence, "was told to end") {
		t.Errorf("%s", got.Sentence)
	}
}

// Two processes of one machine share a database and have a data folder each. The first is killed in the moment
// between its launch and its storing that: the second must not launch the run beside the harness that lives.
func TestALaunchInAnotherFolderIsNotRepeated(t *testing.T) {
	def := script("echo $$ >> numbers; read x < gate")
	def.OrphanGrace = assay.Seconds(100 * time.Millisecond)
	w := newWorld(t, def)
	w.gate("gate")
	run := w.start()
	taken, err := w.store.Runs().TakeUp(t.Context(), run.ID, 0, false, now())
	if err != nil {
		t.Fatal(err)
	}
	facts := assay.Harness{Launch: 1, Where: "here"}
	if _, err := w.store.Harnesses().Put(t.Context(), store.Fence{Run: run.ID, Epoch: taken.Epoch}, facts, false, now()); err != nil {
		t.Fatal(err)
	}
	if taken, err = w.store.Runs().TakeUp(t.Context(), run.ID, taken.Epoch, false, now()); err != nil {
		t.Fatal(err)
	}
	d := New(Options{Store: w.store, Dir: t.TempDir(), Self: self(), LookupEnv: os.LookupEnv, Now: now, Where: "here"})
	d.limits.ends, d.limits.notice = 200*time.Millisecond, 0
	if err := d.Drive(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	w.ended(run.ID, assay.RunStateLost, assay.ReasonOrphaned)
	if n := w.numbers("numbers"); len(n) != 0 {
		t.Errorf("launched: %v", n)
	}
}

// In its own folder a process knows that nothing was launched yet.
func TestALaunchThatDidNotHappenIsMadeUpFor(t *testing.T) {
	w := newWorld(t, script("echo $$ >> numbers"))
	run := w.start()
	taken, err := w.store.Runs().TakeUp(t.Context(), run.ID, 0, false, now())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(launchDir(w.dir, run.ID, 1), 0o700); err != nil {
		t.Fatal(err)
	}
	facts := assay.Harness{Launch: 1, Where: "here"}
	if _, err := w.store.Harnesses().Put(t.Context(), store.Fence{Run: run.ID, Epoch: taken.Epoch}, facts, false, now()); err != nil {
		t.Fatal(err)
	}
	w.drive()
	w.ended(run.ID, assay.RunCompleted, assay.ReasonDone)
	if n := w.numbers("numbers"); len(n) != 1 {
		t.Errorf("launched: %v", n)
	}
}

// Whoever launched died before the shim could say that its harness runs: nobody is sent to look for what
// killed a shim.
func TestALaunchThatWasCutShortSaysSo(t *testing.T) {
	w := newWorld(t, script("echo never"))
	run := w.start()
	dir := launchDir(w.dir, run.ID, 1)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"lock": "", "launch.json": `{"mark":"ASSAY_LAUNCH=r9-1-x"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.drive()
	if got, _ := w.ended(run.ID, assay.RunStateLost, assay.ReasonShimDied); !strings.Contains(got.Sentence, "cut short") {
		t.Errorf("%s", got.Sentence)
	}
	if log := w.log(run.ID); log != "" {
		t.Error(log)
	}
}

// What makes the run's folder unusable fails the launch at once: nothing can live there yet.
func TestAFolderThatCannotBeMadeFailsTheLaunch(t *testing.T) {
	w := newWorld(t, script("echo never"))
	run := w.start()
	folder := RunDir(w.dir, run.ID)
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.drive()
	if got, _ := w.ended(run.ID, assay.RunFailed, assay.ReasonLaunchFailed); !strings.Contains(got.Sentence, folder) {
		t.Errorf("%s", got.Sentence)
	}
	w.start() // startable again at once
}
