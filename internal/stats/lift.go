package stats

import "math"

// Both is one day (or another block) with its two arms. 0 <= Hits <= Observed <= Size.
type Both struct {
	Label              string
	Treatment, Control Arm
}

// Arm is what was observed of one arm on one day.
type Arm struct {
	Size     int64 // N, units of the population
	Observed int64 // those that the question applies to and that were graded
	Hits     int64
}

// ArmCell is what one user's units gave in one arm on one day.
type ArmCell struct {
	User, Day      int // Day is an index into the days
	Treatment      bool
	Observed, Hits int64
}

// LiftEstimate is a lift and the days that it could not use.
type LiftEstimate struct {
	Difference
	Dropped []string // labels of days without a graded unit in one of the arms
	Days    int      // that count
}

// Lift is the effect of the treatment, sum w_d (p_Td - p_Cd), with the same weight for both arms of a day:
// w_d proportional to N_T N_C / (N_T + N_C), which is the most precise where the effect is the same on
// every day (Cochran, Some methods for strengthening the common chi-square tests, Biometrics 10, 1954).
// The difference of two rates that are weighted apart would take a bad day during a ramp for an effect.
//
// The variance is the jackknife over users of the residuals from the arm's rate on that day, each scaled by
// sqrt(n/(n-1)); an arm that is all hits or all misses on a day is smoothed as in RateInterval, with n
// counted in users. Where users is nil each unit is a user of its own. The interval is that of decide(). Absent: no_common_day, no_degrees_of_freedom, too_few_users in an arm,
// out_of_range for a confidence that is not between 0 and 1.
func Lift(days []Both, users []ArmCell, confidence float64) LiftEstimate {
	weight, out := common(days)
	if why := unsure(confidence); why != Defined || out.Days == 0 {
		out.Difference = noDifference(first(why, NoCommonDay), confidence)
		return out
	}
	t := newSide(days, weight, func(b Both) Arm { return b.Treatment })
	c := newSide(days, weight, func(b Both) Arm { return b.Control })
	out.Level, out.Users = Known(t.level-c.level), None(NoUsers)
	if users == nil {
		vt, vc := t.byUnit(), c.byUnit()
		out.Difference = out.decide(vt.minus(vc), first(free(vt), free(vc)), confidence)
		return out
	}
	ct, cc := t.users(users, true), c.users(users, false)
	out.Users = Known(min(ct.effective, cc.effective))
	v := spreadOf(ct.less(cc), ct.apart(cc), t.hidden(ct)+c.hidden(cc))
	out.Difference = out.decide(v, first(ct.few(), cc.few()), confidence)
	return out
}

// common is the weight of each day, summing to 1, with 0 for those that lack an arm.
func common(days []Both) (weight []float64, out LiftEstimate) {
	weight = make([]float64, len(days))
	for i, d := range days {
		if d.Treatment.Observed == 0 || d.Control.Observed == 0 {
			out.Dropped = append(out.Dropped, d.Label)
			continue
		}
		t, c := float64(d.Treatment.Size), float64(d.Control.Size)
		weight[i] = t * c / (t + c)
		out.Days++
	}
	all := total(weight)
	for i := range weight {
		if out.Days > 0 {
			weight[i] /= all
		}
	}
	return weight, out
}

func free(v spread) Absence {
	if v.df <= 0 {
		return NoFreedom
	}
	return Defined
}

// side is one arm over all days that count: the level sum w_d p_d.
type side struct {
	days  []day
	level float64
}

type day struct{ w, n, p float64 }

func newSide(days []Both, weight []float64, of func(Both) Arm) side {
	s := side{days: make([]day, len(days))}
	for i, b := range days {
		if a := of(b); weight[i] > 0 {
			s.days[i] = day{w: weight[i], n: float64(a.Observed), p: float64(a.Hits) / float64(a.Observed)}
		}
	}
	s.level = totalOf(s.days, func(d day) float64 { return d.w * d.p })
	return s
}

// byUnit takes each unit for a user of its own.
func (s side) byUnit() spread {
	df, v, vary := 0.0, []float64{}, []float64{}
	for _, d := range s.days {
		if d.w > 0 {
			q := d.smooth(d.n)
			v = append(v, d.w*d.w*q*(1-q)/max(d.n-1, 1))
			vary = append(vary, sq(d.w*d.w)*q*(1-q)*sq(1-2*q)/(d.n*d.n*d.n))
			df += d.n - 1
		}
	}
	return spread{v: total(v), vary: total(vary), df: df}
}

// smooth is the rate, with one hit and one miss more among n where it shows no variance.
func (d day) smooth(n float64) float64 {
	if d.p > 0 && d.p < 1 {
		return d.p
	}
	return (d.p*n + 1) / (n + 2)
}

// users are those of one arm.
func (s side) users(cells []ArmCell, treatment bool) *crowd {
	var visits []visit
	for _, x := range cells {
		d := s.days[x.Day]
		if x.Treatment != treatment || d.w == 0 || x.Observed == 0 {
			continue
		}
		n, unit := float64(x.Observed), d.w/d.n
		scale := math.Sqrt(d.n / max(d.n-1, 1))
		visits = append(visits, visit{x.User, x.Day, unit * scale * (float64(x.Hits) - d.p*n), unit * n})
	}
	return newCrowd(visits, len(s.days))
}

// hidden is the variance of days that show none.
func (s side) hidden(c *crowd) float64 {
	var v []float64
	for i, d := range s.days {
		if d.w > 0 && (d.p == 0 || d.p == 1) {
			g := float64(c.in[i])
			q := d.smooth(g)
			v = append(v, d.w*d.w*q*(1-q)/max(g-1, 1))
		}
	}
	return total(v)
}
