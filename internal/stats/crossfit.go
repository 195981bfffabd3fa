package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// ScoreLabel is the true score of one observed unit, beside the test's.
type ScoreLabel struct {
	Stratum     int     // index into the strata
	User        int     // as in Cell; looked at where cells are given
	Test, Truth float64 // scores
	Probability float64 // that this observed unit was drawn to be labelled, 0 < p <= 1
}

// Folds is how many parts of the labels the cross-fit of PredictionPowered has.
const Folds = 5

// PredictionPowered is the prediction-powered mean over strata: F lambda + sum r (y - lambda_i f)/sum r, with F
// the weighted mean of the test over all observed units (Mean), r a label's weight W_h/n_h over its
// probability. One lambda for all strata, the weighted regression of y on f, which is the one of least variance
// where the labelled units are part of the frame, cut to [0, 1]; lambda_i is the one found without the fold
// of label i, so that no label tunes the weight of its own test score (cross-fit; Folds folds by user, or by
// label, drawn by seed); lambda is their weighted mean.
//
//	V = lambda^2 V_F + V_E + 2 lambda C
//
// V_F is MeanInterval's, V_E the linearised variance of the weighted mean of residuals as in LabelCorrected, C
// the weighted covariance of test and residual over observed units. Residuals that are all the same take the
// variance of one whose error is most - least, as LabelCorrected smooths. The interval is t with
// Satterthwaite's degrees of freedom, cut to [least, most]. Absent: as LabelCorrected, no_labels below two
// users or labels, and no_variation where residuals are all the same and there are no limits.
func PredictionPowered(strata []Stratum, cells []Cell, labels []ScoreLabel, target Target, least, most Value, seed uint64, confidence float64) Powered {
	l, why := newLevel(strata, least, most)
	if why = first(why, unsure(confidence)); why != Defined {
		return noPowered(why, confidence, len(labels))
	}
	p := powering{level: l, byUser: cells != nil && target == Process}
	if why := p.take(labels, target); why != Defined {
		out := noPowered(why, confidence, len(labels))
		out.Raw = Known(l.p)
		return out
	}
	p.fit(seed)
	lambda := p.mean(func(w scored) float64 { return w.lambda })
	rest := p.mean(scored.residual)
	out := Powered{Level: defined(lambda*l.p + rest), Lambda: Known(lambda), Raw: Known(l.p), Labels: len(labels)}
	vf, why := l.variance(cells, target)
	ve, df, whyE := p.variance(rest, least, most)
	if why == Defined {
		why = whyE
	}
	if why != Defined {
		out.SE, out.Interval = None(why), noInterval(why, confidence)
		return out
	}
	v := max(sq(lambda)*vf.v+ve+2*lambda*p.covariance(rest), sq(lambda)*vf.v, ve)
	out.SE = defined(math.Sqrt(v))
	if v == 0 {
		out.Interval = Interval{Low: out.Level.X, High: out.Level.X, Confidence: confidence, Method: MethodCensus, N: l.n}
		return out
	}
	df = sq(sq(lambda)*vf.v+ve) / (sq(sq(lambda)*vf.v)/max(vf.df, 1) + sq(ve)/max(df, 1))
	step := tQuantile(0.5+confidence/2, max(df, 1)) * out.SE.X
	out.Interval = Interval{
		Low: out.Level.X - step, High: out.Level.X + step,
		Confidence: confidence, Method: MethodPredictionPower, N: float64(len(labels)), DF: df,
	}
	if least.Ok() && most.Ok() {
		out.Interval.Low = min(max(out.Interval.Low, least.X), most.X)
		out.Interval.High = max(min(out.Interval.High, most.X), least.X)
	}
	return out
}

type powering struct {
	*level
	byUser bool
	rows   []scored
	sum    float64 // of r
}

type scored struct {
	user, fold    int
	r, left, unit float64 // weight; what chance is left; weight of an observed unit
	rest          float64 // of the window, what chance is left in the draw of observed units
	f, y, lambda  float64
}

func (w scored) residual() float64 { return w.y - w.lambda*w.f }

func (p *powering) take(labels []ScoreLabel, target Target) Absence {
	for i, x := range labels {
		switch {
		case !finite(x.Test, x.Truth):
			return NotFinite
		case !(x.Probability > 0 && x.Probability <= 1):
			return NoProbability
		case x.Stratum < 0 || x.Stratum >= len(p.of) || p.of[x.Stratum] < 0:
			return OutOfRange
		}
		h := p.groups[p.of[x.Stratum]]
		w := scored{user: i, unit: p.unit(h), left: 1, rest: 1, f: x.Test, y: x.Truth}
		w.r = w.unit / x.Probability
		if p.byUser {
			w.user = x.User
		}
		if target == Window {
			f := float64(h.Observed) / float64(h.Size)
			w.left, w.rest = max(1-f*x.Probability, 0), max(1-f, 0)
		}
		p.rows = append(p.rows, w)
	}
	users := p.arrange()
	p.sum = totalOf(p.rows, func(w scored) float64 { return w.r })
	if users < 2 {
		return NoLabels
	}
	return Defined
}

// arrange puts rows in an order, and gives users numbers, that what they say decides and neither names nor
// the order in which they came.
func (p *powering) arrange() (users int) {
	by := map[int][]scored{}
	for _, w := range p.rows {
		by[w.user] = append(by[w.user], w)
	}
	compare := func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.r, b.r), cmp.Compare(a.f, b.f), cmp.Compare(a.y, b.y), cmp.Compare(a.unit, b.unit), cmp.Compare(a.left, b.left))
	}
	sorted := make([][]scored, 0, len(by))
	for _, rows := range by {
		slices.SortFunc(rows, compare)
		sorted = append(sorted, rows)
	}
	slices.SortFunc(sorted, func(a, b []scored) int { return slices.CompareFunc(a, b, compare) })
	p.rows = p.rows[:0]
	for i, rows := range sorted {
		for _, w := range rows {
			w.user = i
			p.rows = append(p.rows, w)
		}
	}
	return len(sorted)
}

func (p *powering) mean(of func(scored) float64) float64 {
	return totalOf(p.rows, func(w scored) float64 { return w.r * of(w) }) / p.sum
}

// fit gives each row the lambda of the other folds.
func (p *powering) fit(seed uint64) {
	users := p.rows[len(p.rows)-1].user + 1
	order := rand.New(rand.NewPCG(seed, bootstrapStream)).Perm(users)
	for i := range p.rows {
		p.rows[i].fold = order[p.rows[i].user] % Folds
	}
	for k := range min(Folds, users) {
		var others []scored
		for _, w := range p.rows {
			if w.fold != k {
				others = append(others, w)
			}
		}
		lambda := regression(others)
		for i := range p.rows {
			if p.rows[i].fold == k {
				p.rows[i].lambda = lambda
			}
		}
	}
}

func regression(rows []scored) float64 {
	sum := totalOf(rows, func(w scored) float64 { return w.r })
	f := totalOf(rows, func(w scored) float64 { return w.r * w.f }) / sum
	y := totalOf(rows, func(w scored) float64 { return w.r * w.y }) / sum
	return tuned(
		totalOf(rows, func(w scored) float64 { return w.r * (w.f - f) * (w.y - y) }),
		totalOf(rows, func(w scored) float64 { return w.r * sq(w.f-f) }))
}

// variance of the weighted mean of residuals, and its degrees of freedom.
func (p *powering) variance(mean float64, least, most Value) (v, df float64, why Absence) {
	weight, by := map[int]float64{}, map[int]float64{}
	left, size := 0.0, 0.0
	for _, w := range p.rows {
		weight[w.user] += w.r / p.sum
		by[w.user] += w.r / p.sum * math.Sqrt(w.left) * (w.residual() - mean)
		left += w.left / float64(len(p.rows))
		size = max(size, math.Abs(w.y), math.Abs(w.f))
	}
	var squares, weights []float64
	for u, x := range by {
		squares, weights = append(squares, x*x), append(weights, sq(weight[u]))
	}
	k, g := 1/total(weights), float64(len(by))
	v = g / (g - 1) * total(squares)
	if v > 1e-24*size*size || left == 0 {
		return v, k - 1, Defined
	}
	if !least.Ok() || !most.Ok() {
		return 0, 0, NoVariation
	}
	return left * sq(most.X-least.X) * (k + 1) / sq(k+2) / max(k-1, 1), k - 1, Defined
}

// covariance of the test's mean and the mean of residuals, over observed units.
func (p *powering) covariance(mean float64) float64 {
	return totalOf(p.rows, func(w scored) float64 {
		return w.rest * w.r * w.unit * (w.f - p.p) * (w.residual() - mean)
	}) / (p.d * p.d)
}
