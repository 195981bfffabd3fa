package stats

import (
	"math"
	"slices"
)

// Powered is a mean of truths that leans on a test as far as the test is worth it.
type Powered struct {
	Level    Value
	SE       Value
	Lambda   Value // how far: 0 not at all (the mean of the labels), 1 fully
	Interval Interval
	Raw      Value // what the test says
	Labels   int
}

func noPowered(why Absence, confidence float64, labels int) Powered {
	x := None(why)
	return Powered{Level: x, SE: x, Lambda: x, Raw: x, Interval: noInterval(why, confidence), Labels: labels}
}

// PredictionPower is the prediction-powered mean of n labelled units with truths y and test scores f and of N
// more that have scores g only: mean(y) - lambda (mean(f) - mean(g)), with variance
// lambda^2 var(g)/N + var(y - lambda f)/n and a normal interval (Angelopoulos and others, Prediction-powered
// inference, Science 382, 2023). Where lambda is absent it is the one of least variance,
// cov(y, f)/((1 + n/N) var(f and g)), cut to [0, 1] (Angelopoulos, Duchi and Zrnic, PPI++, arXiv 2311.01453).
// It is the textbook form for two simple random samples, as ppi_py computes it; PredictionPowered is for
// strata. Absent: no_labels below two labels, nothing_graded without scores, not_a_number, and the interval
// no_variation where nothing varies.
func PredictionPower(y, f, g []float64, lambda Value, confidence float64) Powered {
	switch {
	case unsure(confidence) != Defined:
		return noPowered(OutOfRange, confidence, len(y))
	case len(y) < 2:
		return noPowered(NoLabels, confidence, len(y))
	case len(g) == 0:
		return noPowered(NothingObserved, confidence, len(y))
	case len(f) != len(y):
		return noPowered(OutOfRange, confidence, len(y))
	case !finite(y...) || !finite(f...) || !finite(g...) || !finite(lambda.X):
		return noPowered(NotFinite, confidence, len(y))
	}
	n, more := float64(len(y)), float64(len(g))
	my, mf, mg := total(y)/n, total(f)/n, total(g)/more
	if !lambda.Ok() {
		products := make([]float64, len(y))
		for i := range y {
			products[i] = (y[i] - my) * (f[i] - mf)
		}
		lambda = Known(tuned(total(products)/n, (1+n/more)*squares(slices.Concat(f, g))/(n+more-1)))
	}
	e := make([]float64, len(y))
	for i := range y {
		e[i] = y[i] - lambda.X*f[i]
	}
	out := Powered{Level: defined(my - lambda.X*(mf-mg)), Lambda: lambda, Raw: Known(mg), Labels: len(y)}
	v := sq(lambda.X)*squares(g)/(more*more) + squares(e)/(n*n)
	if !(v > 0) || !finite(v) {
		out.SE, out.Interval = None(NoVariation), noInterval(NoVariation, confidence)
		return out
	}
	out.SE = Known(math.Sqrt(v))
	step := normalQuantile(0.5+confidence/2) * out.SE.X
	out.Interval = Interval{
		Low: out.Level.X - step, High: out.Level.X + step,
		Confidence: confidence, Method: MethodPredictionPower, N: n,
	}
	return out
}

// squares is sum (x - mean)^2.
func squares(xs []float64) float64 {
	mean := total(xs) / float64(len(xs))
	return totalOf(xs, func(x float64) float64 { return (x - mean) * (x - mean) })
}

func tuned(cov, variance float64) float64 {
	if !(variance > 0) {
		return 0
	}
	return min(max(cov/variance, 0), 1)
}
