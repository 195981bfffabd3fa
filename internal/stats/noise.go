package stats

import "math"

// Repeated is one stratum of units that were measured several times each. A unit with fewer than two
// answers says nothing of noise: it is in Drawn, and in nothing else here.
type Repeated struct {
	Label string // as in Stratum
	Line  string
	Size  int64   // N_h, units in the population
	Drawn int64   // n_h, units that were to be measured several times
	Units int64   // those with two answers or more
	Split int64   // of Units: not all answers were the same
	Flips float64 // sum of Differ over Units
	// Numbers counts those of Units with two numbers or more, Squares adds up their Variance.
	Numbers int64
	Squares float64
}

// Differ estimates the chance that two measurements of one unit differ, from how often each answer was
// given among k: 1 - sum n_c (n_c - 1) / (k (k - 1)), the share of its pairs that differ. For two answers
// it is 2 k1 k0 / (k (k - 1)). It is unbiased for 1 - sum p_c^2, whatever k is (Simpson, Measurement of
// diversity, Nature 163, 1949; it is 1 - P_i of Fleiss, Measuring nominal scale agreement among many
// raters, Psychological Bulletin 76, 1971, 3). Absent below two measurements.
func Differ(counts []int64) Value {
	var k, same int64
	for _, n := range counts {
		k += n
		same += n * (n - 1)
	}
	if k < 2 {
		return None(NothingRepeated)
	}
	return Known(1 - float64(same)/float64(k*(k-1)))
}

// Variance is the unbiased variance of the numbers measured on one unit. Absent below two.
func Variance(numbers []float64) Value {
	if len(numbers) < 2 {
		return None(NothingRepeated)
	}
	mean := 0.0
	for i, x := range numbers {
		mean += (x - mean) / float64(i+1)
	}
	sum := 0.0
	for _, x := range numbers {
		sum += (x - mean) * (x - mean)
	}
	return Known(sum / float64(len(numbers)-1))
}

// FlipRate is the chance that two measurements of the same unit differ, for a unit of the population:
// sum W_h mean_h(Differ), a stratified mean as in Rate. Units that were measured more often count no more
// than others. Low and High are the worst cases of units without two answers.
//
// There is no interval. One that speaks of the measuring would have to treat units of one user as a
// cluster and must not have zero width where no flip was seen; the variance of Rate's formula does neither.
func FlipRate(strata []Repeated) Estimate {
	return repeated(strata, Known(0), Known(1), func(h Repeated) (int64, float64) { return h.Units, h.Flips })
}

// SplitShare is the share of units whose measurements are not all the same, weighted alike. Unlike
// FlipRate it grows with the number of measurements.
func SplitShare(strata []Repeated) Estimate {
	return repeated(strata, Known(0), Known(1), func(h Repeated) (int64, float64) { return h.Units, float64(h.Split) })
}

// Spread is the standard deviation of the numbers measured on the same unit: the root of the weighted
// mean of the units' variances (Bland and Altman, Measurement error, BMJ 313, 1996: 744; the
// repeatability standard deviation of ISO 5725-2, with strata weighted).
func Spread(strata []Repeated) Value {
	v := repeated(strata, None(Unbounded), None(Unbounded), func(h Repeated) (int64, float64) { return h.Numbers, h.Squares }).Level
	if v.Ok() {
		v.X = math.Sqrt(max(v.X, 0))
	}
	return v
}

func repeated(strata []Repeated, least, most Value, of func(Repeated) (domain int64, sum float64)) Estimate {
	in := make([]Stratum, len(strata))
	for i, h := range strata {
		domain, sum := of(h)
		in[i] = Stratum{Label: h.Label, Line: h.Line, Size: h.Size, Drawn: h.Drawn, Observed: h.Units, Domain: domain, Sum: sum}
	}
	e := Mean(in, least, most)
	if e.Level.Absent == NothingObserved || e.Level.Absent == NothingInDomain {
		e.Level = None(NothingRepeated)
	}
	return e
}
