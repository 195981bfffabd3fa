package grading

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
	"assay/internal/store/storetest"
)

// What an import adds or changes between acceptance and planning is not graded by the run and is told
// of, whichever way the frame is read; the next run grades it.
func TestWhatArrivesAfterAcceptanceIsCountedLate(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		for name, q := range map[string]engine.GradeRequest{"all": {}, "filter": {Filter: "turns >= 1"}} {
			t.Run(name, func(t *testing.T) {
				w := newWorldNamed(t, s, name, 10)
				id := w.grade(q).ID
				w.put(3, 5, "changed")
				w.put(4, 6, "first") // 5 is unchanged
				w.put(10, 11, "new")
				w.drive()
				first := w.until(id, assay.RunCompleted)
				if c := w.counts(id); c.Graded != 8 || first.Left != (assay.Excluded{Late: 3}) {
					t.Errorf("%+v, %+v left out; want 8 graded, 3 late", c, first.Left)
				}
				for _, late := range []string{"u3/s00003", "u4/s00004", "u0/s00010"} {
					if slices.Contains(w.sampleOf(id), late) {
						t.Errorf("%s was graded as it was not when the run was accepted", late)
					}
				}
				p, err := w.engine.Preview(t.Context(), w.project, engine.GradeRequest{Judges: []string{"j"}, Filter: q.Filter})
				if err != nil || p.Eligible != 11 || p.Excluded.Late != 0 {
					t.Errorf("preview: %d eligible, %+v (%v)", p.Eligible, p.Excluded, err)
				}
				next := w.until(w.grade(q).ID, assay.RunCompleted)
				if c := w.counts(next.ID); c.Graded != 11 || c.Reused != 8 || next.Left.Late != 0 {
					t.Errorf("the next run: %+v, %+v left out", c, next.Left)
				}
			})
		}
	})
}

func TestARunOfWhichEverythingIsLateSaysSo(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 2)
		id := w.grade(engine.GradeRequest{}).ID
		w.put(0, 2, "changed")
		w.drive()
		run := w.until(id, assay.RunCompleted)
		if run.Reason != assay.ReasonNothing || !strings.Contains(run.Sentence, "2 arrived or changed after the run was accepted") {
			t.Errorf("%s: %s", run.Reason, run.Sentence)
		}
	})
}

// A driver that dies in planning leaves a plan that its successor draws again, the same as long as
// nothing arrived meanwhile that was in the frame; what is new since changes a count and no pick.
func TestATakeoverInPlanningDrawsTheSameSample(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		f := &storetest.Faulty{Store: s}
		w := newWorld(t, f, 120)
		id := w.grade(engine.GradeRequest{PerStratum: ptr(3)}).ID
		f.Before = func(call string) error {
			if call == "Plans.Finish" {
				return storetest.Unavailable()
			}
			return nil
		}
		var drawn []string
		for round, late := range []int64{0, 0, 20} {
			if late > 0 {
				w.put(120, 140, "new")
			}
			if round == 2 {
				f.Before = nil
			}
			run := w.run(id)
			taken, err := s.Runs().TakeUp(t.Context(), id, run.Epoch, run.State == assay.RunRunning, utcNow())
			if err != nil {
				t.Fatal(err)
			}
			if err := w.grader.Drive(t.Context(), taken); (err == nil) != (round == 2) {
				t.Fatalf("round %d: drive: %v", round, err)
			}
			got := w.sampleOf(id)
			if round == 0 {
				drawn = got
			}
			run = w.run(id)
			if len(got) != 36 || !slices.Equal(got, drawn) || !run.AsOf.Equal(taken.AsOf) || run.Left.Late != late {
				t.Errorf("round %d: %d sampled, the first sample again %v, as of %s, %+v left out", round, len(got), slices.Equal(got, drawn), run.AsOf, run.Left)
			}
		}
		if run := w.run(id); run.State != assay.RunCompleted {
			t.Errorf("%s %s: %s", run.State, run.Reason, run.Sentence)
		}
	})
}
