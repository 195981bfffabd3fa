package stats

import "math"

// RateInterval is the interval of Rate's level. users may be nil: then units count as independent.
//
// The estimate is p = sum W_h s_h/n_h. A stratum that is all hits or all misses shows no variance, which is
// not to say that it has none: it takes q_h = (s_h+1)/(n_h+2) instead of s_h/n_h (one hit and one miss more, as
// Wilson's and Agresti and Coull's intervals have them), where f_h = n_h/N_h < 1 or the target is the process.
//
//	window:  v = sum W_h^2 (1-f_h) q_h(1-q_h)/max(n_h-1, 1)
//	process: v = sum W_h^2 q_h(1-q_h)/max(n_h-1, 1) + (1/N) sum W_h (p_h-p)^2
//	process, users known: the jackknife over users, and what was not seen of them (byUser)
//
// Clopper and Pearson's interval is taken at (p n*, n*) with the effective size
//
//	n* = min(n/(1-f), q(1-q)/v) (t_{n-1}/t_df)^2
//
// q = sum W_h q_h, of a part of the units over the part's share, with what smoothing adds to both; f = n/N for the
// window and 0 for the process; df = n - H, with users freedom() (Korn and
// Graubard, Confidence intervals for proportions with small expected number of positive counts estimated from
// survey data, Survey Methodology 24, 1998, who take the variance unsmoothed).
//
// The window of a population that was observed whole has an interval of no width. Absent: as Rate;
// no_degrees_of_freedom; too_few_users; out_of_range for a confidence that is not between 0 and 1.
func RateInterval(strata []Stratum, users []Cell, target Target, confidence float64) Interval {
	l, v, why := gauge(hits(strata), users, target, Known(0), Known(1), confidence)
	switch {
	case why != Defined:
		return noInterval(why, confidence)
	case v.census:
		return l.census(confidence)
	}
	n := l.n
	if target == Window {
		n /= 1 - l.n/l.size // what is known for sure counts for more
	}
	if v.v > 0 {
		n = min(n, v.q*(1-v.q)/v.v)
	}
	if v.method == MethodUsers && (l.p == 0 || l.p == 1) {
		n = min(n, v.df+1) // nothing seen says how alike the units of a user are
	}
	if half := 0.5 + confidence/2; l.n > 1 {
		n *= sq(tQuantile(half, l.n-1) / tQuantile(half, v.df))
	}
	i := ClopperPearson(l.p*n, n, confidence)
	i.Method, i.DF = v.method, v.df
	return i
}

// MeanInterval is the interval of Mean's level: p -+ t_df sqrt(v), with the variance of RateInterval. A
// stratum whose numbers are all the same is smoothed by one observation at each limit, least and most.
// Where a number has no limits they are those of all that was observed. Absent: as RateInterval, and
// no_variation where all numbers are the same and nothing says how much others might differ.
func MeanInterval(strata []Stratum, users []Cell, target Target, least, most Value, confidence float64) Interval {
	l, v, why := gauge(strata, users, target, least, most, confidence)
	switch {
	case why != Defined:
		return noInterval(why, confidence)
	case v.census:
		return l.census(confidence)
	case !(v.v > 0):
		return noInterval(NoVariation, confidence)
	}
	half := tQuantile(0.5+confidence/2, v.df) * math.Sqrt(v.v)
	i := Interval{Low: l.p - half, High: l.p + half, Confidence: confidence, Method: MethodT, N: l.n, DF: v.df}
	if !finite(i.Low, i.High) {
		return noInterval(OutOfRange, confidence)
	}
	return i
}

func gauge(strata []Stratum, users []Cell, target Target, least, most Value, confidence float64) (*level, spread, Absence) {
	if why := unsure(confidence); why != Defined {
		return nil, spread{}, why
	}
	l, why := newLevel(strata, least, most)
	if why != Defined {
		return nil, spread{}, why
	}
	v, why := l.variance(users, target)
	return l, v, why
}

// hits are strata whose numbers are 0 and 1.
func hits(strata []Stratum) []Stratum {
	out := make([]Stratum, len(strata))
	for i, h := range strata {
		h.Squares = h.Sum
		out[i] = h
	}
	return out
}

// level is a weighted level and what its variance is made of: p = y/d with y = sum W_h s_h/n_h and
// d = sum W_h d_h/n_h, d_h being the units to which the question applies.
type level struct {
	groups      []group
	least, most Value
	size, n     float64 // N; units in the domain
	p, d        float64
	of          []int // of each given stratum its group, or -1
}

func newLevel(strata []Stratum, least, most Value) (*level, Absence) {
	l := &level{least: least, most: most, of: make([]int, len(strata))}
	var size, observed, domain int64
	for i, h := range strata {
		l.of[i] = -1
		size, observed, domain = size+h.Size, observed+h.Observed, domain+h.Domain
	}
	switch {
	case size == 0:
		return nil, NoPopulation
	case observed == 0:
		return nil, NothingObserved
	}
	var why Absence
	if l.groups, _, why = merge(strata); why != Defined {
		return nil, why
	}
	for i, h := range l.groups {
		for _, s := range h.of {
			l.of[s] = i
		}
	}
	l.size, l.n = float64(size), float64(domain)
	p, d := levelOf(l.groups)
	if !p.Ok() {
		return nil, p.Absent
	}
	l.p, l.d = p.X, d/l.size
	return l, Defined
}

// levelOf is sum N_h s_h/n_h over d = sum N_h d_h/n_h, and d. Where all was observed these are sums of what
// was seen, so that the level is the plain mean to the last bit.
func levelOf(groups []group) (level Value, domain float64) {
	sum := totalOf(groups, func(h group) float64 { return float64(h.Size) * h.Sum / float64(h.Observed) })
	domain = totalOf(groups, func(h group) float64 { return float64(h.Size) * float64(h.Domain) / float64(h.Observed) })
	return ratio(sum, domain), domain
}

func (l *level) weight(h group) float64 { return float64(h.Size) / l.size }

// unit is the weight of one observed unit of a stratum, W_h/n_h.
func (l *level) unit(h group) float64 { return l.weight(h) / float64(h.Observed) }

func (l *level) census(confidence float64) Interval {
	return Interval{Low: l.p, High: l.p, Confidence: confidence, Method: MethodCensus, N: l.n}
}
