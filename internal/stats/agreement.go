package stats

import "math"

// Agreement is how far two raters agree beyond chance.
type Agreement struct {
	N        int64
	Observed Value // share of units on which they agree; with weights, the mean weight
	Chance   Value // the same had they rated independently with their own habits
	Kappa    Value // 1 is full agreement, 0 that of chance
	SE       Value // standard error of Kappa
	SE0      Value // standard error where only chance agrees
	Z, P     Value // of the hypothesis that only chance agrees, two-sided
	Interval Interval
	Raw      Interval // of the unweighted share of units on which they agree, Wilson's
}

// Weights say how much two categories agree, 1 on the diagonal.
type Weights func(i, j, categories int) float64

// Unweighted counts equal categories only.
func Unweighted(i, j, _ int) float64 {
	if i == j {
		return 1
	}
	return 0
}

// Linear is 1 - |i-j|/(k-1) (Cicchetti and Allison 1971).
func Linear(i, j, k int) float64 { return 1 - math.Abs(float64(i-j))/float64(max(k-1, 1)) }

// Quadratic is 1 - (i-j)^2/(k-1)^2 (Fleiss and Cohen 1973).
func Quadratic(i, j, k int) float64 {
	d := float64(i-j) / float64(max(k-1, 1))
	return 1 - d*d
}

// Custom takes the weights of a table; those beyond it are 0.
func Custom(table [][]float64) Weights {
	return func(i, j, _ int) float64 {
		if i >= len(table) || j >= len(table[i]) {
			return 0
		}
		return table[i][j]
	}
}

// Kappa is Cohen's kappa (Educational and Psychological Measurement 20, 1960), weighted (Psychological
// Bulletin 70, 1968) where weights are not Unweighted: (po - pe)/(1 - pe) with po = sum w_ij p_ij and
// pe = sum w_ij p_i. p_.j. table[i][j] counts the units that the first rater put into category i and the
// second into j; all categories of the scale belong into it, also unused ones, since weights go by position.
// The standard errors are those of Fleiss, Cohen and Everitt (Large sample standard errors of kappa and
// weighted kappa, Psychological Bulletin 72, 1969):
//
//	SE^2  n (1-pe)^2 = sum p_ij (w_ij - (w_i. + w_.j)(1-kappa))^2 - (kappa - pe (1-kappa))^2
//	SE0^2 n (1-pe)^2 = sum p_i. p_.j (w_ij - (w_i. + w_.j))^2 - pe^2
//
// with w_i. = sum_j w_ij p_.j and w_.j = sum_i w_ij p_i. . The interval is kappa -+ z SE.
// Absent: nothing_paired for an empty table, out_of_range for a negative count or a table that is not square,
// no_variation where chance alone agrees fully (both used one and the same category); and of SE and interval
// no_disagreement where nothing differs.
func Kappa(table [][]int64, weights Weights, confidence float64) Agreement {
	a, p, why := newAgreement(table, confidence)
	if why = first(why, unsure(confidence)); why != Defined {
		return a.absent(why, confidence)
	}
	return a.kappa(p, float64(a.N), weights, confidence)
}

// WeighKappa is Kappa of units that stand for unequal numbers: table[i][j] is the sum of their weights, n the
// effective number of units, by which errors go: Kish's (sum w)^2 / sum w^2. N of the answer is n rounded. Absent as
// Kappa, and out_of_range where n is not above 0.
func WeighKappa(table [][]float64, n float64, weights Weights, confidence float64) Agreement {
	var a Agreement
	sum := 0.0
	for _, row := range table {
		for _, x := range row {
			if len(row) != len(table) || !finite(x) || x < 0 {
				return a.absent(OutOfRange, confidence)
			}
			sum += x
		}
	}
	switch why := unsure(confidence); {
	case why != Defined:
		return a.absent(why, confidence)
	case sum == 0:
		return a.absent(NothingPaired, confidence)
	case !finite(n) || n <= 0:
		return a.absent(OutOfRange, confidence)
	}
	same := 0.0
	p := make([][]float64, len(table))
	for i, row := range table {
		p[i] = make([]float64, len(row))
		for j, x := range row {
			p[i][j] = x / sum
		}
		same += p[i][i]
	}
	a.N, a.Raw = int64(math.Round(n)), Wilson(same*n, n, confidence)
	return a.kappa(p, n, weights, confidence)
}

// kappa is that of a table of shares, of n units.
func (a Agreement) kappa(p [][]float64, n float64, weights Weights, confidence float64) Agreement {
	k := len(p)
	rows, columns := make([]float64, k), make([]float64, k)
	for i := range p {
		for j, x := range p[i] {
			rows[i], columns[j] = rows[i]+x, columns[j]+x
		}
	}
	meanRow, meanColumn := make([]float64, k), make([]float64, k)
	var po, pe float64
	for i := range p {
		for j, x := range p[i] {
			w := weights(i, j, k)
			if !finite(w) {
				return a.absent(NotFinite, confidence)
			}
			po += w * x
			pe += w * rows[i] * columns[j]
			meanRow[i] += w * columns[j]
			meanColumn[j] += w * rows[i]
		}
	}
	a.Observed, a.Chance = Known(po), Known(pe)
	if 1-pe <= 1e-12 {
		return a.absent(NoVariation, confidence)
	}
	kappa := (po - pe) / (1 - pe)
	var v, v0 float64
	for i := range p {
		for j, x := range p[i] {
			w, m := weights(i, j, k), meanRow[i]+meanColumn[j]
			v += x * sq(w-m*(1-kappa))
			v0 += rows[i] * columns[j] * sq(w-m)
		}
	}
	below := n * sq(1-pe)
	a.Kappa = Known(kappa)
	a.decide(less(v, sq(kappa-pe*(1-kappa)))/below, less(v0, pe*pe)/below, confidence)
	return a
}

// less is v - x of a variance, and 0 where rounding alone keeps them apart.
func less(v, x float64) float64 {
	if v-x <= 1e-12*v {
		return 0
	}
	return v - x
}

func sq(x float64) float64 { return x * x }

// newAgreement checks the table and gives its shares.
func newAgreement(table [][]int64, confidence float64) (a Agreement, p [][]float64, why Absence) {
	same := int64(0)
	for i, row := range table {
		if len(row) != len(table) {
			return a, nil, OutOfRange
		}
		for j, n := range row {
			if n < 0 {
				return a, nil, OutOfRange
			}
			a.N += n
			if i == j {
				same += n
			}
		}
	}
	if a.N == 0 {
		return a, nil, NothingPaired
	}
	a.Raw = Wilson(float64(same), float64(a.N), confidence)
	p = make([][]float64, len(table))
	for i, row := range table {
		p[i] = make([]float64, len(row))
		for j, n := range row {
			p[i][j] = float64(n) / float64(a.N)
		}
	}
	return a, p, Defined
}

// absent keeps what is known: with no_variation that is the raw agreement.
func (a Agreement) absent(why Absence, confidence float64) Agreement {
	a.Kappa, a.SE, a.SE0, a.Z, a.P = None(why), None(why), None(why), None(why), None(why)
	a.Interval = noInterval(why, confidence)
	if why != NoVariation {
		a.Observed, a.Chance = None(why), None(why)
		a.Raw = noInterval(why, confidence)
	}
	return a
}

func (a *Agreement) decide(v, v0, confidence float64) {
	a.SE0, a.Z, a.P = None(NoVariation), None(NoVariation), None(NoVariation)
	if v0 > 1e-18 {
		a.SE0 = Known(math.Sqrt(v0))
		a.Z = Known(a.Kappa.X / a.SE0.X)
		a.P = Known(normalTail(a.Z.X))
	}
	if v <= 1e-18 {
		why := NoVariation
		if a.Kappa.X >= 1-1e-12 {
			why = NoDisagreement
		}
		a.SE, a.Interval = None(why), noInterval(why, confidence)
		return
	}
	a.SE = Known(math.Sqrt(v))
	half := normalQuantile(0.5+confidence/2) * a.SE.X
	a.Interval = Interval{
		Low: max(a.Kappa.X-half, -1), High: min(a.Kappa.X+half, 1),
		Confidence: confidence, Method: MethodKappa, N: float64(a.N),
	}
}
