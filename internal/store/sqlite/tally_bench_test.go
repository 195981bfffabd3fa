package sqlite

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// BenchmarkRegraded reads what a report needs of a run that grades each session three times, with two
// criteria. ASSAY_BENCH_ITEMS sets how many items it has (999,999 for the figure of the documentation).
func BenchmarkRegraded(b *testing.B) {
	const repeats = 3
	n := int64(99_999)
	if text := os.Getenv("ASSAY_BENCH_ITEMS"); text != "" {
		n, _ = strconv.ParseInt(text, 10, 64)
	}
	ctx, now, pass := context.Background(), time.Now().UTC(), true
	s, err := Open(ctx, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	p, err := s.Projects().Create(ctx, "bench", assay.DefaultSettings(), now)
	if err != nil {
		b.Fatal(err)
	}
	run, _, err := s.Runs().Create(ctx, store.NewRun{
		Project: p.ID, Kind: assay.RunGrade, Concurrency: 64, AsOf: now, Now: now,
		Spec: assay.GradeSpec{Repeats: repeats, Judges: []assay.RunJudge{{Name: "j", Version: "v"}}},
	})
	if err == nil {
		run, err = s.Runs().TakeUp(ctx, run.ID, 0, false, now)
	}
	if err != nil {
		b.Fatal(err)
	}
	f := store.Fence{Run: run.ID, Epoch: run.Epoch}
	inBatches := func(each func(seq int64), write func() error) {
		for seq := int64(1); seq <= n; {
			for stop := min(seq+999, n); seq <= stop; seq++ {
				each(seq)
			}
			if err := write(); err != nil {
				b.Fatal(err)
			}
		}
	}
	var items []assay.Item
	inBatches(func(seq int64) {
		// Contents come in an order of their own, as in a sample that a hash draws.
		content := assay.ContentKey((seq - 1) / repeats * 7919 % 1_000_003)
		items = append(items, assay.Item{Seq: seq, Session: assay.SessionKey(content + 1), Content: content + 1, Stratum: int(seq % 30), Repeat: int((seq - 1) % repeats)})
	}, func() error {
		defer func() { items = items[:0] }()
		return s.Plans().PutItems(ctx, f, items, now)
	})
	if err := s.Plans().Finish(ctx, f, n, now); err != nil {
		b.Fatal(err)
	}
	open, done := store.Batch{Now: now}, store.Batch{Now: now}
	inBatches(func(seq int64) {
		a := assay.Attempt{Run: f.Run, Seq: seq, N: 1, Epoch: f.Epoch, Status: assay.AttemptOpen, OpenedAt: now}
		open.Open = append(open.Open, a)
		a.Status, a.CallAt, a.EndedAt = assay.AttemptDone, &now, &now
		done.Done = append(done.Done, store.Outcome{Attempt: a, State: assay.ItemGraded, Pass: &pass, Answers: []assay.Answer{{Pass: &pass, Findings: []assay.Finding{
			{Criterion: "resolved", Value: []byte("true"), Applies: true, Reason: "the last tool call succeeded and the user was told so"},
			{Criterion: "kind", Value: []byte(`"none"`), Applies: true, Reason: "nothing went wrong"},
		}}}})
	}, func() error {
		defer func() { open.Open, done.Done = open.Open[:0], done.Done[:0] }()
		if _, err := s.Items().Commit(ctx, f, open); err != nil {
			return err
		}
		_, err := s.Items().Commit(ctx, f, done)
		return err
	})
	chain := []assay.RunID{f.Run}
	perItem := func(name string, read func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "items/s")
			b.ReportMetric(float64(after.Sys-min(before.Sys, after.Sys))/1e6, "MB-grown")
		})
	}
	perItem("tally", func() error { _, err := s.Verdicts().Tally(ctx, chain, 0); return err })
	perItem("findings", func() error { _, err := s.Verdicts().TallyFindings(ctx, chain, 0); return err })
	perItem("regraded", func() error {
		return s.Verdicts().Regraded(ctx, chain, 0, func(r *store.Regraded) error {
			if len(r.Repeats) != repeats {
				b.Errorf("%d repeats of content %d", len(r.Repeats), r.Content)
			}
			return nil
		})
	})
}
