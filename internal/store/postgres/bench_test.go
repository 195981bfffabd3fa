package postgres

import (
	"context"
	"fmt"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
)

// BenchmarkCommit is what a driver does for a judge that costs nothing: each batch finishes what is
// in flight and opens as many again. The server fsyncs.
func BenchmarkCommit(b *testing.B) {
	for _, inFlight := range []int{64, 512} {
		b.Run(fmt.Sprint(inFlight), func(b *testing.B) {
			ctx := context.Background()
			s := open(b, pgtest.DurableDatabase(b))
			f := planned(b, s, b.N)
			next := int64(1)
			var batch store.Batch
			take := func() {
				batch.Open = batch.Open[:0]
				for len(batch.Open) < inFlight && next <= int64(b.N) {
					batch.Open = append(batch.Open, attempt(f, next))
					next++
				}
			}
			b.ResetTimer()
			for take(); len(batch.Open)+len(batch.Done) > 0; {
				batch.Now = t0
				if _, err := s.Items().Commit(ctx, f, batch); err != nil {
					b.Fatal(err)
				}
				batch.Done = batch.Done[:0]
				for _, a := range batch.Open {
					batch.Done = append(batch.Done, graded(f, a.Seq))
				}
				take()
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
			counts, err := s.Items().Counts(ctx, f.Run, t0)
			if err != nil || counts.Graded != int64(b.N) {
				b.Fatal(counts, err)
			}
		})
	}
}

// BenchmarkPut stores new sessions as an import does, with bodies of 3 kB.
func BenchmarkPut(b *testing.B) {
	ctx := context.Background()
	s := open(b, pgtest.DurableDatabase(b))
	put(b, s, b.N, make([]byte, 3000))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sessions/s")
	if totals, err := s.Sessions().Count(ctx, 1); err != nil || totals.Sessions != int64(b.N) {
		b.Fatal(totals, err)
	}
}

// BenchmarkScan reads the frame of all sessions.
func BenchmarkScan(b *testing.B) {
	ctx := context.Background()
	s := open(b, pgtest.Database(b))
	put(b, s, b.N, []byte("body"))
	if _, err := s.pool.Exec(ctx, "VACUUM ANALYZE sessions"); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	b.StartTimer()
	n := 0
	if err := s.Sessions().Scan(ctx, 1, store.SessionQuery{}, func(*store.FrameRow) error { n++; return nil }); err != nil || n != b.N {
		b.Fatal(n, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sessions/s")
}

// put makes a project with n sessions over 14 days and 3 arms.
func put(b *testing.B, s *Store, n int, body []byte) {
	b.Helper()
	ctx := context.Background()
	p, err := s.Projects().Create(ctx, "p", assay.DefaultSettings(), t0)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for from := 0; from < n; from += 500 {
		batch := make([]store.NewSession, min(500, n-from))
		for i := range batch {
			no := from + i
			at := t0.AddDate(0, 0, no%14)
			batch[i] = store.NewSession{Body: body, Head: assay.Head{UserID: fmt.Sprintf("user-%d", no*7919%n), SessionID: fmt.Sprint(no),
				ContentHash: assay.Hash(fmt.Sprintf("%064d", no)), StartedAt: &at, LastTurnAt: &at, SettleFrom: &at,
				Day: at.Format("2006-01-02"), Arm: []string{assay.Control, assay.Treatment, assay.Untagged}[no%3], Turns: 3, Messages: 9}}
		}
		if _, err := s.Sessions().Put(ctx, p.ID, 0, batch, t0); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
}
