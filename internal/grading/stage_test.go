package grading

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
)

// A run whose sessions wait for memory that another run's long calls hold is cancelled, paused and ended
// all the same.
func TestWhatWaitsForMemoryCanBeCancelled(t *testing.T) {
	for name, metered := range map[string]bool{"metered": true, "other": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s store.Store) {
				w := newWorld(t, s, 3)
				o := w.grader.o
				o.Memory = 1 // one session at a time
				w.grader = New(o)
				long, other := modelNamed("long"), modelNamed("other")
				long.answer = slowly(time.Hour, assay.Usage{})
				judges := map[string]judge.Judge{"long": long, "other": other}
				if !metered {
					judges["other"] = &scripted{}
				}
				w.asked(judges)
				stop := w.driveForHours()
				defer stop()
				a := w.grade(engine.GradeRequest{Judges: []string{"long"}}).ID
				w.eventually(func() bool { return long.flying.Load() == 1 })
				b := w.grade(engine.GradeRequest{Judges: []string{"other"}}).ID
				time.Sleep(5 * time.Second)
				if _, err := w.engine.Pause(t.Context(), b); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second)
				if run := w.run(b); run.State != assay.RunPaused {
					t.Errorf("%s two seconds after a pause was asked for", run.State)
				}
				if _, err := w.engine.Resume(t.Context(), b); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
				if _, err := w.engine.Cancel(t.Context(), b, false); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second)
				if run := w.run(b); run.State != assay.RunCancelled {
					t.Errorf("%s two seconds after a cancel", run.State)
				}
				if _, err := w.engine.Cancel(t.Context(), a, true); err != nil {
					t.Fatal(err)
				}
				w.until(a, assay.RunCancelled)
				if !w.grader.memory.TryAcquire(1) {
					t.Error("memory is held")
				}
			})
		})
	}
}

// turning is a judge of turns: each call answers one of three.
type turning struct {
	*provider
	unreadable func(asked int) bool
	asked      atomic.Int64
	shown      atomic.Int64 // unreadable answers
}

func (j *turning) Draft(q judge.Question) judge.Draft {
	d := j.provider.Draft(q)
	left := 2 - len(q.Answered)
	if q.Unreadable != nil {
		j.shown.Add(1)
	}
	d.Left = left
	d.Send = func(ctx context.Context) judge.Reply {
		r := j.send(ctx)
		if j.unreadable(int(j.asked.Add(1))) {
			return judge.Reply{Class: assay.ClassMalformed, Error: "gibberish", CallAt: r.CallAt, EndedAt: r.EndedAt}
		}
		r.Answers = []assay.Answer{{Unit: "turn " + string(rune('1'+len(q.Answered)))}}
		if left == 0 {
			r.Answers = append(r.Answers, assay.Answer{Pass: ptr(true)})
		}
		r.Left = left
		return r
	}
	return d
}

// Each question about units may be answered unreadably once, also when another driver went on in between.
func TestEachUnitsQuestionIsRepeatedOnce(t *testing.T) {
	w, f := onFaulty(t, 1)
	j := &turning{provider: modelNamed("m"), unreadable: func(asked int) bool { return asked == 1 || asked == 3 }}
	v := assay.JudgeVersion{ID: "turns", Kind: assay.JudgeLLM, Unit: assay.UnitTurn, Canonical: []byte(`{}`), CreatedAt: utcNow()}
	if _, err := w.store.Judges().Apply(t.Context(), w.project.ID, assay.Judge{Name: "turns", Version: v.ID}, v, utcNow()); err != nil {
		t.Fatal(err)
	}
	w.grader.o.Build = func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) { return j, nil }
	var down atomic.Bool
	var commits atomic.Int64
	f.Before = func(call string) error { // the driver of the first two calls dies
		if call == "Items.Commit" && j.asked.Load() == 2 && commits.Add(1) == 2 {
			down.Store(true)
			return assay.ErrLost
		}
		return nil
	}
	id := w.grade(engine.GradeRequest{Judges: []string{"turns"}}).ID
	stop := w.drive()
	w.eventually(down.Load)
	stop()
	w.drive()
	w.until(id, assay.RunCompleted)
	if n, shown := j.asked.Load(), j.shown.Load(); n != 5 && n != 6 || shown != 2 {
		t.Errorf("%d calls, an unreadable answer was shown %d times", n, shown)
	}
}

// A person who takes a pause back just as it happens is not left with a paused run.
func TestAPauseThatWasTakenBackDoesNotHappen(t *testing.T) {
	w, f := onFaulty(t, 30)
	release := make(chan struct{}, 30)
	w.judge.script(held(release))
	var id assay.RunID
	var armed, resumed atomic.Bool
	f.Before = func(call string) error {
		if call == "Runs.Change" && armed.Load() && resumed.CompareAndSwap(false, true) {
			if _, err := w.engine.Resume(context.Background(), id); err != nil {
				t.Error(err)
			}
		}
		return nil
	}
	w.drive()
	id = w.grade(engine.GradeRequest{Concurrency: ptr(1)}).ID
	w.eventually(func() bool { return w.judge.flying.Load() == 1 })
	if _, err := w.engine.Pause(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	for range 30 {
		release <- struct{}{}
	}
	w.until(id, assay.RunCompleted)
}
