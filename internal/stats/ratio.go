package stats

import "math"

// RatioTest asks whether units went to arms in the shares that were meant.
type RatioTest struct {
	P         Value
	ChiSquare Value // absent where the test is exact
	Exact     bool
}

// SampleRatio is the test for a sample-ratio mismatch (Fabijan and others, Diagnosing sample ratio mismatch in
// online controlled experiments, KDD 2019): chi-square sum (n_a - N s_a)^2/(N s_a) with one degree of freedom
// less than arms; with two arms of which one expects fewer than 50 units, the exact binomial test, which adds
// up all outcomes that are no likelier than the one seen. shares need not sum to 1. Absent: nothing_graded
// without units, out_of_range for a negative count, a share that is not positive or fewer than two arms,
// expected_too_small where more than two arms expect fewer than 5 units in one.
func SampleRatio(counts []int64, shares []float64) RatioTest {
	none := func(why Absence) RatioTest { return RatioTest{P: None(why), ChiSquare: None(why)} }
	if len(counts) != len(shares) || len(counts) < 2 {
		return none(OutOfRange)
	}
	var n int64
	for i, c := range counts {
		if c < 0 || !finite(shares[i]) || shares[i] <= 0 {
			return none(OutOfRange)
		}
		n += c
	}
	if n == 0 {
		return none(NothingObserved)
	}
	all, least := total(shares), math.Inf(1)
	parts := make([]float64, len(counts))
	for i, c := range counts {
		e := float64(n) * shares[i] / all
		least = min(least, e)
		parts[i] = sq(float64(c)-e) / e
	}
	switch {
	case len(counts) == 2 && least < 50:
		return RatioTest{P: Known(binomialTest(counts[0], n, shares[0]/all)), ChiSquare: None(ExpectedTooSmall), Exact: true}
	case least < 5:
		return none(ExpectedTooSmall)
	}
	x := total(parts)
	return RatioTest{P: defined(chiSquareTail(x, float64(len(counts)-1))), ChiSquare: defined(x)}
}

// binomialTest is P of all outcomes no likelier than k: the tail beyond k and the part of the other that is as
// unlikely (R's binom.test).
func binomialTest(k, n int64, p float64) float64 {
	mean := float64(n) * p
	limit := binomialMass(k, n, p) * (1 + 1e-7)
	switch {
	case float64(k) == mean:
		return 1
	case float64(k) < mean:
		// the first outcome above the mean that is no likelier; masses fall from there
		low, high := int64(math.Ceil(mean)), n+1
		for low < high {
			if mid := low + (high-low)/2; binomialMass(mid, n, p) <= limit {
				high = mid
			} else {
				low = mid + 1
			}
		}
		return min(binomialAtMost(k, n, p)+binomialTail(low, n, p), 1)
	}
	low, high := int64(-1), int64(math.Floor(mean))
	for low < high {
		if mid := low + (high-low+1)/2; binomialMass(mid, n, p) <= limit {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return min(binomialTail(k, n, p)+binomialAtMost(low, n, p), 1)
}
