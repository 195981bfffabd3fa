package sqlite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// BenchmarkCommit is the hot path: each operation closes an attempt, stores a verdict, ends an item
// and opens the next attempt, in batches of what is in flight. It reports the disk's sync time beside.
func BenchmarkCommit(b *testing.B) {
	for _, inFlight := range []int{64, 512} {
		b.Run(strconv.Itoa(inFlight), func(b *testing.B) { benchCommit(b, inFlight, func(*store.Outcome) {}) })
	}
}

// BenchmarkCommitModel is the same for a model behind a provider: its attempts have a reservation, a
// usage, a raw answer of 1 KB and a transcript of 3 KB, compressed, that was not there before.
func BenchmarkCommitModel(b *testing.B) {
	text := make([]byte, 3000)
	for i := range text {
		text[i] = byte(i * 7919 >> 3)
	}
	for _, inFlight := range []int{64, 512} {
		b.Run(strconv.Itoa(inFlight), func(b *testing.B) {
			benchCommit(b, inFlight, func(o *store.Outcome) {
				o.Seen = &store.Seen{Hash: assay.Hash(fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, o.Attempt.Seq)))), Text: text}
				modelAttempt(&o.Attempt)
				o.Attempt.Seen = o.Seen.Hash
			})
		})
	}
}

func modelAttempt(a *assay.Attempt) {
	reserved, cost := assay.USD(2_000_000), assay.USD(a.Seq*1000)
	a.Reserved, a.Cost = &reserved, &cost
	a.Usage = assay.Usage{Known: true, Input: 2000, Cached: 1000, Output: 200, Reasoning: 100}
	a.Model, a.Fingerprint, a.RequestID = "model-2026-01-01", "fp_0123456789", "req_0123456789abcdef"
	a.Raw = strings.Repeat("0123456789abcdef", 64)
}

func benchCommit(b *testing.B, inFlight int, fill func(*store.Outcome)) {
	ctx := context.Background()
	dir := b.TempDir()
	s, err := Open(ctx, dir)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	f := benchRun(b, s, int64(b.N+inFlight))
	now := time.Now().UTC()
	open := func(seq int64) assay.Attempt {
		return assay.Attempt{Run: f.Run, Seq: seq, N: 1, Epoch: f.Epoch, Status: assay.AttemptOpen, OpenedAt: now}
	}
	batch := store.Batch{Now: now}
	for seq := int64(1); seq <= int64(inFlight); seq++ {
		batch.Open = append(batch.Open, open(seq))
	}
	if _, err := s.Items().Commit(ctx, f, batch); err != nil {
		b.Fatal(err)
	}
	pass := true
	zero := assay.USD(0)
	done := int64(0)
	b.ReportAllocs()
	b.ResetTimer()
	for done < int64(b.N) {
		batch = store.Batch{Now: time.Now().UTC()}
		for range min(inFlight, b.N-int(done)) {
			done++
			a := open(done)
			a.Status, a.CallAt, a.EndedAt, a.Cost = assay.AttemptDone, &now, &now, &zero
			o := store.Outcome{
				Attempt: a, State: assay.ItemGraded, Pass: &pass, Counted: true,
				Answers: []assay.Answer{{Pass: &pass, Findings: []assay.Finding{{Criterion: "done", Value: []byte("true"), Applies: true, Reason: "the last tool call succeeded"}}}},
			}
			fill(&o)
			batch.Done = append(batch.Done, o)
			batch.Open = append(batch.Open, open(done+int64(inFlight)))
		}
		if _, err := s.Items().Commit(ctx, f, batch); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
	b.ReportMetric(float64(syncTime(b, dir).Microseconds()), "µs/fsync")
}

// benchRun makes a run in the phase grading with n items.
func benchRun(b *testing.B, s *Store, n int64) store.Fence {
	ctx, now := context.Background(), time.Now().UTC()
	p, err := s.Projects().Create(ctx, "bench", assay.DefaultSettings(), now)
	if err != nil {
		b.Fatal(err)
	}
	run, _, err := s.Runs().Create(ctx, store.NewRun{
		Project: p.ID, Kind: assay.RunGrade, Concurrency: 64, AsOf: now, Now: now,
		Spec: assay.GradeSpec{Repeats: 1, Judges: []assay.RunJudge{{Name: "j", Version: "v"}}},
	})
	if err == nil {
		run, err = s.Runs().TakeUp(ctx, run.ID, 0, false, now)
	}
	if err != nil {
		b.Fatal(err)
	}
	f := store.Fence{Run: run.ID, Epoch: run.Epoch}
	for seq := int64(1); seq <= n; {
		var items []assay.Item
		for ; seq <= n && len(items) < 1000; seq++ {
			items = append(items, assay.Item{Seq: seq, Session: assay.SessionKey(seq), Content: assay.ContentKey(seq * 7919 % 1_000_003)})
		}
		if err := s.Plans().PutItems(ctx, f, items, now); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Plans().Finish(ctx, f, n, now); err != nil {
		b.Fatal(err)
	}
	return f
}

// syncTime is the median time of an 8 KB write and sync.
func syncTime(b *testing.B, dir string) time.Duration {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var times []time.Duration
	for range 101 {
		start := time.Now()
		if _, err := f.Write(make([]byte, 8192)); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	return median(times)
}

func median(times []time.Duration) time.Duration {
	for i := range times {
		for j := i; j > 0 && times[j] < times[j-1]; j-- {
			times[j], times[j-1] = times[j-1], times[j]
		}
	}
	return times[len(times)/2]
}

// BenchmarkSpending sums the attempts of one run, as a budget and as a table do. ASSAY_BENCH_ATTEMPTS
// sets how many there are (1,000,000 for the figure of the documentation).
func BenchmarkSpending(b *testing.B) {
	n := int64(100_000)
	if text := os.Getenv("ASSAY_BENCH_ATTEMPTS"); text != "" {
		n, _ = strconv.ParseInt(text, 10, 64)
	}
	ctx := context.Background()
	s, err := Open(ctx, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	f := benchRun(b, s, 1)
	now := time.Now().UTC()
	for seq := int64(1); seq <= n; {
		var batch []assay.Attempt
		for ; seq <= n && len(batch) < 1000; seq++ {
			a := assay.Attempt{Run: f.Run, Seq: seq, N: 1, Epoch: f.Epoch, OpenedAt: now.Add(-time.Duration(seq) * time.Second / 2), CallAt: &now, EndedAt: &now}
			modelAttempt(&a)
			batch = append(batch, a)
		}
		if err := s.Items().Late(ctx, batch); err != nil {
			b.Fatal(err)
		}
	}
	perAttempt := func(b *testing.B, sum func() error) {
		for b.Loop() {
			if err := sum(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "attempts/s")
	}
	b.Run("spend", func(b *testing.B) {
		perAttempt(b, func() error { _, err := s.Items().Spend(ctx, f.Run); return err })
	})
	b.Run("charged", func(b *testing.B) {
		perAttempt(b, func() error {
			_, _, err := s.Spending().Charged(ctx, 1, now.AddDate(0, -1, 0), now.Add(time.Hour))
			return err
		})
	})
	b.Run("lines", func(b *testing.B) {
		b.ReportAllocs()
		perAttempt(b, func() error {
			_, err := s.Spending().Lines(ctx, store.SpendQuery{Project: 1, Zone: time.UTC})
			return err
		})
	})
}

// BenchmarkScan reads the frame of a project, as planning does. ASSAY_BENCH_SESSIONS sets how many
// sessions it has (1,000,000 for the figure of the documentation).
func BenchmarkScan(b *testing.B) {
	n := 100_000
	if text := os.Getenv("ASSAY_BENCH_SESSIONS"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	ctx, now := context.Background(), time.Now().UTC()
	s, err := Open(ctx, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	p, err := s.Projects().Create(ctx, "bench", assay.DefaultSettings(), now)
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	for i := 0; i < n; {
		var batch []store.NewSession
		for ; i < n && len(batch) < 1000; i++ {
			at := now.Add(-time.Duration(i%14) * 24 * time.Hour)
			batch = append(batch, store.NewSession{Body: []byte("body"), Head: assay.Head{
				UserID: fmt.Sprintf("user-%d", i%5000), SessionID: fmt.Sprintf("session-%08d", i), ContentHash: assay.Hash(fmt.Sprintf("%064d", i)),
				StartedAt: &at, SettleFrom: &at, Day: at.Format(time.DateOnly), Arm: []string{"treatment", "control", "untagged"}[i%3],
			}})
		}
		if _, err := s.Sessions().Put(ctx, p.ID, 0, batch, now); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("stored %d sessions in %s", n, time.Since(start))
	b.ReportAllocs()
	for b.Loop() {
		rows := 0
		if err := s.Sessions().Scan(ctx, p.ID, store.SessionQuery{}, func(*store.FrameRow) error { rows++; return nil }); err != nil || rows != n {
			b.Fatal(rows, err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "sessions/s")
}
