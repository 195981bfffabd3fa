package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store/postgres/pgtest"
)

// Commands that only look never start a call, also when a run waits and no owner lives.
func TestLookingStartsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.ok("import", w.sessions(20))
		w.ok("judge", "apply", w.judge("j"))
		w.ok("grade", "--judge", "j", "--detach")
		for _, args := range [][]string{
			{"runs"}, {"runs", "show", "r1"}, {"report", "r1"}, {"sessions", "list"}, {"verdicts", "r1"}, {"judge", "list"},
			{"imports", "list"}, {"set", "list"}, {"project", "list"}, {"doctor"}, {"plan", "--judge", "j"},
		} {
			r := w.run(args...)
			if r.code != 0 {
				t.Errorf("assay %v: exit %d: %s", args, r.code, r.err)
			}
			if !strings.Contains(r.err, "r1") {
				t.Errorf("assay %v does not say that r1 waits: %q", args, r.err)
			}
		}
		if w.model.Count() != 0 || w.view("r1").State != assay.RunQueued {
			t.Errorf("%d calls, run %s", w.model.Count(), w.view("r1").State)
		}
		w.ok("watch", "r1")
		if v := w.view("r1"); v.State != assay.RunCompleted || w.model.Count() != 20 {
			t.Errorf("%s after %d calls", v.State, w.model.Count())
		}
	})
}

// A process that lost its run while it was stopped is woken: its late batch changes no state and no
// adopted verdict, and what it paid for is kept as late.
func TestStoppedOwnerWakesUp(t *testing.T) {
	url := pgtest.Database(t)
	w := newWorld(t, pgtest.As(url, "first"))
	second := &world{t: t, dir: t.TempDir(), database: pgtest.As(url, "second"), model: w.model}
	w.model.SetLatency(300 * time.Millisecond)
	w.ok("import", w.sessions(200))
	w.ok("judge", "apply", w.judge("j"))
	w.ok("grade", "--judge", "j", "--concurrency", "10", "--detach")
	old := w.start("serve", "--listen", "127.0.0.1:0")
	eventually(t, 10*time.Second, "the first owner grades", func() bool { return w.model.Count() >= 30 })
	heir := second.start("serve", "--listen", "127.0.0.1:0")
	eventually(t, 5*time.Second, "10 in flight", func() bool { return w.model.InFlight() == 10 })
	if err := old.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "its calls are answered", func() bool { return w.model.InFlight() == 0 })
	asked := w.model.Count()
	stopped := time.Now()
	if n := pgtest.Cut(t, w.database); n == 0 {
		t.Fatal("no connection was cut")
	}
	eventually(t, second.takeover(), "the heir goes on", func() bool { return w.model.Count() > asked })
	t.Logf("the heir's first call came %s after the stop", time.Since(stopped))
	if err := old.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, "the run ends", func() bool { return second.view("r1").State.Terminal() })
	eventually(t, 15*time.Second, "late attempts arrive", func() bool { return second.view("r1").Spend.Late > 0 })
	v := second.view("r1")
	adds(t, v.Counts)
	if v.State != assay.RunCompleted || v.Counts.Graded != 200 || v.Epoch != 2 {
		t.Errorf("%s at epoch %d: %+v", v.State, v.Epoch, v.Counts)
	}
	if v.Spend.Attempts != int64(w.model.Count()) || v.Spend.Unknown != 0 {
		t.Errorf("%+v for %d requests", v.Spend, w.model.Count())
	}
	_ = heir
}

// One session on demand while a grade run is active in another process: one call, however many ask.
func TestOnDemandBesideARun(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.ok("import", w.sessions(50))
		w.ok("judge", "apply", w.judge("j"))
		w.ok("judge", "apply", w.judge("k", "temperature: 0"))
		w.model.SetLatency(500 * time.Millisecond)
		grade := w.start("grade", "--judge", "j", "--concurrency", "1")
		eventually(t, 10*time.Second, "the run grades", func() bool { return w.model.Count() > 0 })
		one := w.start("grade", "--session", "u7/s000007", "--judge", "k")
		two := w.start("grade", "--session", "u7/s000007", "--judge", "k")
		if one.wait(10*time.Second) != 0 || two.wait(10*time.Second) != 0 {
			t.Errorf("on demand:\n%s\n%s", one.err, two.err)
		}
		if out := w.ok("grade", "--session", "u7/s000007", "--judge", "k"); !strings.Contains(out, "reused") {
			t.Errorf("a third request does not say that its verdict is reused: %s", out)
		}
		grade.kill()
		single := map[string]int{}
		for _, r := range w.model.Records() {
			single[r.Token]++
		}
		for token, n := range single {
			if n > 1 {
				t.Errorf("question %s was asked %d times", token, n)
			}
		}
	})
}
