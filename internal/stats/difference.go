package stats

import "math"

// Difference is a contrast of two levels, A - B, always about the process.
type Difference struct {
	Level    Value
	Interval Interval
	// P is the chance of a difference at least as large where there is none: one less the confidence at which
	// the interval would end at 0, or that of flipped signs (Paired) where it is larger. With P < 1 - confidence
	// the interval always leaves 0 out.
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
// users in both count once, and what RateInterval adds to that of either; without users it is the sum of the
// two variances of RateInterval. The interval is that of decide(). Absent: as RateInterval of either.
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
		return out.decide(va.minus(vb), first(whyA, whyB), confidence)
	}
	ca, cb := la.users(a.Users), lb.users(b.Users)
	out.Users = Known(min(ca.effective, cb.effective))
	v := spreadOf(ca.less(cb), ca.apart(cb), la.hidden(ca)+lb.hidden(cb))
	return out.decide(v, first(ca.few(), cb.few()), confidence)
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

// minus is the spread of the difference of two levels that share nothing.
func (a spread) minus(b spread) spread {
	return spread{v: a.v + b.v, df: welch(a, b), vary: a.vary + b.vary}
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

// decide sets interval and P of a difference between two shares: level -+ t_df sqrt(v). Where units are independent,
// df is at most 2 v^2/var(v), as freedom() has it for users: three pairs of a thousand that changed tell little of
// how much others will.
func (d Difference) decide(v spread, why Absence, confidence float64) Difference {
	if v.vary > 0 {
		v.df = min(v.df, max(2*v.v*v.v/v.vary, 1))
	}
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
	se := math.Sqrt(v.v)
	half := tQuantile(0.5+confidence/2, v.df) * se
	d.Interval = Interval{
		Low: max(d.Level.X-half, -1), High: min(d.Level.X+half, 1),
		Confidence: confidence, Method: MethodT, DF: v.df,
	}
	d.P = Known(tTail(d.Level.X/se, v.df))
	return d
}

// ZeroP is P of the hypothesis that a level is 0, two-sided, of a level with an interval of method t: one less the
// confidence at which the interval would end at 0. Absent as the level and the interval.
func ZeroP(level Value, i Interval) Value {
	switch {
	case !level.Ok():
		return level
	case !i.Ok():
		return None(i.Absent)
	case i.Method != MethodT || i.DF <= 0:
		return None(OutOfRange)
	}
	half := max(i.High-level.X, level.X-i.Low) // one end may be cut at a limit
	if half == 0 {
		return None(NoVariation)
	}
	return Known(tTail(math.Abs(level.X)/half*tQuantile(0.5+i.Confidence/2, i.DF), i.DF))
}
