package stats

import "math"

// Confusion counts units by what a test said of them and what they are.
type Confusion struct {
	TruePositive, FalsePositive, FalseNegative, TrueNegative float64
}

// Share is a number between 0 and 1, or for MCC between -1 and 1, and its interval.
type Share struct {
	Value
	Interval Interval
}

// Confused is what a confusion table says. Each share is absent where its denominator is empty.
type Confused struct {
	Sensitivity Share // TP/(TP+FN): no_positive_labels
	Specificity Share // TN/(TN+FP): no_negative_labels
	PPV         Share // TP/(TP+FP): nothing_tests_positive
	NPV         Share // TN/(TN+FN): nothing_tests_negative
	Accuracy    Share // (TP+TN)/n: no_labels
	Balanced    Share // (sensitivity + specificity)/2
	F1          Share // 2TP/(2TP+FP+FN)
	MCC         Share // correlation of test and truth
}

// Of gives all numbers of the table. Simple shares have ShareInterval. Balanced accuracy, a sum of two
// independent shares, has that of squares added: level - sqrt(sum (x - low)^2)/2 (Newcombe, Interval
// estimation for the difference between independent proportions, Statistics in Medicine 17, 1998, method 10).
// F1 = 2J/(1+J) with J = TP/(TP+FP+FN) has the interval of J, taken through that. MCC has the interval of
// MCCInterval. Out_of_range for a negative count.
func (c Confusion) Of(confidence float64) Confused {
	tp, fp, fn, tn := c.TruePositive, c.FalsePositive, c.FalseNegative, c.TrueNegative
	if !finite(tp, fp, fn, tn) || min(tp, fp, fn, tn) < 0 || unsure(confidence) != Defined {
		s := noShare(OutOfRange, confidence)
		return Confused{s, s, s, s, s, s, s, s}
	}
	out := Confused{
		Sensitivity: share(tp, tp+fn, NoPositives, confidence),
		Specificity: share(tn, tn+fp, NoNegatives, confidence),
		PPV:         share(tp, tp+fp, NonePositive, confidence),
		NPV:         share(tn, tn+fn, NoneNegative, confidence),
		Accuracy:    share(tp+tn, tp+fp+fn+tn, NoLabels, confidence),
	}
	out.Balanced = balanced(out.Sensitivity, out.Specificity)
	out.F1 = share(tp, tp+fp+fn, NoPositives, confidence).harmonic()
	out.MCC = c.mcc(out, confidence)
	return out
}

// harmonic takes J = TP/(TP+FP+FN) to F1.
func (s Share) harmonic() Share {
	if s.Ok() {
		f := func(j float64) float64 { return 2 * j / (1 + j) }
		s.X, s.Interval.Low, s.Interval.High = f(s.X), f(s.Interval.Low), f(s.Interval.High)
	}
	return s
}

func noShare(why Absence, confidence float64) Share {
	return Share{None(why), noInterval(why, confidence)}
}

func share(k, n float64, why Absence, confidence float64) Share {
	if n <= 0 {
		return noShare(why, confidence)
	}
	return Share{Known(k / n), ShareInterval(k, n, confidence)}
}

// ShareInterval is Wilson's interval of k hits in n where both hits and misses are more than 10, and else the
// exact one of Clopper and Pearson: with few of either Wilson's hits as seldom as 0.83 of the time.
func ShareInterval(k, n, confidence float64) Interval {
	if min(k, n-k) > 10 {
		return Wilson(k, n, confidence)
	}
	return ClopperPearson(k, n, confidence)
}

func balanced(a, b Share) Share {
	for _, s := range []Share{a, b} {
		if !s.Ok() {
			return noShare(s.Absent, s.Interval.Confidence)
		}
	}
	x := (a.X + b.X) / 2
	return Share{Known(x), Interval{
		Low:        x - math.Hypot(a.X-a.Interval.Low, b.X-b.Interval.Low)/2,
		High:       x + math.Hypot(a.Interval.High-a.X, b.Interval.High-b.X)/2,
		Confidence: a.Interval.Confidence, Method: MethodSquareAdd, N: a.Interval.N + b.Interval.N,
	}.clip()}
}

// mcc is (TP TN - FP FN)/sqrt of the product of the four margins (Matthews, Biochimica et Biophysica Acta
// 405, 1975), which is the phi coefficient, with the delta-method variance of phi in a multinomial sample
// (Bishop, Fienberg and Holland, Discrete Multivariate Analysis, 1975, 11.3), on Fisher's z so that it stays
// within -1 and 1. Absent where a margin is empty (some set it to 0, which would say "no better than chance"),
// the interval also where nothing, or everything, is wrong.
func (c Confusion) mcc(of Confused, confidence float64) Share {
	for _, s := range []Share{of.Sensitivity, of.Specificity, of.PPV, of.NPV} {
		if !s.Ok() {
			return noShare(s.Absent, confidence)
		}
	}
	n := c.TruePositive + c.FalsePositive + c.FalseNegative + c.TrueNegative
	a1, b1 := (c.TruePositive+c.FalsePositive)/n, (c.TruePositive+c.FalseNegative)/n
	a0, b0 := 1-a1, 1-b1
	root := math.Sqrt(a1 * a0 * b1 * b0)
	phi := (c.TruePositive/n*c.TrueNegative/n - c.FalsePositive/n*c.FalseNegative/n) / root
	if !finite(phi) {
		return noShare(OutOfRange, confidence)
	}
	phi = min(max(phi, -1), 1)
	out := Share{Known(phi), noInterval(NoDisagreement, confidence)}
	if 1-phi*phi < 1e-12 {
		return out
	}
	v := (1 - phi*phi + phi*(1+phi*phi/2)*(a1-a0)*(b1-b0)/root - 0.75*phi*phi*(sq(a1-a0)/(a1*a0)+sq(b1-b0)/(b1*b0))) / n
	step := normalQuantile(0.5+confidence/2) * math.Sqrt(max(v, 0)) / (1 - phi*phi)
	out.Interval = Interval{
		Low: math.Tanh(math.Atanh(phi) - step), High: math.Tanh(math.Atanh(phi) + step),
		Confidence: confidence, Method: MethodFisherZ, N: n,
	}
	return out
}
