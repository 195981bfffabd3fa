package grading

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
)

// A verdict of a model whose name carries no date may be adopted for a day, one of a dated model for
// ever; a repeated or forced run adopts none.
func TestHowLongAVerdictIsReused(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 12)
		v := assay.JudgeVersion{ID: "of an alias", Kind: assay.JudgeLLM, Unit: assay.UnitSession, Canonical: []byte(`{}`), Alias: true, CreatedAt: utcNow()}
		if _, err := s.Judges().Apply(t.Context(), w.project.ID, assay.Judge{Name: "alias", Version: v.ID}, v, utcNow()); err != nil {
			t.Fatal(err)
		}
		w.drive()
		w.until(w.grade(engine.GradeRequest{Judges: []string{"j", "alias"}}).ID, assay.RunCompleted)
		reused := func(q engine.GradeRequest, after time.Duration) [2]int64 {
			q.Judges = []string{"j", "alias"}
			p, err := w.grader.Preview(t.Context(), w.project, q, utcNow().Add(after))
			if err != nil {
				t.Fatal(err)
			}
			return [2]int64{p.Judges[0].Reused, p.Judges[1].Reused}
		}
		for _, c := range []struct {
			what  string
			q     engine.GradeRequest
			after time.Duration
			want  [2]int64
		}{
			{"within a day", engine.GradeRequest{}, assay.AliasReuse - time.Minute, [2]int64{12, 12}},
			{"after a day", engine.GradeRequest{}, assay.AliasReuse + time.Minute, [2]int64{12, 0}},
			{"forced", engine.GradeRequest{Force: true}, 0, [2]int64{}},
			{"repeated", engine.GradeRequest{Repeats: 2}, 0, [2]int64{}},
		} {
			if got := reused(c.q, c.after); got != c.want {
				t.Errorf("%s: %v reused, want %v", c.what, got, c.want)
			}
		}
	})
}

// A session that was not settled when a window was graded is told of, and is graded exactly once by
// the runs after it.
func TestALateFinisherIsGradedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 10)
		settings := w.project.Settings
		settings.Settle = 500 * time.Millisecond
		var err error
		if w.project, err = s.Projects().Update(t.Context(), w.project.ID, settings, false); err != nil {
			t.Fatal(err)
		}
		body, hash, size, err := store.EncodeBody(&assay.Session{UserID: "late", SessionID: "s", Turns: []assay.Turn{{Messages: []assay.Message{{Role: assay.RoleUser, Content: "x"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		last := utcNow()
		head := assay.Head{UserID: "late", SessionID: "s", ContentHash: hash, BodyBytes: size, StartedAt: &last, SettleFrom: &last, Day: last.Format(time.DateOnly), Arm: "a"}
		if _, err := s.Sessions().Put(t.Context(), w.project.ID, 0, []store.NewSession{{Head: head, Body: body}}, last); err != nil {
			t.Fatal(err)
		}
		w.drive()
		first := w.until(w.grade(engine.GradeRequest{}).ID, assay.RunCompleted)
		if c := w.counts(first.ID); c.Graded != 10 || first.Left.Unsettled != 1 {
			t.Errorf("while it was not settled: %+v, %+v left out", c, first.Left)
		}
		<-time.After(settings.Settle)
		for round, calls := range []int64{11, 11} {
			run := w.until(w.grade(engine.GradeRequest{}).ID, assay.RunCompleted)
			if c := w.counts(run.ID); c.Graded != 11 || w.judge.calls.Load() != calls || run.Left.Unsettled != 0 {
				t.Errorf("round %d: %+v after %d calls, %+v left out", round, c, w.judge.calls.Load(), run.Left)
			}
		}
	})
}

// cutting is a provider whose judge leaves a part of every transcript out.
type cutting struct{ *provider }

func (c cutting) Ask(ctx context.Context, q judge.Question) judge.Reply { return c.Draft(q).Send(ctx) }

func (c cutting) Draft(q judge.Question) judge.Draft {
	d := c.provider.Draft(q)
	d.Seen.Cut = true
	return d
}

// A verdict on a transcript with a part left out says so in the run that reuses it too.
func TestAReusedVerdictStaysMarkedAsCut(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 4)
		p := &provider{input: 10, output: 10}
		w.serve(p)
		w.grader.o.Build = func(assay.JudgeVersion, json.RawMessage) (judge.Judge, error) { return cutting{p}, nil }
		w.drive()
		for _, q := range []engine.GradeRequest{{}, {}} {
			run := w.until(w.grade(q).ID, assay.RunCompleted)
			tally, err := s.Verdicts().Tally(t.Context(), []assay.RunID{run.ID}, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range tally {
				if row.State != assay.ItemGraded || !row.Cut {
					t.Errorf("run %s: %+v is not marked as cut", run.ID, row)
				}
			}
		}
		if _, calls := p.bill(); calls != 4 {
			t.Errorf("%d calls, want 4: the second run reuses", calls)
		}
	})
}
