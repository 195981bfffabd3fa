package stats

import "math"

// spread is how a level may vary: what intervals and tests are made from.
type spread struct {
	v, df  float64
	vary   float64 // variance of v where units are independent and answers -1, 0 or 1; 0: df knows of it
	q      float64 // the smoothed level of a rate
	census bool    // nothing was left to chance
	method Method
}

func (l *level) variance(users []Cell, target Target) (spread, Absence) {
	out := l.byUnit(target)
	switch {
	case out.census:
		return out, Defined
	case target == Process && users != nil:
		return l.byUser(out.q, l.users(users))
	case out.df <= 0:
		return out, NoFreedom
	}
	return out, Defined
}

// byUnit takes the units of a stratum as independent.
func (l *level) byUnit(target Target) spread {
	out := spread{census: target == Window, method: MethodSmoothed, df: l.n}
	var v, q, domain, vary []float64
	for _, h := range l.groups {
		w, n := l.weight(h), float64(h.Observed)
		f := n / float64(h.Size)
		left := 1.0
		if target == Window {
			left = max(1-f, 0)
		}
		if f < 1 {
			out.census = false
		}
		if h.Domain > 0 {
			out.df--
		}
		m := l.moments(h, n, target == Process || f < 1)
		q, domain = append(q, w*m.share), append(domain, float64(h.Size)*m.domain)
		v = append(v, w*w*left*m.variance/max(n-1, 1))
		if target == Process {
			v = append(v, w*m.mean*m.mean/l.size)
			vary = append(vary, sq(w*w)*(m.fourth-sq(m.variance))/(n*n*n))
		}
	}
	out.v, out.vary = total(v), total(vary)
	// Of a part that a stratum shows nothing of, what is added to its hits is added to its units too.
	out.q = min(max(total(q)/(total(domain)/l.size), 0), 1)
	return out
}

// byUser is the jackknife over users and what it cannot see.
func (l *level) byUser(q float64, c *crowd) (spread, Absence) {
	out := spreadOf(c.influences(), c.effective-1, l.hidden(c))
	out.q = q
	return out, c.few()
}

// spreadOf is that of a level, or of a difference, that users move by so much, with `hidden` variance more.
func spreadOf(influences []float64, most, hidden float64) spread {
	return spread{v: jackknife(influences) + hidden, df: freedom(influences, most), method: MethodUsers}
}

// hidden is what a jackknife cannot see: strata that show no variance, smoothed with n counted in users, and one
// user who was not met.
func (l *level) hidden(c *crowd) float64 { return l.smoothing(c) + l.unseen(c.effective) }

// smoothing is the variance of strata that show none.
func (l *level) smoothing(c *crowd) float64 {
	var v []float64
	for i, h := range l.groups {
		if g := float64(c.in[i]); g > 0 && l.moments(h, float64(h.Observed), true).smoothed {
			v = append(v, sq(l.weight(h))*l.moments(h.shrunk(g), g, true).variance/max(g-1, 1))
		}
	}
	return total(v)
}

// unseen is the variance of one user who was not met, with the weight of one user in G_eff + 2 and a standard
// deviation of a sixth of the range between the limits, as of a bell that fills it. Where all dozen users are
// alike by chance the jackknife alone is too small.
func (l *level) unseen(users float64) float64 {
	if !l.least.Ok() || !l.most.Ok() {
		return 0
	}
	return sq((l.most.X - l.least.X) / 6 / (users + 2))
}

// moments of a stratum's linearised residuals e = (y - p d)/D (Woodruff, A simple method for approximating
// the variance of a complicated estimate, JASA 66, 1971); for a rate whose question applies to all they are
// y - p.
type moments struct {
	mean, variance float64 // variance divides by n
	fourth         float64 // mean (e - mean)^4, of numbers that are -1, 0 or 1
	share          float64 // (smoothed) mean of y
	domain         float64 // (smoothed) share of the units to which the question applies
	smoothed       bool
}

func (l *level) moments(h group, n float64, smooth bool) moments {
	d, y, y2 := float64(h.Domain), h.Sum, h.Squares
	m := moments{mean: (y - l.p*d) / (n * l.d)}
	if smooth && d*y2-y*y <= 1e-12*d*y2 && l.least.Ok() && l.most.Ok() {
		m.smoothed = true
		n, d = n+2, d+2
		y += l.least.X + l.most.X
		y2 += sq(l.least.X) + sq(l.most.X)
	}
	m.share, m.domain = y/n, d/n
	// Powers of y - p d with d^2 = d, y d = y and, from the third on, y^3 = y.
	p, e := l.p, n*l.d
	mean := (y - p*d) / e
	second := (y2 - 2*p*y + p*p*d) / (e * l.d)
	third := (y - 3*p*y2 + 3*p*p*y - p*p*p*d) / (e * l.d * l.d)
	fourth := (y2 - 4*p*y + 6*p*p*y2 - 4*p*p*p*y + p*p*p*p*d) / (e * l.d * l.d * l.d)
	m.variance = max(second-mean*mean, 0)
	m.fourth = fourth - 4*mean*third + 6*mean*mean*second - 3*sq(mean*mean)
	return m
}

// shrunk is a stratum as if each of its g users had been observed once.
func (h group) shrunk(g float64) group {
	by := g / float64(h.Observed)
	h.Domain = int64(math.Round(float64(h.Domain) * by))
	h.Sum, h.Squares = h.Sum*by, h.Squares*by
	return h
}
