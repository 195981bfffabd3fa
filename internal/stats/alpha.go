package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Metric is how far two ratings are apart in Krippendorff's alpha.
type Metric int

const (
	Nominal   Metric = iota // 0 or 1
	Ordinal                 // difference of ranks among all ratings that can be paired, squared
	IntervalM               // difference squared
	RatioM                  // ((a-b)/(a+b))^2, of numbers that are not negative
)

// Reliability is Krippendorff's alpha.
type Reliability struct {
	Alpha    Value
	Interval Interval
	Units    int // that have two ratings or more
	Ratings  int // of those units
}

// Alpha is Krippendorff's alpha (Computing Krippendorff's alpha-reliability, 2011): 1 - Do/De with
//
//	Do = 1/n sum over units of 1/(m_u - 1) sum of distance over their ordered pairs of ratings
//	De = 1/(n(n-1)) sum of distance over all ordered pairs of ratings
//
// units lists each unit's ratings by whoever rated it; raters may be missing, and a unit with less than two
// ratings says nothing. The interval draws units with replacement, draws times, and computes all anew; it is
// the same for the same units and seed in whatever order they come. (Krippendorff's own bootstrap draws
// distances with De held, which takes pairs of one unit for independent.)
//
// Absent: nothing_paired without a unit with two ratings, no_variation where all ratings are the same,
// not_a_number, out_of_range for a negative rating with RatioM; and of the interval no_disagreement where
// nothing differs within a unit, too_few_clusters below MinUsers units.
func Alpha(units [][]float64, metric Metric, draws int, seed uint64, confidence float64) Reliability {
	rated, why := pairable(units, metric)
	out := Reliability{Units: len(rated)}
	for _, u := range rated {
		out.Ratings += len(u)
	}
	if why == Defined {
		out.Alpha = alpha(rated, metric)
		why = first(out.Alpha.Absent, unsure(confidence))
	}
	if why != Defined {
		out.Alpha, out.Interval = None(why), noInterval(why, confidence)
		return out
	}
	out.Interval = alphaBootstrap(rated, metric, draws, seed, out.Alpha.X, confidence)
	return out
}

// pairable is the units that count, in an order that does not depend on theirs.
func pairable(units [][]float64, metric Metric) ([][]float64, Absence) {
	var rated [][]float64
	for _, u := range units {
		if !finite(u...) {
			return nil, NotFinite
		}
		if len(u) < 2 {
			continue
		}
		u = slices.Sorted(slices.Values(u))
		if metric == RatioM && u[0] < 0 {
			return nil, OutOfRange
		}
		rated = append(rated, u)
	}
	slices.SortFunc(rated, slices.Compare[[]float64])
	if len(rated) == 0 {
		return nil, NothingPaired
	}
	return rated, Defined
}

func alphaBootstrap(rated [][]float64, metric Metric, draws int, seed uint64, alphaHat, confidence float64) Interval {
	switch {
	case draws < 2:
		return noInterval(OutOfRange, confidence)
	case alphaHat >= 1:
		return noInterval(NoDisagreement, confidence)
	case len(rated) < MinUsers:
		return noInterval(TooFewClusters, confidence)
	}
	r := rand.New(rand.NewPCG(seed, bootstrapStream))
	drawn, found := make([][]float64, len(rated)), make([]float64, 0, draws)
	for range draws {
		for i := range drawn {
			drawn[i] = rated[r.IntN(len(rated))]
		}
		if a := alpha(drawn, metric); a.Ok() {
			found = append(found, a.X)
		}
	}
	if float64(len(found)) < usableDraws*float64(draws) {
		return noInterval(NoVariation, confidence)
	}
	slices.Sort(found)
	return Interval{
		Low: quantile(found, (1-confidence)/2), High: quantile(found, (1+confidence)/2),
		Confidence: confidence, Method: MethodBootstrap, N: float64(len(rated)),
	}
}

// level of a rating and how many ratings have it.
type rating struct{ x, n float64 }

// alpha of units with two ratings or more.
func alpha(units [][]float64, metric Metric) Value {
	var all []float64
	for _, u := range units {
		all = append(all, u...)
	}
	slices.Sort(all)
	var levels []rating
	for _, x := range all {
		if k := len(levels); k > 0 && levels[k-1].x == x {
			levels[k-1].n++
		} else {
			levels = append(levels, rating{x, 1})
		}
	}
	if len(levels) < 2 {
		return None(NoVariation)
	}
	rank := ranks(levels)
	place := func(x float64) float64 {
		i, _ := slices.BinarySearchFunc(levels, x, func(l rating, x float64) int { return cmp.Compare(l.x, x) })
		return rank[i]
	}
	far := distance(metric)
	observed := 0.0
	for _, u := range units {
		sum := 0.0
		for i := range u {
			for j := range i {
				a, b := u[i], u[j]
				if metric == Ordinal {
					a, b = place(a), place(b)
				}
				sum += 2 * far(a, b)
			}
		}
		observed += sum / float64(len(u)-1)
	}
	if metric == Ordinal {
		for i := range levels {
			levels[i].x = rank[i]
		}
	}
	n := float64(len(all))
	expected := apart(levels, metric) / (n - 1)
	if !(expected > 0) || !finite(observed, expected) {
		return None(NoVariation)
	}
	return Known(1 - observed/expected)
}

// ranks is the mean rank of each level: the ordinal distance sum_{g=a..b} n_g - (n_a+n_b)/2 is their
// difference.
func ranks(levels []rating) []float64 {
	out, below := make([]float64, len(levels)), 0.0
	for i, l := range levels {
		out[i] = below + l.n/2
		below += l.n
	}
	return out
}

func distance(metric Metric) func(a, b float64) float64 {
	switch metric {
	case Nominal:
		return func(a, b float64) float64 {
			if a == b {
				return 0
			}
			return 1
		}
	case RatioM:
		return func(a, b float64) float64 {
			if a == b {
				return 0
			}
			return sq((a - b) / (a + b))
		}
	}
	return func(a, b float64) float64 { return sq(a - b) }
}

// apart is sum over levels of n_a n_b distance(a, b).
func apart(levels []rating, metric Metric) float64 {
	var n, mean float64
	for _, l := range levels {
		n += l.n
		mean += (l.x - mean) * l.n / n
	}
	sum := 0.0
	switch metric {
	case Nominal:
		for _, l := range levels {
			sum += l.n * (n - l.n)
		}
	case RatioM:
		far := distance(metric)
		for i, a := range levels {
			for _, b := range levels[:i] {
				sum += 2 * a.n * b.n * far(a.x, b.x)
			}
		}
	default:
		for _, l := range levels {
			sum += 2 * n * l.n * sq(l.x-mean)
		}
	}
	return math.Max(sum, 0)
}
