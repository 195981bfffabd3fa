package postgres

import (
	"context"
	"fmt"
	"testing"

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
