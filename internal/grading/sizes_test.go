package grading

import (
	"slices"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// A run samples of each stratum as many sessions as its size says, the first of those that per_stratum would draw;
// the plan of the same request is what the run does, and a stratum that is not named stays in the frame.
func TestSizesOfStrata(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 120)
		whole, err := w.engine.Preview(t.Context(), w.project, engine.GradeRequest{Judges: []string{"j"}, CountUsers: true})
		if err != nil || len(whole.Strata) != 12 {
			t.Fatalf("%d strata (%v)", len(whole.Strata), err)
		}
		var sizes []assay.StratumSize
		want := 0
		for i, h := range whole.Strata[:11] {
			n := min(int64(i), 20) // the frame has 10 of each
			if i == 5 {
				n = 1000
			}
			sizes = append(sizes, assay.StratumSize{Stratum: h.Stratum, N: n})
			want += int(min(n, h.Eligible))
		}
		slices.Reverse(sizes) // their order changes nothing
		q := engine.GradeRequest{Judges: []string{"j"}, Sizes: sizes}
		plan, err := w.engine.Preview(t.Context(), w.project, q)
		if err != nil {
			t.Fatal(err)
		}
		w.drive()
		run := w.until(w.grade(q).ID, assay.RunCompleted)
		strata, err := s.Plans().Strata(t.Context(), run.ID)
		if err != nil || !slices.Equal(strata, plan.Strata) {
			t.Errorf("the run has %v, the plan %v (%v)", strata, plan.Strata, err)
		}
		if last := strata[11]; last.Sampled != 0 || last.Eligible != 10 {
			t.Errorf("what is not named has %d of %d", last.Sampled, last.Eligible)
		}
		got := w.sampleOf(run.ID)
		if len(got) != want || int64(want) != plan.Sampled || run.Spec.PerStratum != 0 || len(run.Spec.Sizes) != 11 {
			t.Errorf("%d sampled, want %d, the plan has %d; spec %+v", len(got), want, plan.Sampled, run.Spec)
		}
		all := w.sampleOf(w.until(w.grade(engine.GradeRequest{PerStratum: ptr(1000)}).ID, assay.RunCompleted).ID)
		if len(all) != 120 {
			t.Fatalf("%d", len(all))
		}
		users := map[int]int64{}
		for _, u := range whole.Users {
			users[u.User] += u.N
		}
		if len(users) != 10 || users[0] != 12 {
			t.Errorf("users have %v sessions, want 12 of each of 10", users)
		}
	})
}

func TestSizesThatMeanNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 24)
		p, err := w.engine.Preview(t.Context(), w.project, engine.GradeRequest{Judges: []string{"j"}})
		if err != nil {
			t.Fatal(err)
		}
		one := p.Strata[0].Stratum
		for _, c := range []struct {
			name string
			q    engine.GradeRequest
			says string
		}{
			{"unknown", engine.GradeRequest{Sizes: []assay.StratumSize{{Stratum: assay.Stratum{Day: one.Day, Arm: "nobody"}, N: 1}}}, "no eligible session"},
			{"negative", engine.GradeRequest{Sizes: []assay.StratumSize{{Stratum: one, N: -1}}}, "out of range"},
			{"twice", engine.GradeRequest{Sizes: []assay.StratumSize{{Stratum: one, N: 1}, {Stratum: one, N: 2}}}, "twice"},
			{"none", engine.GradeRequest{Sizes: []assay.StratumSize{}}, "no session"},
			{"zero", engine.GradeRequest{Sizes: []assay.StratumSize{{Stratum: one}}}, "no session"},
			{"both", engine.GradeRequest{PerStratum: ptr(3), Sizes: []assay.StratumSize{{Stratum: one, N: 1}}}, "per_stratum and sizes"},
			{"session", engine.GradeRequest{Session: "u0/s00000", Sizes: []assay.StratumSize{{Stratum: one, N: 1}}}, "a session and sizes"},
		} {
			c.q.Judges = []string{"j"}
			_, planned := w.engine.Preview(t.Context(), w.project, c.q)
			_, _, started := w.engine.Grade(t.Context(), w.project, c.q, nil)
			for door, err := range map[string]error{"plan": planned, "grade": started} {
				if assay.CodeOf(err) != assay.CodeInvalid || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s, %s: %v", c.name, door, err)
				}
			}
		}
	})
}
