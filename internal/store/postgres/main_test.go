package postgres

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
)

func TestMain(m *testing.M) {
	if url := os.Getenv("POSTGRES_TEST_OWN"); url != "" {
		ownForever(url)
		return
	}
	pgtest.Main(m)
}

var t0 = time.Date(2025, 3, 1, 12, 0, 0, 123456000, time.UTC)

func open(tb testing.TB, url string) *Store {
	tb.Helper()
	s, err := Open(context.Background(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// planned makes a project with n sessions and a run that is about to grade them, at epoch 1.
func planned(tb testing.TB, s *Store, n int) store.Fence {
	tb.Helper()
	ctx := context.Background()
	must := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	p, err := s.Projects().Create(ctx, "p", assay.DefaultSettings(), t0)
	must(err)
	version := assay.JudgeVersion{ID: "v1", Kind: assay.JudgeRules, Unit: assay.UnitSession, Canonical: []byte(`{}`)}
	_, err = s.Judges().Apply(ctx, p.ID, assay.Judge{Name: "j", Version: "v1"}, version, t0)
	must(err)
	var items []assay.Item
	for from := 0; from < n; from += 1000 {
		batch := make([]store.NewSession, min(1000, n-from))
		for i := range batch {
			user := fmt.Sprintf("u%07d", from+i)
			batch[i] = store.NewSession{Head: assay.Head{UserID: user, SessionID: "s", ContentHash: assay.Hash("h" + user), Day: assay.Undated, Arm: assay.Untagged}, Body: []byte("body")}
		}
		_, err = s.Sessions().Put(ctx, p.ID, 0, batch, t0)
		must(err)
	}
	must(s.Sessions().Scan(ctx, p.ID, store.SessionQuery{}, func(r *store.FrameRow) error {
		items = append(items, assay.Item{Seq: int64(len(items) + 1), Session: r.Key, Content: r.Content})
		return nil
	}))
	run, _, err := s.Runs().Create(ctx, store.NewRun{Project: p.ID, Kind: assay.RunGrade, Concurrency: 10, AsOf: t0, Now: t0,
		Keys: []string{assay.KeyGrade("j")}, Spec: assay.GradeSpec{Judges: []assay.RunJudge{{Name: "j", Version: "v1"}}, Repeats: 1}})
	must(err)
	run, err = s.Runs().TakeUp(ctx, run.ID, 0, false, t0)
	must(err)
	f := store.Fence{Run: run.ID, Epoch: run.Epoch}
	must(s.Plans().PutStrata(ctx, f, []assay.PlannedStratum{{Stratum: assay.Stratum{Day: assay.Undated, Arm: assay.Untagged}, Eligible: int64(n), Sampled: int64(n)}}, int64(n), assay.Excluded{}))
	for from := 0; from < n; from += 5000 {
		must(s.Plans().PutItems(ctx, f, items[from:min(n, from+5000)], t0))
	}
	must(s.Plans().Finish(ctx, f, int64(n), t0))
	return f
}

func attempt(f store.Fence, seq int64) assay.Attempt {
	return assay.Attempt{Run: f.Run, Seq: seq, N: 1, Epoch: f.Epoch, Status: assay.AttemptOpen, OpenedAt: t0}
}

// graded closes an attempt with a verdict.
func graded(f store.Fence, seq int64) store.Outcome {
	a, end, pass := attempt(f, seq), t0.Add(time.Second), seq%2 == 0
	a.Status, a.CallAt, a.EndedAt = assay.AttemptDone, &t0, &end
	value := []byte("false")
	if pass {
		value = []byte("true")
	}
	return store.Outcome{Attempt: a, State: assay.ItemGraded, Pass: &pass, Counted: true,
		Answers: []assay.Answer{{Pass: &pass, Findings: []assay.Finding{{Criterion: "solved", Value: value, Applies: true, Reason: "because"}}}}}
}
