package stats

import "math"

// RoganGladen corrects the apparent rate of a test whose sensitivity and specificity were found elsewhere:
// (apparent + Sp - 1)/(Se + Sp - 1) (Rogan and Gladen, Estimating prevalence from the results of a screening
// test, American Journal of Epidemiology 107, 1978). The level is not cut to [0, 1]: outside of it the test
// does not behave here as it did there, which is worth seeing. n is the effective size behind apparent
// (Interval.N of RateInterval), elsewhere the table that Se and Sp come from.
//
// The interval carries the error of all three and is cut to [0, 1] (Lang and Reiczigel, Confidence limits for
// prevalence of disease adjusted for estimated sensitivity and specificity, Preventive Veterinary Medicine
// 113, 2014): with p' = (p n + z^2/2)/(n + z^2), Se' and Sp' each by one hit and one miss more, t the level
// they give and v(x) = x(1-x)/size,
//
//	t + 2 z^2 (t v(Se') - (1-t) v(Sp')) -+ z sqrt(v(p') + t^2 v(Se') + (1-t)^2 v(Sp')) / (Se' + Sp' - 1)
//
// It is always Transported: it assumes that the test errs here as it did there, which the interval cannot
// know. Absent: no_better_than_chance where Se + Sp <= 1; no_positive_labels, no_negative_labels;
// nothing_graded where n is not above 0; out_of_range.
func RoganGladen(apparent, n float64, elsewhere Confusion, confidence float64) Corrected {
	of := elsewhere.Of(confidence)
	out := Corrected{Transported: true, PPV: of.PPV, Missed: of.NPV}
	out.Missed.X = 1 - of.NPV.X
	out.Missed.Interval.Low, out.Missed.Interval.High = 1-of.NPV.Interval.High, 1-of.NPV.Interval.Low
	if !of.NPV.Ok() {
		out.Missed = of.NPV
	}
	why := Defined
	switch {
	case !finite(apparent, n) || apparent < 0 || apparent > 1 || unsure(confidence) != Defined:
		why = OutOfRange
	case !(n > 0):
		why = NothingObserved
	case !of.Sensitivity.Ok():
		why = of.Sensitivity.Absent
	case !of.Specificity.Ok():
		why = of.Specificity.Absent
	case of.Sensitivity.X+of.Specificity.X <= 1+1e-12:
		why = NotBetter
	}
	out.Raw = Known(apparent)
	if why != Defined {
		if why == OutOfRange {
			out.Raw = None(why)
		}
		out.Level, out.Interval = None(why), noInterval(why, confidence)
		return out
	}
	positives, negatives := elsewhere.TruePositive+elsewhere.FalseNegative, elsewhere.TrueNegative+elsewhere.FalsePositive
	out.Labels = int(math.Round(positives + negatives))
	out.Level = defined((apparent + of.Specificity.X - 1) / (of.Sensitivity.X + of.Specificity.X - 1))
	out.Interval = langReiczigel(apparent, n, elsewhere.TruePositive, positives, elsewhere.TrueNegative, negatives, confidence)
	return out
}

func langReiczigel(p, n, tp, positives, tn, negatives, confidence float64) Interval {
	z := normalQuantile(0.5 + confidence/2)
	p, n = (p*n+z*z/2)/(n+z*z), n+z*z
	se, sp := (tp+1)/(positives+2), (tn+1)/(negatives+2)
	vse, vsp := se*(1-se)/(positives+2), sp*(1-sp)/(negatives+2)
	j := se + sp - 1
	if j <= 1e-12 {
		return noInterval(NotBetter, confidence)
	}
	t := (p + sp - 1) / j
	mid := t + 2*z*z*(t*vse-(1-t)*vsp)
	step := z * math.Sqrt(p*(1-p)/n+t*t*vse+(1-t)*(1-t)*vsp) / j
	if !finite(mid, step) {
		return noInterval(OutOfRange, confidence)
	}
	return Interval{Low: mid - step, High: mid + step, Confidence: confidence, Method: MethodLangReiczigel, N: n - z*z}.clip()
}

// RoganGladenKnown takes an apparent rate and its interval through (x + Sp - 1)/(Se + Sp - 1) as if Se and Sp
// were known, uncut, as epiR's epi.prev does (Reiczigel, Foldi and Ozsvari, Exact confidence limits for
// prevalence of a disease with an imperfect diagnostic test, Epidemiology and Infection 138, 2010). It is here
// to compare with: it ignores the error of Se and Sp. Absent: no_better_than_chance, out_of_range, and the
// interval where that of the apparent rate is.
func RoganGladenKnown(apparent float64, interval Interval, se, sp float64) (Value, Interval) {
	none := func(why Absence) (Value, Interval) { return None(why), noInterval(why, interval.Confidence) }
	switch {
	case !finite(apparent, se, sp) || min(apparent, se, sp) < 0 || max(apparent, se, sp) > 1:
		return none(OutOfRange)
	case se+sp <= 1+1e-12:
		return none(NotBetter)
	}
	f := func(x float64) float64 { return (x + sp - 1) / (se + sp - 1) }
	if interval.Ok() {
		interval.Low, interval.High, interval.Method = f(interval.Low), f(interval.High), MethodKnownTest
	}
	return Known(f(apparent)), interval
}
