package stats

import "math"

// Difference is a contrast of two levels, A - B, always about the process.
type Difference struct {
	Level    Value
	Interval Interval
	// P is the chance of a difference at least as large where there is none. It stands beside the interval and
	// is not made from it: of a lift and of two samples it is Student's, of pairs that of flipped signs.
	P Value
	// Users is the smaller of the two effective numbers of users; absent where users are not known.
	Users Value
}

// Sample is what was observed of one population. Users that have the same number in two samples are the
// same users.
type Sample struct {
	Strata []Stratum
	Users  []Cell // nil: unknown, units count as independent
}

// RateDifference is Rate(a) - Rate(b) of two samples with weights of their own, for populations that share
// no units that could be paired. Its variance is the delete-one-user jackknife of the difference, so that
// users in both count once; without users it is the sum of the two variances of RateInterval. The interval
// is that of skewed() with Welch and Satterthwaite's degrees of freedom (Welch, The generalization of
// Student's problem, Biometrika 34, 1947). Absent: as RateInterval of either.
func RateDifference(a, b Sample, confidence float64) Difference {
	if why := unsure(confidence); why != Defined {
		return noDifference(why, confidence)
	}
	la, whyA := newLevel(hits(a.Strata), Known(0), Known(1))
	lb, whyB := newLevel(hits(b.Strata), Known(0), Known(1))
	if why := first(whyA, whyB); why != Defined {
		return noDifference(why, confidence)
	}
	out := Difference{Level: Known(la.p - lb.p), Users: None(NoUsers)}
	if a.Users == nil || b.Users == nil {
		va, whyA := la.variance(nil, Process)
		vb, whyB := lb.variance(nil, Process)
		return out.decide(va.minus(vb, va.cubes-vb.cubes, 0), first(whyA, whyB), confidence)
	}
	ca, cb := la.users(a.Users), lb.users(b.Users)
	out.Users = Known(min(ca.effective(), cb.effective()))
	va, whyA := la.byUser(0, ca)
	vb, whyB := lb.byUser(0, cb)
	shared, cubes := ca.less(cb)
	return out.decide(va.minus(vb, cubes, shared), first(whyA, whyB), confidence)
}

// first of reasons.
func first(whys ...Absence) Absence {
	for _, why := range whys {
		if why != Defined {
			return why
		}
	}
	return Defined
}

// minus is the spread of a difference.
func (a spread) minus(b spread, cubes, shared float64) spread {
	return spread{v: max(a.v+b.v-shared, 0), df: welch(a, b), cubes: cubes}
}

func welch(a, b spread) float64 {
	if a.v+b.v == 0 {
		return min(a.df, b.df)
	}
	return sq(a.v+b.v) / (a.v*a.v/a.df + b.v*b.v/b.df)
}

func noDifference(why Absence, confidence float64) Difference {
	return Difference{Level: None(why), Interval: noInterval(why, confidence), P: None(why), Users: None(why)}
}

// decide sets interval and P of a difference between two shares.
func (d Difference) decide(v spread, why Absence, confidence float64) Difference {
	switch {
	case why != Defined:
	case !(v.v > 0):
		why = NoVariation
	case !(v.df > 0):
		why = NoFreedom
	}
	if why != Defined {
		d.Interval, d.P = noInterval(why, confidence), None(why)
		return d
	}
	d.Interval = skewed(d.Level.X, v, confidence)
	d.Interval.Low, d.Interval.High = max(d.Interval.Low, -1), min(d.Interval.High, 1)
	d.P = Known(tTail(d.Level.X/math.Sqrt(v.v), v.df))
	return d
}

// skewed is level -+ t sqrt(v), each side further out where its summands are skewed: by Hall's transformation,
// taken where it is wider than t and at most mostSkew times t. Few users, or few units, that all changed in one
// direction pull the estimate and its variance along; where they are missing both are too small.
func skewed(level float64, v spread, confidence float64) Interval {
	t, se := tQuantile(0.5+confidence/2, v.df), math.Sqrt(v.v)
	a := v.cubes / (v.v * se)
	below := max(t, min(hall(t, a), mostSkew*t))
	above := max(t, min(-hall(-t, a), mostSkew*t))
	return Interval{Low: level - below*se, High: level + above*se, Confidence: confidence, Method: MethodSkewT, DF: v.df}
}

// mostSkew is how much wider than Student's a side may get. Beyond, the third moment of a handful of users is
// itself mostly chance.
const mostSkew = 1.5

// hall is the quantile of a studentised mean whose summands are skewed, from t of a symmetric one: the inverse
// of Hall's cubic transformation (On the removal of skewness by transformation, JRSS B 54, 1992), with
// a = sum x^3 / (sum x^2)^(3/2).
func hall(t, a float64) float64 {
	if math.Abs(a) < 1e-9 {
		return t
	}
	return 3 / a * (math.Cbrt(1+a*(t-a/6)) - 1)
}
