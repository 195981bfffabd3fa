package stats

import "math"

// Interval is where a number may lie, or the reason that nothing can be said.
type Interval struct {
	Low, High  float64
	Absent     Absence // Defined when Low and High hold
	Confidence float64 // 0.95
	Method     Method
	N          float64 // the sample size that the method reckoned with: effective where weights differ
	DF         float64 // degrees of freedom of the variance; 0 where the method needs none
}

// Method names how an interval was made. Codes are stable; docs/NUMBERS.md has a paragraph for each.
type Method string

const (
	MethodCensus        Method = "census"         // everything was observed: no chance is left
	MethodSmoothed      Method = "smoothed_exact" // Clopper-Pearson at the effective size of a smoothed variance
	MethodUsers         Method = "user_jackknife" // the same with the variance of a jackknife over users
	MethodT             Method = "t"
	MethodBootstrap     Method = "cluster_bootstrap"
	MethodWilson        Method = "wilson"
	MethodExact         Method = "clopper_pearson"
	MethodKornGraubard  Method = "korn_graubard"
	MethodLangReiczigel Method = "lang_reiczigel"
)

// Ok says whether Low and High hold.
func (i Interval) Ok() bool { return i.Absent == Defined }

// Width is High - Low.
func (i Interval) Width() float64 { return i.High - i.Low }

// Has says whether x lies in it, ends included.
func (i Interval) Has(x float64) bool { return i.Ok() && i.Low <= x && x <= i.High }

func noInterval(why Absence, confidence float64) Interval {
	if unsure(confidence) != Defined {
		confidence = 0
	}
	return Interval{Absent: why, Confidence: confidence}
}

// unsure is why there is no interval with this confidence. Every interval asks it first.
func unsure(confidence float64) Absence {
	if confidence > 0 && confidence < 1 {
		return Defined
	}
	return OutOfRange
}

// clip keeps an interval of a share inside [0, 1].
func (i Interval) clip() Interval {
	i.Low, i.High = min(max(i.Low, 0), 1), max(min(i.High, 1), 0)
	return i
}

func countable(k, n, confidence float64) Absence {
	switch {
	case !(n > 0):
		return NothingObserved
	case !(k >= -1e-9*n && k <= n*(1+1e-9)) || math.IsInf(n, 1):
		return OutOfRange
	}
	return unsure(confidence)
}

// Wilson is the score interval for k hits in n trials (Wilson, Probable inference, the law of succession,
// and statistical inference, JASA 22, 1927; method 3 of Newcombe, Two-sided confidence intervals for the
// single proportion, Statistics in Medicine 17, 1998). k and n need not be whole.
func Wilson(k, n, confidence float64) Interval {
	if why := countable(k, n, confidence); why != Defined {
		return noInterval(why, confidence)
	}
	z := normalQuantile(0.5 + confidence/2)
	p, z2 := k/n, z*z
	mid := (p + z2/(2*n)) / (1 + z2/n)
	half := z / (1 + z2/n) * math.Sqrt(max(p*(1-p)/n+z2/(4*n*n), 0))
	return Interval{Low: mid - half, High: mid + half, Confidence: confidence, Method: MethodWilson, N: n}.clip()
}

// ClopperPearson is the exact interval for k hits in n trials by quantiles of the beta distribution
// (Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 26, 1934), which also
// carries k and n that are not whole.
func ClopperPearson(k, n, confidence float64) Interval {
	if why := countable(k, n, confidence); why != Defined {
		return noInterval(why, confidence)
	}
	tail := (1 - confidence) / 2
	return Interval{
		Low: betaQuantile(tail, k, n-k+1), High: betaQuantile(1-tail, k+1, n-k),
		Confidence: confidence, Method: MethodExact, N: n,
	}.clip()
}
