package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// normalQuantile is z with P(Z <= z) = p.
func normalQuantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }

// normalTail is P(|Z| >= |z|).
func normalTail(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

// tQuantile is t with P(T <= t) = p for Student's distribution with df > 0 degrees of freedom, which need
// not be a whole number. Infinitely many are the normal distribution.
func tQuantile(p, df float64) float64 {
	if math.IsInf(df, 1) {
		return normalQuantile(p)
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p)
}

// tTail is P(|T| >= |t|).
func tTail(t, df float64) float64 {
	if math.IsInf(df, 1) {
		return normalTail(t)
	}
	return mathext.RegIncBeta(df/2, 0.5, df/(df+t*t))
}

// betaQuantile is x with P(X <= x) = p; at a = 0 it is 0 and at b = 0 it is 1, the limits of the
// distribution.
func betaQuantile(p, a, b float64) float64 {
	switch {
	case a <= 0:
		return 0
	case b <= 0:
		return 1
	}
	return mathext.InvRegIncBeta(a, b, p)
}

// chiSquareTail is P(X >= x).
func chiSquareTail(x, df float64) float64 { return mathext.GammaIncRegComp(df/2, x/2) }

// binomialTail is P(X >= k) for n trials of chance p.
func binomialTail(k, n int64, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// binomialMass is P(X = k).
func binomialMass(k, n int64, p float64) float64 {
	return math.Exp(distuv.Binomial{N: float64(n), P: p}.LogProb(float64(k)))
}

// normalCDF is P(Z <= z).
func normalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// binomialAtMost is P(X <= k), exact also far below the mean.
func binomialAtMost(k, n int64, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n:
		return 1
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}
