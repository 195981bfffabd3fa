package grading

import (
	"context"
	"encoding/json"
	"testing"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
)

// deadly is a provider whose process dies while the prompt of one session is made.
type deadly struct {
	*provider
	culprit string
	crash   chan struct{}
	died    chan struct{} // closed when nobody hears any more of what goes on
}

func (d *deadly) Draft(q judge.Question) judge.Draft {
	if q.Session.SessionID == d.culprit {
		d.crash <- struct{}{}
		<-d.died
		return judge.Draft{Ended: &judge.Reply{Class: assay.ClassAborted}}
	}
	return d.provider.Draft(q)
}

// A session that kills the process while its prompt is made, before there is a call, is found like one
// that kills it in the call: the others are graded and the run is not given up.
func TestASessionWhosePromptKillsIsQuarantined(t *testing.T) {
	for name, sessions := range map[string]int{"among others": 12, "alone": 1} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s store.Store) {
				w := newWorld(t, s, sessions)
				id := w.grade(engine.GradeRequest{Concurrency: ptr(4)}).ID
				p := tenth()
				p.answer = nil
				dead, crash := 0, make(chan struct{}, 1)
				for run := w.run(id); !run.State.Terminal(); dead++ {
					if dead > 10 {
						t.Fatal("the run does not end")
					}
					taken, err := s.Runs().TakeUp(t.Context(), id, run.Epoch, dead > 0, utcNow())
					if err != nil {
						t.Fatal(err)
					}
					d := &deadly{provider: p, culprit: "s00000", crash: crash, died: make(chan struct{})}
					dying := &dying{Store: s}
					o := w.grader.o
					o.Store, o.Gate, o.Limits, o.Price = dying, nil, nil, p.now
					o.Build = func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) { return d, nil }
					done := make(chan error, 1)
					go func() { done <- New(o).Drive(context.Background(), taken) }()
					select {
					case <-crash:
						dying.dead.Store(true)
						close(d.died)
						<-done
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
					if bad := it.SessionID == "s00000"; bad != (it.Class == assay.ClassJudgeError) || !bad && it.State != assay.ItemGraded {
						t.Errorf("%s ended %s %s after %d crashes, %d alone", it.SessionID, it.State, it.Class, it.Crashes, it.Alone)
					}
				}
				spend, err := s.Items().Spend(t.Context(), id)
				if billed, _ := p.bill(); err != nil || spend.Cost > billed || spend.Charged() < billed {
					t.Errorf("%s billed, the rows say %s + %s (%v)", billed, spend.Cost, spend.Held, err)
				}
				var left, held int64
				for _, it := range items {
					attempts, err := s.Items().Attempts(t.Context(), id, it.Seq)
					if err != nil {
						t.Fatal(err)
					}
					for _, a := range attempts {
						if !a.MayHaveLeft() {
							continue
						}
						if left++; a.Cost == nil {
							held++
						}
						if it.SessionID == "s00000" {
							t.Errorf("attempt %d of %s is told as a call: %s %s", a.N, it.SessionID, a.Status, a.Class)
						}
					}
				}
				if sessions == 1 && spend != (assay.Spend{}) || spend.Attempts != left || spend.HeldN != held {
					t.Errorf("%d calls left or may have, of %d the cost is not known, the sums say %+v", left, held, spend)
				}
				t.Logf("%d takeovers, %s", dead, w.run(id).Sentence)
			})
		})
	}
}

// The prompt that is made in an attempt of its own leaves on the item why it was tried before.
func TestAPromptLeavesTheItemsError(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 1)
		p := tenth()
		var id assay.RunID
		var said string
		p.answer = func(ctx context.Context, nth int) (judge.Reply, assay.Usage) {
			if nth == 1 {
				return failing(assay.ClassMalformed), assay.Usage{}
			}
			items, err := s.Items().Pending(ctx, id, 0, 1)
			if err == nil && len(items) == 1 {
				said = items[0].Error
			}
			return passing(), assay.Usage{}
		}
		w.serve(p)
		id = w.grade(engine.GradeRequest{}).ID
		taken, err := s.Runs().TakeUp(t.Context(), id, 0, true, utcNow())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.grader.Drive(t.Context(), taken); err != nil {
			t.Fatal(err)
		}
		if _, calls := p.bill(); calls != 2 || said != string(assay.ClassMalformed) {
			t.Errorf("at the last of %d calls the item says %q", calls, said)
		}
	})
}
