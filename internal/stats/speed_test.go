package stats

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// BenchmarkRateOfManyUsers is a report's busiest interval: 200,000 verdicts of 100,000 users in 84 strata.
func BenchmarkRateOfManyUsers(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	strata, cells := make([]Stratum, 84), make([]Cell, 200_000)
	for i := range cells {
		h, hit := r.IntN(len(strata)), float64(r.IntN(2))
		cells[i] = Cell{User: r.IntN(100_000), Stratum: h, Domain: 1, Sum: hit}
		s := &strata[h]
		s.Size, s.Drawn, s.Observed, s.Domain, s.Sum = s.Size+5, s.Drawn+1, s.Observed+1, s.Domain+1, s.Sum+hit
	}
	run := func(b *testing.B) {
		for b.Loop() {
			if i := RateInterval(strata, cells, Process, .95); !i.Ok() {
				b.Fatal(i.Absent)
			}
		}
	}
	b.Run("in any order", run)
	slices.SortFunc(cells, func(x, y Cell) int { return cmp.Or(x.User-y.User, x.Stratum-y.Stratum) })
	b.Run("by user", run)
}
