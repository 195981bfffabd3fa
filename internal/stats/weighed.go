package stats

// WeighedLabel is one labelled unit that stands for Weight units: one over the chance that it was drawn, times
// what its stratum weighs.
type WeighedLabel struct {
	Weight      float64
	Test, Truth bool
}

// WeighConfusion is Confusion.Of for labels that were not drawn with equal chances. Each share is the weighted
// one. Its interval is ShareInterval at an effective size: that of Kish, (sum w)^2 / sum w^2 over the labels of
// its denominator, or p(1-p)/v with v = sum (w (y - p))^2 / (sum w)^2 if that is less; with equal weights it is
// the number of labels. MCC's is at Kish's size of all labels. Absent as Confusion.Of, and no_probability where
// a weight is not positive.
func WeighConfusion(labels []WeighedLabel, confidence float64) Confused {
	none := func(why Absence) Confused {
		s := noShare(why, confidence)
		return Confused{s, s, s, s, s, s, s, s}
	}
	if why := unsure(confidence); why != Defined {
		return none(why)
	}
	for _, l := range labels {
		if !finite(l.Weight) || l.Weight <= 0 {
			return none(NoProbability)
		}
	}
	right := func(l WeighedLabel) bool { return l.Test == l.Truth }
	of := func(why Absence, in, hit func(WeighedLabel) bool) Share {
		k, n := effective(labels, in, hit)
		return share(k, n, why, confidence)
	}
	both := func(l WeighedLabel) bool { return l.Test && l.Truth }
	out := Confused{
		Sensitivity: of(NoPositives, func(l WeighedLabel) bool { return l.Truth }, right),
		Specificity: of(NoNegatives, func(l WeighedLabel) bool { return !l.Truth }, right),
		PPV:         of(NonePositive, func(l WeighedLabel) bool { return l.Test }, right),
		NPV:         of(NoneNegative, func(l WeighedLabel) bool { return !l.Test }, right),
		Accuracy:    of(NoLabels, func(WeighedLabel) bool { return true }, right),
		F1:          of(NoPositives, func(l WeighedLabel) bool { return l.Test || l.Truth }, both).harmonic(),
	}
	out.Balanced = balanced(out.Sensitivity, out.Specificity)
	out.MCC = scaled(labels).mcc(out, confidence)
	return out
}

// scaled is the weighted table as if of as many labels as Kish's effective size.
func scaled(labels []WeighedLabel) (c Confusion) {
	n, by := kish(labels), [4][]float64{}
	for _, l := range labels {
		i := 0
		if l.Test {
			i++
		}
		if l.Truth {
			i += 2
		}
		by[i] = append(by[i], l.Weight)
	}
	sum := totalOf(labels, func(l WeighedLabel) float64 { return l.Weight })
	for i, x := range []*float64{&c.TrueNegative, &c.FalsePositive, &c.FalseNegative, &c.TruePositive} {
		if sum > 0 {
			*x = total(by[i]) / sum * n
		}
	}
	return c
}

func kish(labels []WeighedLabel) float64 {
	if len(labels) == 0 {
		return 0
	}
	sum := totalOf(labels, func(l WeighedLabel) float64 { return l.Weight })
	return sum * sum / totalOf(labels, func(l WeighedLabel) float64 { return l.Weight * l.Weight })
}

// effective is the hits and size that a weighted share is worth.
func effective(labels []WeighedLabel, in, hit func(WeighedLabel) bool) (k, n float64) {
	var inside []WeighedLabel
	var hits []float64
	for _, l := range labels {
		if in(l) {
			inside = append(inside, l)
			if hit(l) {
				hits = append(hits, l.Weight)
			}
		}
	}
	if len(inside) == 0 {
		return 0, 0
	}
	if len(hits) == len(inside) {
		return kish(inside), kish(inside)
	}
	sum := totalOf(inside, func(l WeighedLabel) float64 { return l.Weight })
	p := total(hits) / sum
	v := totalOf(inside, func(l WeighedLabel) float64 {
		y := -p
		if hit(l) {
			y++
		}
		return sq(l.Weight * y / sum)
	})
	n = kish(inside)
	if p > 0 && v > 0 {
		n = min(n, p*(1-p)/v)
	}
	return p * n, n
}
