package stats

import (
	"math"
	"slices"
)

// total adds up numbers so that their order cannot change a bit of the sum: sorted by size, with the
// rounding errors carried along (Neumaier, Rundungsfehleranalyse einiger Verfahren zur Summation endlicher
// Summen, ZAMM 54, 1974).
func total(xs []float64) float64 {
	xs = slices.Clone(xs)
	slices.SortFunc(xs, func(a, b float64) int {
		switch x, y := math.Abs(a), math.Abs(b); {
		case x < y, x == y && a < b:
			return -1
		case x > y, x == y && a > b:
			return 1
		}
		return 0
	})
	var sum, lost float64
	for _, x := range xs {
		t := sum + x
		if math.Abs(sum) >= math.Abs(x) {
			lost += (sum - t) + x
		} else {
			lost += (x - t) + sum
		}
		sum = t
	}
	return sum + lost
}

// totalOf is total of f over rows.
func totalOf[T any](rows []T, f func(T) float64) float64 {
	xs := make([]float64, len(rows))
	for i, r := range rows {
		xs[i] = f(r)
	}
	return total(xs)
}

func finite(xs ...float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// defined is x, or why it cannot be one: arithmetic on large numbers may overflow.
func defined(x float64) Value {
	if !finite(x) {
		return None(OutOfRange)
	}
	return Known(x)
}

// quantile of sorted numbers with linear interpolation between order statistics (Hyndman and Fan, Sample
// quantiles in statistical packages, The American Statistician 50, 1996: type 7).
func quantile(sorted []float64, p float64) float64 {
	h := p * float64(len(sorted)-1)
	i := min(int(h), len(sorted)-2)
	if i < 0 {
		return sorted[0]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}
