package stats

import "math"

// Label is what is true of one observed unit, beside what the test said of it.
type Label struct {
	Stratum     int     // index into the strata
	User        int     // as in Cell; looked at where cells are given
	Test, Truth bool    //
	Probability float64 // that this observed unit was drawn to be labelled, 0 < p <= 1
}

// Corrected is a rate of truth where a test was seen on all and the truth on some.
type Corrected struct {
	Level       Value
	Interval    Interval
	Raw         Value // what the test says
	Transported bool  // sensitivity and specificity come from elsewhere and are assumed to hold here
	PPV, Missed Share // share of truth among those that test positive, and among those that test negative
	Labels      int
}

// LabelCorrected is p = q a + (1-q) b, with q the weighted rate of the test (Rate), a the weighted share of
// truth among labels that test positive (PPV) and b among those that test negative (1-NPV). It is the
// double-sampling estimator of a stratum (Cochran, Sampling Techniques, 12.2; Tenenbein, A double sampling
// scheme for estimating from binomial data with misclassifications, JASA 65, 1970) and needs no test better
// than chance: with a = b the test just adds nothing. A label weighs W_h/n_h over its probability.
//
//	V = (a-b)^2 V_q + q^2 V_a + (1-q)^2 V_b + V_q (V_a + V_b), and with users their covariance
//
// V_q is that of RateInterval; V_a and V_b are the linearised ones of a weighted share, n/(n-1) sum of
// (weight share x residual)^2 over labels, or over users; for the window each label's part is multiplied by
// 1 - f_h p. They are at least a~(1-a~)/(k-1) with a~ = (a k + 1)/(k + 2) and k the effective number of labels:
// where the labels of a busy stratum show no error, the few errors of others say little. The interval is Clopper and Pearson's at p(1-p)/V, with a factor for Satterthwaite's
// degrees of freedom. Absent: as Rate; no_labels; no_probability where a label does not say how likely it
// was drawn; nothing_tests_positive or _negative where units of that side were observed and none labelled.
func LabelCorrected(strata []Stratum, cells []Cell, labels []Label, target Target, confidence float64) Corrected {
	none := func(why Absence) Corrected {
		s := noShare(why, confidence)
		return Corrected{Level: s.Value, Interval: s.Interval, Raw: s.Value, PPV: s, Missed: s, Labels: len(labels)}
	}
	if why := unsure(confidence); why != Defined {
		return none(why)
	}
	l, why := newLevel(hits(strata), Known(0), Known(1))
	if why != Defined {
		return none(why)
	}
	c := correction{level: l, target: target, byUser: cells != nil && target == Process, confidence: confidence}
	if why := c.take(labels); why != Defined {
		out := none(why)
		out.Raw = Known(l.p)
		return out
	}
	vq, why := l.variance(cells, target)
	out := c.point(len(labels))
	if out.Level.Ok() {
		out.Interval = c.interval(vq, why, l.users(cells), out.Level.X)
	}
	return out
}

// correction is the labels by what the test says.
type correction struct {
	*level
	target     Target
	byUser     bool
	confidence float64
	side       [2]labelSide
}

// labelSide is the labels on one side of the test: 0 negative, 1 positive.
type labelSide struct {
	rows     []weighed
	mass     float64 // share of the population on this side, as observed
	sum, x   float64 // of weights; weighted share of truth
	kish     float64 // (sum r)^2 / sum r^2
	smooth   float64 // x with one hit and one miss more
	plain, v float64 // variance of x without users, linearised and as used
}

type weighed struct {
	user    int
	r, left float64 // weight; what chance is left
	y       float64
}

func (c *correction) take(labels []Label) Absence {
	if len(labels) == 0 {
		return NoLabels
	}
	for _, x := range labels {
		switch {
		case !(x.Probability > 0 && x.Probability <= 1):
			return NoProbability
		case x.Stratum < 0 || x.Stratum >= len(c.of) || c.of[x.Stratum] < 0:
			return OutOfRange
		}
		h := c.groups[c.of[x.Stratum]]
		row := weighed{user: x.User, r: c.unit(h) / x.Probability, left: 1}
		if c.target == Window {
			row.left = max(1-float64(h.Observed)/float64(h.Size)*x.Probability, 0)
		}
		if x.Truth {
			row.y = 1
		}
		s := &c.side[0]
		if x.Test {
			s = &c.side[1]
		}
		s.rows = append(s.rows, row)
	}
	c.side[0].mass, c.side[1].mass = 1-c.p, c.p
	for i := range c.side {
		c.side[i].weigh()
	}
	return Defined
}

// weigh sums up one side.
func (s *labelSide) weigh() {
	if len(s.rows) == 0 {
		s.smooth, s.v = 0.5, 0.25
		return
	}
	s.sum = totalOf(s.rows, func(w weighed) float64 { return w.r })
	s.x = min(totalOf(s.rows, func(w weighed) float64 { return w.r * w.y })/s.sum, 1)
	s.kish = s.sum * s.sum / totalOf(s.rows, func(w weighed) float64 { return w.r * w.r })
	s.smooth = (s.x*s.kish + 1) / (s.kish + 2)
	s.plain = totalOf(s.rows, func(w weighed) float64 { return w.left * sq(s.influence(w)) })
	left := totalOf(s.rows, func(w weighed) float64 { return w.left * w.r * w.r }) / (s.sum * s.sum) * s.kish
	s.v = max(s.plain, left*s.smooth*(1-s.smooth)/max(s.kish-1, 1))
	if left == 0 {
		s.smooth = s.x
	}
}

// influence of a label on the share of truth of its side, scaled by sqrt(n/(n-1)).
func (s *labelSide) influence(w weighed) float64 {
	n := float64(len(s.rows))
	return w.r / s.sum * (w.y - s.x) * math.Sqrt(n/max(n-1, 1))
}

func (s *labelSide) share(why Absence, confidence float64) Share {
	if len(s.rows) == 0 {
		return noShare(why, confidence)
	}
	n := s.kish
	if s.x > 0 && s.x < 1 && s.plain > 0 {
		n = min(n, s.x*(1-s.x)/s.plain)
	}
	return Share{Known(s.x), ShareInterval(s.x*n, n, confidence)}
}

func (c *correction) point(labels int) Corrected {
	a, b := &c.side[1], &c.side[0]
	out := Corrected{
		Raw: Known(c.p), Labels: labels,
		PPV: a.share(NonePositive, c.confidence), Missed: b.share(NoneNegative, c.confidence),
	}
	for _, s := range []struct {
		Share
		mass float64
	}{{out.PPV, a.mass}, {out.Missed, b.mass}} {
		if !s.Ok() && s.mass > 0 {
			out.Level, out.Interval = None(s.Absent), noInterval(s.Absent, c.confidence)
			return out
		}
	}
	out.Level = Known(min(a.mass*a.x+b.mass*b.x, 1))
	return out
}

func (c *correction) interval(vq spread, why Absence, crowd *crowd, p float64) Interval {
	if why != Defined {
		return noInterval(why, c.confidence)
	}
	a, b := &c.side[1], &c.side[0]
	differ := sq(a.x - b.x)
	if a.kish == 0 || b.kish == 0 {
		differ = 1 // a side that nobody labelled may be anything
	}
	parts := [3]float64{differ * vq.v, sq(a.mass) * a.v, sq(b.mass) * b.v}
	if c.byUser {
		parts[0], parts[1], parts[2] = c.users(crowd, parts)
	}
	v := max(parts[0]+parts[1]+parts[2], 0) + vq.v*(a.v+b.v)
	if v == 0 && vq.census {
		return Interval{Low: p, High: p, Confidence: c.confidence, Method: MethodCensus, N: c.n}
	}
	below := 0.0
	for i, df := range [3]float64{vq.df, a.kish - 1, b.kish - 1} {
		below += sq(parts[i]) / max(df, 1)
	}
	df := c.n - 1
	if below > 0 {
		df = min(max(sq(parts[0]+parts[1]+parts[2])/below, 1), df)
	}
	smooth := vq.q*a.smooth + (1-vq.q)*b.smooth
	n := c.n
	if v > 0 {
		n = min(n, smooth*(1-smooth)/v)
	}
	if df >= 1 && c.n > 1 {
		r := tQuantile(0.5+c.confidence/2, max(c.n-1, 1)) / tQuantile(0.5+c.confidence/2, df)
		n *= r * r
	}
	i := ClopperPearson(p*n, n, c.confidence)
	i.Method, i.DF = MethodLabelCorrected, df
	return i
}

// users takes the labels of one user, and what the same user adds to the test's rate, together. The parts
// stay apart as far as the degrees of freedom need them: what users share goes to the first.
func (c *correction) users(crowd *crowd, parts [3]float64) (q, a, b float64) {
	all, apart := map[int]float64{}, [2]float64{}
	var shared []float64
	for i := range c.side {
		s := &c.side[i]
		own := map[int]float64{}
		for _, w := range s.rows {
			own[w.user] += s.mass * s.influence(w)
		}
		squares := make([]float64, 0, len(own))
		for u, x := range own {
			all[u] += x
			squares = append(squares, x*x)
		}
		sum := total(squares)
		apart[i] = sum + sq(s.mass)*(s.v-s.plain)
		shared = append(shared, -sum)
	}
	for u, x := range all {
		shared = append(shared, x*x)
		shared = append(shared, 2*(c.side[1].x-c.side[0].x)*crowd.influenceOf(u)*x)
	}
	return parts[0] + total(shared), apart[1], apart[0]
}
