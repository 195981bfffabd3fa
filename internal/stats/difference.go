package stats

import "math"

// Difference is a contrast of two levels, A - B, always about the process.
type Difference struct {
	Level    Value
	Interval Interval
	// P is the chance of a difference at least as large where there is none.
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
// is t with Welch and Satterthwaite's degrees of freedom (Welch, The generalization of Student's problem,
// Biometrika 34, 1947).
func RateDifference(a, b Sample, confidence float64) Difference {
	la, why := newLevel(hits(a.Strata), Known(0), Known(1))
	if why != Defined {
		return noDifference(why, confidence)
	}
	lb, why := newLevel(hits(b.Strata), Known(0), Known(1))
	if why != Defined {
		return noDifference(why, confidence)
	}
	out := Difference{Level: Known(la.p - lb.p), Users: None(NoUsers)}
	va, whyA := la.variance(a.Users, Process)
	vb, whyB := lb.variance(b.Users, Process)
	if whyA == Defined {
		whyA = whyB
	}
	if a.Users == nil || b.Users == nil {
		return out.decide(va.v+vb.v, 0, welch(va, vb), whyA, confidence)
	}
	ca, cb := la.users(a.Users), lb.users(b.Users)
	out.Users = Known(min(ca.effective(), cb.effective()))
	shared := 0.0 // 2 cov of the users that are in both
	for user, i := range ca.at {
		if j, ok := cb.at[user]; ok {
			shared += 2 * ca.influence(i) * cb.influence(j)
		}
	}
	return out.decide(max(va.v+vb.v-shared, 0), 0, welch(va, vb), whyA, confidence)
}

func hits(strata []Stratum) []Stratum {
	out := make([]Stratum, len(strata))
	for i, h := range strata {
		h.Squares = h.Sum
		out[i] = h
	}
	return out
}

func welch(a, b spread) float64 {
	if a.v+b.v == 0 {
		return min(a.df, b.df)
	}
	return (a.v + b.v) * (a.v + b.v) / (a.v*a.v/a.df + b.v*b.v/b.df)
}

func noDifference(why Absence, confidence float64) Difference {
	return Difference{Level: None(why), Interval: noInterval(why, confidence), P: None(why), Users: None(why)}
}

// decide sets interval and P of a difference with variance v.
func (d Difference) decide(v, skew, df float64, why Absence, confidence float64) Difference {
	if why != Defined {
		d.Interval, d.P = noInterval(why, confidence), None(why)
		return d
	}
	t, se := tQuantile(0.5+confidence/2, df), math.Sqrt(v)
	a := skew
	if v > 0 {
		a /= v * se
	}
	d.Interval = Interval{
		Low: max(d.Level.X-se*max(t, min(hall(t, a), 1.5*t)), -1), High: min(d.Level.X+se*max(t, min(-hall(-t, a), 1.5*t)), 1),
		Confidence: confidence, Method: MethodT, DF: df,
	}
	d.P = Known(1)
	if v > 0 {
		d.P = Known(tTail(d.Level.X/math.Sqrt(v), df))
	}
	return d
}

// hall is the quantile of a studentised mean whose summands are skewed, from t of a symmetric one: the inverse
// of Hall's cubic transformation (Hall, On the removal of skewness by transformation, JRSS B 54, 1992), with
// a = sum x^3 / (sum x^2)^(3/2).
func hall(t, a float64) float64 {
	if math.Abs(a) < 1e-9 {
		return t
	}
	return 3 / a * (math.Cbrt(1+a*(t-a/6)) - 1)
}
