package grading

import (
	"context"
	"errors"
	"sync"
	"testing"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
	"assay/internal/store/storetest"
)

// garbled is a judge whose answers cannot be read. leave is called during the first.
func (w *world) garbled(leave func()) (shown func() []*judge.Reply) {
	var mu sync.Mutex
	var unreadable []*judge.Reply
	w.judge.script(func(_ context.Context, q judge.Question, nth int) judge.Reply {
		mu.Lock()
		unreadable = append(unreadable, q.Unreadable)
		mu.Unlock()
		if nth == 1 {
			leave()
		}
		return judge.Reply{Class: assay.ClassMalformed, Raw: "gibberish", Error: "the answer is no JSON", HTTPStatus: 200}
	})
	return func() []*judge.Reply {
		mu.Lock()
		defer mu.Unlock()
		return unreadable
	}
}

// askedOnceMore holds that the second and last question showed the first answer.
func (w *world) askedOnceMore(id assay.RunID, shown []*judge.Reply) {
	w.t.Helper()
	if len(shown) != 2 || shown[0] != nil {
		w.t.Fatalf("the judge was asked %d times, want 2: %+v", len(shown), shown)
	}
	if again := shown[1]; again == nil || again.Class != assay.ClassMalformed || again.Raw != "gibberish" || again.Error != "the answer is no JSON" {
		w.t.Errorf("the second question shows %+v", again)
	}
	items, _, err := w.store.Items().List(w.t.Context(), id, store.ItemQuery{}, store.Page{Limit: 2})
	if err != nil || len(items) != 1 || items[0].State != assay.ItemErrored || items[0].Class != assay.ClassMalformed {
		w.t.Errorf("%+v (%v)", items, err)
	}
}

// An unreadable answer is shown to the judge and asked again once, whoever drives by then.
func TestAskedAgainOnceByTheNextDriver(t *testing.T) {
	type driven struct {
		run   assay.Run
		leave context.CancelFunc
	}
	for _, c := range []struct {
		name  string
		leave func(w *world, d driven) error // during the first call
		want  error                          // of the first driver
		next  func(w *world, d driven) error // before the run is taken up again
	}{
		{"its process stopped", func(w *world, d driven) error { d.leave(); return nil }, nil, nil},
		{"it was paused", func(w *world, d driven) error {
			_, err := w.engine.Pause(context.Background(), d.run.ID)
			return err
		}, nil, func(w *world, d driven) error {
			_, err := w.engine.Resume(context.Background(), d.run.ID)
			return err
		}},
		{"it lost the run and stored the answer late", func(w *world, d driven) error {
			_, err := w.store.Runs().TakeUp(context.Background(), d.run.ID, d.run.Epoch, true, utcNow())
			return err
		}, assay.ErrLost, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s store.Store) {
				w := newWorld(t, s, 1)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				run := w.grade(engine.GradeRequest{})
				run, err := s.Runs().TakeUp(ctx, run.ID, run.Epoch, false, utcNow())
				if err != nil {
					t.Fatal(err)
				}
				first := driven{run, cancel}
				shown := w.garbled(func() {
					if err := c.leave(w, first); err != nil {
						t.Error(err)
					}
				})
				if err := w.grader.Drive(ctx, run); !errors.Is(err, c.want) {
					t.Fatalf("the first driver ended with %v, want %v", err, c.want)
				}
				if n := len(shown()); n != 1 {
					t.Fatalf("the first driver asked %d times", n)
				}
				if c.next != nil {
					if err := c.next(w, first); err != nil {
						t.Fatal(err)
					}
				}
				w.drive()
				w.until(run.ID, assay.RunFailed)
				w.askedOnceMore(run.ID, shown())
			})
		})
	}
}

// While the earlier answer cannot be read from the store, the item waits: it is not asked without it.
func TestAnItemWaitsForItsEarlierAnswer(t *testing.T) {
	w, f := onFaulty(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	shown := w.garbled(cancel)
	run := w.grade(engine.GradeRequest{})
	run, err := f.Store.Runs().TakeUp(ctx, run.ID, run.Epoch, false, utcNow())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.grader.Drive(ctx, run); err != nil {
		t.Fatal(err)
	}
	f.Before = storetest.Nth(1, "Items.Attempts", storetest.Unavailable())
	w.drive()
	w.store = f.Store
	w.until(run.ID, assay.RunFailed)
	w.askedOnceMore(run.ID, shown())
}
