package grading

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
)

// crashing is a grader whose process can be killed: after kill none of its writes arrive and its
// calls are cut, which is all that the database sees of a death.
type crashing struct {
	*Grader
	store *dying
}

func (w *world) crashing() *crashing {
	d := &dying{Store: w.store}
	g := w.newGrader()
	g.o.Store = d
	g.o.Gate = nil
	return &crashing{Grader: New(g.o), store: d}
}

func (c *crashing) kill() { c.store.dead.Store(true) }

var errDead = errors.New("the process is dead")

type dying struct {
	store.Store
	dead atomic.Bool
}

func (d *dying) Runs() store.Runs   { return dyingRuns{d.Store.Runs(), d} }
func (d *dying) Items() store.Items { return dyingItems{d.Store.Items(), d} }

type dyingRuns struct {
	store.Runs
	d *dying
}

// Beat of a dead process is answered as lost, so that its goroutines end soon.
func (r dyingRuns) Beat(ctx context.Context, f store.Fence, now time.Time) (assay.RunControl, error) {
	if r.d.dead.Load() {
		return assay.RunControl{}, assay.ErrLost
	}
	return r.Runs.Beat(ctx, f, now)
}

func (r dyingRuns) Change(ctx context.Context, id assay.RunID, c store.Change) (assay.Run, error) {
	if r.d.dead.Load() {
		return assay.Run{}, assay.ErrLost
	}
	return r.Runs.Change(ctx, id, c)
}

type dyingItems struct {
	store.Items
	d *dying
}

func (i dyingItems) Commit(ctx context.Context, f store.Fence, b store.Batch) (assay.RunControl, error) {
	if i.d.dead.Load() {
		return assay.RunControl{}, assay.ErrLost
	}
	return i.Items.Commit(ctx, f, b)
}

func (i dyingItems) Late(ctx context.Context, attempts []assay.Attempt) error {
	if i.d.dead.Load() {
		return errDead
	}
	return i.Items.Late(ctx, attempts)
}

// Items in flight at two crashes run alone at the end; the one that crashes alone three times ends
// as judge_error, the innocent are graded.
func TestQuarantine(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 12)
		id := w.grade(engine.GradeRequest{Concurrency: ptr(4)}).ID
		var culprit string
		crash := make(chan struct{}, 1)
		var striking atomic.Bool // the culprit runs: who runs beside it is in flight when the process dies
		var death atomic.Pointer[chan struct{}]
		w.judge.script(func(_ context.Context, q judge.Question, _ int) judge.Reply {
			w.judge.mu.Lock()
			if culprit == "" {
				culprit = q.Session.SessionID
			}
			bad := culprit == q.Session.SessionID
			w.judge.mu.Unlock()
			if bad {
				striking.Store(true)
				crash <- struct{}{}
			}
			if bad || striking.Load() {
				<-*death.Load() // nobody hears of this call again
				return failing(assay.ClassAborted)
			}
			return passing()
		})
		dead := 0
		for run := w.run(id); !run.State.Terminal(); dead++ {
			if dead > 8 {
				t.Fatal("the run does not end")
			}
			taken, err := s.Runs().TakeUp(t.Context(), id, run.Epoch, dead > 0, utcNow())
			if err != nil {
				t.Fatal(err)
			}
			driver := w.crashing()
			died := make(chan struct{})
			death.Store(&died)
			done := make(chan error, 1)
			go func() { done <- driver.Drive(context.Background(), taken) }()
			select {
			case <-crash:
				w.eventually(func() bool { return w.counts(id).InFlight > 0 })
				driver.kill()
				close(died)
				<-done
				striking.Store(false)
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
			}
			run = w.run(id)
		}
		items, _, err := s.Items().List(t.Context(), id, store.ItemQuery{}, store.Page{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			if bad := it.SessionID == culprit; bad != (it.State == assay.ItemErrored) || bad != (it.Class == assay.ClassJudgeError) {
				t.Errorf("%s (culprit %v) ended %s %s after %d crashes, %d alone", it.SessionID, bad, it.State, it.Class, it.Crashes, it.Alone)
			}
		}
		if dead != 6 { // two crashes among others, three alone, and the last takeover ends it
			t.Errorf("%d takeovers, want 6", dead)
		}
	})
}

func TestCrashLoopFails(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 3)
		run := w.grade(engine.GradeRequest{})
		for range assay.MaxStalls + 1 {
			var err error
			if run, err = s.Runs().TakeUp(t.Context(), run.ID, run.Epoch, run.State == assay.RunRunning, utcNow()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.grader.Drive(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		if run = w.run(run.ID); run.State != assay.RunFailed || run.Reason != assay.ReasonCrashLoop {
			t.Errorf("%s %s", run.State, run.Reason)
		}
	})
}
