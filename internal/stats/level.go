package stats

import "math"

// MinUsers is the effective number of users below which nothing is said about the process.
const MinUsers = 8

// Cell is what one user's units gave in one stratum. Units of one user are alike, so a user is drawn or
// left out whole. A unit whose user is unknown is a user of its own.
type Cell struct {
	User    int // any number that is the same for the units of one user
	Stratum int // index into the strata
	Domain  int64
	Sum     float64
}

// RateInterval is the interval of Rate's level. users may be nil: then units count as independent.
//
// The estimate is p = sum W_h s_h/n_h. A stratum that is all hits or all misses shows no variance, which is
// not to say that it has none: it takes q_h = (s_h+1)/(n_h+2) instead of s_h/n_h (Wilson's and Agresti and
// Coull's pseudo-observations, one hit and one miss), where f_h = n_h/N_h < 1 or the target is the process.
//
//	window:  v = sum W_h^2 (1-f_h) q_h(1-q_h)/max(n_h-1, 1)
//	process: v = sum W_h^2 q_h(1-q_h)/max(n_h-1, 1) + (1/N) sum W_h (p_h-p)^2
//	process, users known: the jackknife of jackknife(), and the smoothed strata's own terms
//
// Clopper and Pearson's interval is taken at (p n*, n*) with the effective size
// n* = min(n, q(1-q)/v) (t_{n-1}/t_df)^2, q = sum W_h q_h, df = n - H or G_eff - 1 (Korn and Graubard,
// Confidence intervals for proportions with small expected number of positive counts estimated from
// survey data, Survey Methodology 24, 1998, who take the variance unsmoothed).
//
// The window of a population that was observed whole has an interval of no width.
func RateInterval(strata []Stratum, users []Cell, target Target, confidence float64) Interval {
	in := make([]Stratum, len(strata))
	for i, h := range strata {
		h.Squares = h.Sum
		in[i] = h
	}
	l, why := newLevel(in, Known(0), Known(1))
	if why != Defined {
		return noInterval(why, confidence)
	}
	v, why := l.variance(users, target)
	switch {
	case why != Defined:
		return noInterval(why, confidence)
	case v.census:
		return Interval{Low: l.p, High: l.p, Confidence: confidence, Method: MethodCensus, N: l.n}
	}
	half := 0.5 + confidence/2
	n := l.n
	if v.v > 0 {
		n = min(n, v.q*(1-v.q)/v.v)
	}
	if v.method == MethodUsers && (l.p == 0 || l.p == 1) {
		n = min(n, v.df+1) // nothing seen says how alike the units of a user are
	}
	if l.n > 1 {
		r := tQuantile(half, l.n-1) / tQuantile(half, v.df)
		n *= r * r
	}
	i := ClopperPearson(l.p*n, n, confidence)
	i.Method, i.DF = v.method, v.df
	return i
}

// MeanInterval is the interval of Mean's level: p -+ t_df sqrt(v), with the variance of RateInterval. A
// stratum whose numbers are all the same is smoothed by one observation at each limit, least and most.
// Where a number has no limits they are those of all that was observed, given as observed.
func MeanInterval(strata []Stratum, users []Cell, target Target, least, most Value, confidence float64) Interval {
	l, why := newLevel(strata, least, most)
	if why != Defined {
		return noInterval(why, confidence)
	}
	v, why := l.variance(users, target)
	switch {
	case why != Defined:
		return noInterval(why, confidence)
	case v.census:
		return Interval{Low: l.p, High: l.p, Confidence: confidence, Method: MethodCensus, N: l.n}
	}
	half := tQuantile(0.5+confidence/2, v.df) * math.Sqrt(v.v)
	return Interval{Low: l.p - half, High: l.p + half, Confidence: confidence, Method: MethodT, N: l.n, DF: v.df}
}

// level is a weighted level and what its variance is made of: p = y/d with y = sum W_h s_h/n_h and
// d = sum W_h d_h/n_h, d_h being the units to which the question applies.
type level struct {
	groups      []group
	least, most Value
	pseudo      float64 // how often each limit is added where a stratum shows no variance
	size, n     float64 // N; units in the domain
	p, d        float64
	of          []int // of each given stratum its group, or -1
}

func newLevel(strata []Stratum, least, most Value) (*level, Absence) {
	l := &level{least: least, most: most, pseudo: 1, of: make([]int, len(strata))}
	var observed int64
	for _, h := range strata {
		l.size += float64(h.Size)
		observed += h.Observed
	}
	switch {
	case l.size == 0:
		return nil, NoPopulation
	case observed == 0:
		return nil, NothingObserved
	}
	var why Absence
	if l.groups, _, why = merge(strata); why != Defined {
		return nil, why
	}
	for i := range l.of {
		l.of[i] = -1
	}
	var y float64
	for i, h := range l.groups {
		for _, s := range h.of {
			l.of[s] = i
		}
		w := l.unit(h)
		y += w * h.Sum
		l.d += w * float64(h.Domain)
		l.n += float64(h.Domain)
	}
	if l.d <= 0 {
		return nil, NothingInDomain
	}
	l.p = y / l.d
	return l, Defined
}

// unit is the weight of one observed unit of a stratum, W_h/n_h.
func (l *level) unit(h group) float64 { return float64(h.Size) / l.size / float64(h.Observed) }

// spread is what RateInterval's and MeanInterval's formulas need of the sample.
type spread struct {
	v, df, q float64
	cubes    float64 // sum of the users' cubed influences: how skewed they are
	census   bool
	method   Method
}

func (l *level) variance(users []Cell, target Target) (spread, Absence) {
	out := spread{census: target == Window, method: MethodSmoothed}
	var q float64
	strata, smoothing := 0, 0.0 // strata in the domain; what smoothing adds with n counted in users
	crowd := l.users(users)
	for i, h := range l.groups {
		w, n := float64(h.Size)/l.size, float64(h.Observed)
		f := n / float64(h.Size)
		if f < 1 {
			out.census = false
		}
		if h.Domain > 0 {
			strata++
		}
		smooth := target == Process || f < 1
		m := l.moments(h, n, smooth)
		q += w * m.share
		left := 1.0
		if target == Window {
			left = max(1-f, 0)
		}
		out.v += w * w * left * m.variance / max(n-1, 1)
		if target == Process {
			out.v += w * m.mean * m.mean / l.size
		}
		if crowd != nil && m.smoothed {
			g := float64(crowd.in[i])
			s := l.moments(group{Stratum: h.shrunk(g)}, g, true)
			smoothing += w * w * s.variance / max(g-1, 1)
		}
	}
	out.q = min(max(q/l.d, 0), 1)
	if out.census {
		return out, Defined
	}
	if target == Process && crowd != nil {
		out.method = MethodUsers
		out.v = crowd.jackknife() + smoothing + l.unseen(crowd.effective())
		out.cubes = crowd.cubes()
		out.df = crowd.effective() - 1
		if crowd.effective() < MinUsers {
			return out, TooFewUsers
		}
		return out, Defined
	}
	out.df = l.n - float64(strata)
	if out.df <= 0 {
		return out, NoFreedom
	}
	return out, Defined
}

// moments of a stratum's linearised residuals e = (y - p d)/D (Woodruff, A simple method for approximating
// the variance of a complicated estimate, JASA 66, 1971); for a rate whose question applies to all they are
// y - p.
type moments struct {
	mean, variance float64 // variance divides by n
	share          float64 // (smoothed) mean of y
	smoothed       bool
}

func (l *level) moments(h group, n float64, smooth bool) moments {
	d, y, y2 := float64(h.Domain), h.Sum, h.Squares
	m := moments{mean: (y - l.p*d) / (n * l.d)}
	if smooth && d*y2-y*y <= 1e-12*d*y2 && l.least.Ok() && l.most.Ok() {
		m.smoothed = true
		n, d = n+2*l.pseudo, d+2*l.pseudo
		y += l.pseudo * (l.least.X + l.most.X)
		y2 += l.pseudo * (l.least.X*l.least.X + l.most.X*l.most.X)
	}
	m.share = y / n
	mean := (y - l.p*d) / (n * l.d)
	m.variance = max((y2-2*l.p*y+l.p*l.p*d)/(n*l.d*l.d)-mean*mean, 0)
	return m
}

// unseen is the variance of one user who was not seen: half way between the limits from the level, with the
// weight of one user in G_eff + 2. Where few users carry the hits the jackknife alone is too small.
func (l *level) unseen(users float64) float64 {
	if !l.least.Ok() || !l.most.Ok() {
		return 0
	}
	x := l.pseudo * (l.most.X - l.least.X) / 2 / (users + 2)
	return x * x
}

// shrunk is a stratum as if each of its g users had been observed once.
func (h group) shrunk(g float64) Stratum {
	s := h.Stratum
	by := g / float64(s.Observed)
	s.Domain = int64(math.Round(float64(s.Domain) * by))
	s.Sum, s.Squares = s.Sum*by, s.Squares*by
	return s
}
