package stats

import "math"

// McNemarTest asks whether rises and falls among pairs are equally likely. It ignores weights: where they
// differ Paired is the test.
type McNemarTest struct {
	Exact      Value // P of the exact conditional test, two-sided
	MidP       Value
	ChiSquare  Value
	P          Value // of ChiSquare
	Corrected  Value // with Edwards' correction for continuity
	PCorrected Value
}

// McNemar is McNemar's test (Note on the sampling error of the difference between correlated proportions,
// Psychometrika 12, 1947) on b pairs that are a hit in A only and c that are one in B only. With n = b + c and
// X ~ Binomial(n, 1/2):
//
//	Exact     min(1, 2 P(X <= min(b,c)))
//	MidP      Exact less P(X = min(b,c)), and 1 - P(X = b)/2 where b = c (Fagerland, Lydersen and Laake, The
//	          McNemar test for binary matched-pairs data, BMC Medical Research Methodology 13, 2013)
//	ChiSquare (b-c)^2/n,  Corrected (|b-c|-1)^2/n, with one degree of freedom
//
// Without a discordant pair Exact is 1 and the others are absent, no_discordant_pairs. Out_of_range for a
// negative count.
func McNemar(b, c int64) McNemarTest {
	none := func(why Absence) McNemarTest {
		x := None(why)
		return McNemarTest{x, x, x, x, x, x}
	}
	n := b + c
	switch {
	case b < 0 || c < 0:
		return none(OutOfRange)
	case n == 0:
		out := none(NoDiscordant)
		out.Exact = Known(1)
		return out
	}
	low := min(b, c)
	exact := min(2*binomialAtMost(low, n, 0.5), 1)
	mid := exact - binomialMass(low, n, 0.5)
	if b == c {
		exact, mid = 1, 1-binomialMass(low, n, 0.5)/2
	}
	d := math.Abs(float64(b - c))
	plain, corrected := d*d/float64(n), (d-1)*(d-1)/float64(n)
	return McNemarTest{
		Exact: Known(exact), MidP: Known(min(max(mid, 0), 1)),
		ChiSquare: Known(plain), P: Known(chiSquareTail(plain, 1)),
		Corrected: Known(corrected), PCorrected: Known(chiSquareTail(corrected, 1)),
	}
}
