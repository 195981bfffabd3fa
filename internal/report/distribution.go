package report

import (
	"math"
	"slices"

	"assay/internal/assay"
)

// mostBins is how many bins a distribution has.
const mostBins = 10

// distribution is how a number's answers lie, weighted like the mean: a row of stratum h stands for N_h over the
// answers there. nil without any.
func (e *estimator) distribution(k assay.Criterion) *Distribution {
	type point struct{ x, w float64 }
	var points []point
	var all float64
	for i, at := range e.s.place {
		if at >= 0 && e.a.applies[i] {
			w := float64(e.all[at].Size) / float64(e.all[at].Observed)
			points = append(points, point{e.a.x[i], w})
		}
	}
	if points == nil {
		return nil
	}
	slices.SortFunc(points, func(a, b point) int {
		switch {
		case a.x != b.x && a.x < b.x, a.x == b.x && a.w < b.w:
			return -1
		case a.x == b.x && a.w == b.w:
			return 0
		}
		return 1
	})
	for _, p := range points {
		all += p.w
	}
	whole := !slices.ContainsFunc(points, func(p point) bool { return p.x != math.Trunc(p.x) })
	out := &Distribution{Bins: bins(points[0].x, points[len(points)-1].x, k, whole)}
	var sum float64
	for _, p := range points {
		b := &out.Bins[len(out.Bins)-1]
		for n := range out.Bins {
			if c := &out.Bins[n]; p.x < c.To || c.From == c.To && p.x == c.From {
				b = c
				break
			}
		}
		b.N++
		b.Share += p.w / all
		sum += p.w
		for _, q := range [...]struct {
			at float64
			to **float64
		}{{0.05, &out.P05}, {0.5, &out.Median}, {0.95, &out.P95}} {
			if *q.to == nil && sum >= q.at*all*(1-1e-12) {
				*q.to = new(p.x)
			}
		}
	}
	return out
}

// bins go from the criterion's limits, or else from what was answered. Few whole numbers have a bin each, where all
// answers are whole.
func bins(low, high float64, k assay.Criterion, whole bool) []Bin {
	if k.Min != nil {
		low = min(low, *k.Min)
	}
	if k.Max != nil {
		high = max(high, *k.Max)
	}
	switch {
	case low == high:
		return []Bin{{From: low, To: high}}
	case whole && low == math.Trunc(low) && high-low <= mostBins:
		var out []Bin
		for x := low; x <= high; x++ {
			out = append(out, Bin{From: x, To: x})
		}
		return out
	}
	out := make([]Bin, mostBins)
	for i := range out {
		out[i] = Bin{From: low + (high-low)*float64(i)/mostBins, To: low + (high-low)*float64(i+1)/mostBins}
	}
	out[mostBins-1].To = high
	return out
}
