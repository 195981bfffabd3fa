package grading

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
	"assay/internal/store/sqlite"
)

// The limit holds, also after it was lowered: then no call starts until fewer than the new limit are
// in flight.
func TestConcurrencyLimit(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 200)
		step := make(chan struct{})
		var mu sync.Mutex
		var started []int64 // calls in flight at each start, itself included
		w.judge.script(func(ctx context.Context, q judge.Question, n int) judge.Reply {
			mu.Lock()
			started = append(started, w.judge.flying.Load())
			mu.Unlock()
			return held(step)(ctx, q, n)
		})
		w.drive()
		id := w.grade(engine.GradeRequest{Concurrency: ptr(20)}).ID
		w.eventually(func() bool { return w.judge.flying.Load() == 20 })
		if _, err := w.engine.SetConcurrency(t.Context(), id, 3); err != nil {
			t.Fatal(err)
		}
		w.eventually(func() bool { return w.run(id).Concurrency == 3 })
		<-time.After(2 * beatEvery) // the driver reads its row in this time; nothing tells from outside that it has
		mu.Lock()
		before := len(started)
		mu.Unlock()
		for range 30 {
			step <- struct{}{}
		}
		w.eventually(func() bool { mu.Lock(); defer mu.Unlock(); return len(started) >= before+12 })
		mu.Lock()
		for _, n := range started[before:] {
			if n > 3 {
				t.Errorf("a call started as the %dth in flight, the limit is 3", n)
			}
		}
		mu.Unlock()
		if w.judge.most.Load() > 20 {
			t.Errorf("%d calls were in flight, the limit was 20", w.judge.most.Load())
		}
		close(step)
		w.until(id, assay.RunCompleted)
	})
}

func TestCancelKeepsWhatIsInFlight(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 100)
		release := make(chan struct{})
		w.judge.script(held(release))
		w.drive()
		id := w.grade(engine.GradeRequest{Concurrency: ptr(10)}).ID
		w.eventually(func() bool { return w.judge.flying.Load() == 10 })
		run, err := w.engine.Cancel(t.Context(), id, false)
		if err != nil || !run.Cancelling() {
			t.Fatalf("cancel: %v, %+v", err, run)
		}
		asked := w.judge.calls.Load()
		<-time.After(engine.ConfirmFor)
		if c := w.counts(id); c.InFlight != 10 {
			t.Errorf("%+v: the calls in flight stay visible", c)
		}
		close(release)
		w.until(id, assay.RunCancelled)
		if c := w.counts(id); c.Graded != 10 || c.Cancelled != 90 || w.judge.calls.Load() != asked {
			t.Errorf("%+v, %d calls after the cancel", c, w.judge.calls.Load()-asked)
		}
		again, err := w.engine.Cancel(t.Context(), id, true)
		if err != nil || again.State != assay.RunCancelled || again.CancelNow {
			t.Errorf("cancel of a cancelled run changes it: %v %+v", err, again)
		}
	})
}

func TestCancelNowCutsCalls(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 20)
		w.judge.script(held(nil))
		w.drive()
		id := w.grade(engine.GradeRequest{Concurrency: ptr(5)}).ID
		w.eventually(func() bool { return w.judge.flying.Load() == 5 })
		if _, err := w.engine.Cancel(t.Context(), id, true); err != nil {
			t.Fatal(err)
		}
		w.until(id, assay.RunCancelled)
		if c := w.counts(id); c.Cancelled != 20 {
			t.Errorf("%+v", c)
		}
	})
}

// The last call finishes, and only then does the driver learn of the cancel.
func TestCancelBeatsCompletion(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 3)
		var once sync.Once
		var id assay.RunID
		got := make(chan struct{})
		w.judge.script(func(context.Context, judge.Question, int) judge.Reply {
			<-got
			once.Do(func() {
				if _, err := s.Runs().Ask(context.Background(), id, store.AskCancel, "", utcNow()); err != nil {
					t.Error(err)
				}
			})
			return passing()
		})
		w.drive()
		id = w.grade(engine.GradeRequest{}).ID
		w.eventually(func() bool { return w.judge.flying.Load() == 3 })
		close(got)
		w.until(id, assay.RunCancelled)
		if c := w.counts(id); c.Graded != 3 {
			t.Errorf("%+v: what finished is kept", c)
		}
	})
}

func TestCancelWithoutADriver(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 3)
		run := w.grade(engine.GradeRequest{})
		run, err := w.engine.Cancel(t.Context(), run.ID, false)
		if err != nil || run.State != assay.RunCancelled {
			t.Fatalf("%+v (%v)", run, err)
		}
		w.grade(engine.GradeRequest{}) // the key is free again
	})
}

func TestPauseResumeEnd(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 50)
		release := make(chan struct{}, 100)
		w.judge.script(held(release))
		w.drive()
		id := w.grade(engine.GradeRequest{Concurrency: ptr(5)}).ID
		w.eventually(func() bool { return w.judge.flying.Load() == 5 })
		if _, err := w.engine.Pause(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * beatEvery)
		for range 5 {
			release <- struct{}{}
		}
		w.until(id, assay.RunPaused)
		if c := w.counts(id); c.Graded != 5 || c.Pending != 45 {
			t.Errorf("paused with %+v", c)
		}
		if _, err := w.engine.Resume(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		w.eventually(func() bool { return w.judge.flying.Load() == 5 })
		if _, err := w.engine.End(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			release <- struct{}{}
		}
		run := w.until(id, assay.RunCompleted)
		if c := w.counts(id); c.Graded < 10 || c.Graded+c.Abandoned != 50 || c.Abandoned == 0 || !run.Partial {
			t.Errorf("ended with %+v, partial %v", c, run.Partial)
		}
		for _, f := range []func(context.Context, assay.RunID) (assay.Run, error){w.engine.Pause, w.engine.Resume, w.engine.End} {
			if _, err := f(t.Context(), id); assay.CodeOf(err) != assay.CodeRefused {
				t.Errorf("a completed run was changed: %v", err)
			}
		}
	})
}

// A graceful stop leaves the run queued, with everything in flight kept; the next owner goes on.
func TestStopAndGoOn(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 60)
		release := make(chan struct{}, 100)
		w.judge.script(func(ctx context.Context, q judge.Question, n int) judge.Reply {
			if w.judge.calls.Load() > 20 {
				return held(release)(ctx, q, n)
			}
			return passing()
		})
		stop := w.drive()
		id := w.grade(engine.GradeRequest{Concurrency: ptr(4)}).ID
		w.eventually(func() bool { return w.judge.calls.Load() == 24 })
		stopped := make(chan struct{})
		go func() { defer close(stopped); stop() }()
		<-time.After(50 * time.Millisecond) // the driver has noticed the stop; nothing tells that from outside
		for range 4 {
			release <- struct{}{}
		}
		<-stopped
		run := w.run(id)
		if c := w.counts(id); run.State != assay.RunQueued || run.Reason != assay.ReasonStopped || c.InFlight != 0 {
			t.Errorf("%s %s %+v", run.State, run.Reason, c)
		}
		w.judge.script(nil)
		w.drive()
		run = w.until(id, assay.RunCompleted)
		spend, err := s.Items().Spend(t.Context(), id)
		if err != nil || spend.Attempts != 60 || w.judge.calls.Load() != 60 || run.Stalls != 0 {
			t.Errorf("%d attempts, %d calls, want 60 each (%v)", spend.Attempts, w.judge.calls.Load(), err)
		}
	})
}

// A stop that comes before the first call is no death: a command that owns for a moment only must not
// bring a waiting run closer to crash_loop.
func TestStopBeforeTheFirstCall(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 3)
		w.apply("k", "v2")
		run := w.grade(engine.GradeRequest{Judges: []string{"j", "k"}})
		for range assay.MaxStalls + 1 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			g := New(Options{Store: s, Now: utcNow, Build: func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) {
				cancel() // between one judge and the next
				return w.judge, nil
			}})
			var err error
			if run, err = s.Runs().TakeUp(t.Context(), run.ID, run.Epoch, run.State == assay.RunRunning, utcNow()); err != nil {
				t.Fatal(err)
			}
			if err := g.Drive(ctx, run); err != nil {
				t.Errorf("drive: %v", err)
			}
			if run = w.run(run.ID); run.State != assay.RunQueued || run.Reason != assay.ReasonStopped || run.Stalls != 0 {
				t.Fatalf("%s %s, %d stalls", run.State, run.Reason, run.Stalls)
			}
		}
		w.drive()
		w.until(run.ID, assay.RunCompleted)
	})
}

// A driver whose run was taken up while its calls were in flight writes no state and no verdict; what
// it paid for is kept as late.
func TestLostDriverWritesLateOnly(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 10)
		release := make(chan struct{})
		w.judge.script(held(release))
		run := w.grade(engine.GradeRequest{Concurrency: ptr(4)})
		run, err := s.Runs().TakeUp(t.Context(), run.ID, run.Epoch, false, utcNow())
		if err != nil {
			t.Fatal(err)
		}
		lost := make(chan error, 1)
		go func() { lost <- w.grader.Drive(context.Background(), run) }()
		w.eventually(func() bool { return w.judge.flying.Load() == 4 })
		next, err := s.Runs().TakeUp(t.Context(), run.ID, run.Epoch, true, utcNow())
		if err != nil || next.Epoch != run.Epoch+1 {
			t.Fatalf("takeover: %v %+v", err, next)
		}
		close(release)
		if err := <-lost; !errors.Is(err, assay.ErrLost) {
			t.Fatalf("the old driver returned %v", err)
		}
		if c := w.counts(run.ID); c.Graded != 0 || c.Pending != 10 {
			t.Errorf("the old driver changed items: %+v", c)
		}
		spend, err := s.Items().Spend(t.Context(), run.ID)
		if err != nil || spend.Late != 4 || spend.Attempts != 4 || spend.Unknown != 0 {
			t.Errorf("spend %+v (%v), want 4 late attempts", spend, err)
		}
		w.judge.script(nil)
		if err := w.grader.Drive(t.Context(), next); err != nil {
			t.Fatal(err)
		}
		if c := w.counts(run.ID); c.Graded != 10 || w.run(run.ID).State != assay.RunCompleted {
			t.Errorf("the new driver: %+v", c)
		}
	})
}

// Hundred starts at once: one run, and 99 conflicts that name it and say what to do.
func TestSimultaneousStarts(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 3)
		var mu sync.Mutex
		var made []assay.RunID
		var named []string
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				run, _, err := w.engine.Grade(context.Background(), w.project, engine.GradeRequest{Judges: []string{"j"}}, nil)
				mu.Lock()
				defer mu.Unlock()
				var e *assay.Error
				switch {
				case err == nil:
					made = append(made, run.ID)
				case errors.As(err, &e) && e.Code == assay.CodeConflict && e.Hint != "":
					named = append(named, e.Details["run"])
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(made) != 1 || len(named) != 99 || slices.ContainsFunc(named, func(n string) bool { return n != made[0].String() }) {
			t.Errorf("made %v, %d conflicts naming %v", made, len(named), named)
		}
	})
}

// Two equal on-demand requests cause one call and get the same verdict; a third one reuses it.
func TestSingleJoinsAndReuses(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 3)
		release := make(chan struct{})
		w.judge.script(held(release))
		w.drive()
		busy := w.grade(engine.GradeRequest{Concurrency: ptr(1)}) // a grade run is active meanwhile
		w.eventually(func() bool { return w.judge.flying.Load() == 1 })
		q := engine.GradeRequest{Judges: []string{"j"}, Session: "u2/s00002"}
		one, two := w.grade(q), w.grade(q)
		if one.ID != two.ID || one.Kind != assay.RunSingle {
			t.Fatalf("two requests made %s and %s", one.ID, two.ID)
		}
		w.eventually(func() bool { return w.judge.flying.Load() == 2 })
		close(release)
		w.until(one.ID, assay.RunCompleted)
		w.until(busy.ID, assay.RunCompleted)
		calls := w.judge.calls.Load()
		three := w.until(w.grade(q).ID, assay.RunCompleted)
		if c := w.counts(three.ID); c.Reused != 1 || w.judge.calls.Load() != calls {
			t.Errorf("third request: %+v, %d more calls", c, w.judge.calls.Load()-calls)
		}
	})
}

// A process that is told to stop gives calls in flight their grace; one that hangs is cut then, and
// its item goes back.
func TestAHangingCallIsCutAfterTheGrace(t *testing.T) {
	t.Parallel() // it waits for the grace
	s, err := sqlite.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := newWorld(t, s, 5)
	w.judge.script(held(nil))
	stop := w.drive()
	id := w.grade(engine.GradeRequest{Concurrency: ptr(2)}).ID
	w.eventually(func() bool { return w.judge.flying.Load() == 2 })
	began := time.Now()
	stop()
	if took := time.Since(began); took < engine.StopGrace-time.Second || took > engine.StopGrace+5*time.Second {
		t.Errorf("it stopped after %s, the grace is %s", took, engine.StopGrace)
	}
	run := w.run(id)
	if c := w.counts(id); run.State != assay.RunQueued || run.Reason != assay.ReasonStopped || c.Pending != 5 || c.InFlight != 0 {
		t.Errorf("%s %s %+v", run.State, run.Reason, c)
	}
}
