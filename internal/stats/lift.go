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
// counted in users. Where users is nil each unit is a user of its own.
func Lift(days []Both, users []ArmCell, confidence float64) LiftEstimate {
	out := LiftEstimate{Difference: Difference{Users: None(NoUsers)}}
	weight, total := make([]float64, len(days)), 0.0
	for i, d := range days {
		if d.Treatment.Observed == 0 || d.Control.Observed == 0 {
			out.Dropped = append(out.Dropped, d.Label)
			continue
		}
		t, c := float64(d.Treatment.Size), float64(d.Control.Size)
		weight[i] = t * c / (t + c)
		total += weight[i]
		out.Days++
	}
	if total == 0 {
		out.Difference = noDifference(NoCommonDay, confidence)
		return out
	}
	treatment, control := newSide(days, weight, total, true), newSide(days, weight, total, false)
	out.Level = Known(treatment.level - control.level)
	if users == nil {
		t, c := treatment.spread(out.Days), control.spread(out.Days)
		why := Defined
		if t.df <= 0 || c.df <= 0 {
			why = NoFreedom
		}
		out.Difference = out.decide(t.v+c.v, 0, welch(t, c), why, confidence)
		return out
	}
	for _, x := range users {
		if weight[x.Day] > 0 && x.Observed > 0 {
			if x.Treatment {
				treatment.add(x)
			} else {
				control.add(x)
			}
		}
	}
	t, c := treatment.crowded(), control.crowded()
	out.Users = Known(min(treatment.effective(), control.effective()))
	shared := 0.0
	for user, i := range treatment.at {
		if j, ok := control.at[user]; ok {
			shared += 2 * treatment.influence(i) * control.influence(j)
		}
	}
	why := Defined
	if out.Users.X < MinUsers {
		why = TooFewUsers
	}
	out.Difference = out.decide(max(t.v+c.v-shared, 0), 0, welch(t, c), why, confidence)
	return out
}

// side is one arm over all days that count: the level sum w_d p_d and its users.
type side struct {
	crowd
	days     []day
	level, n float64
}

type day struct{ w, n, hits, scale float64 }

func newSide(days []Both, weight []float64, total float64, treatment bool) *side {
	s := &side{days: make([]day, len(days)), crowd: crowd{at: map[int]int{}, in: make([]int, len(days))}}
	for i, b := range days {
		arm := b.Control
		if treatment {
			arm = b.Treatment
		}
		if weight[i] == 0 {
			continue
		}
		n := float64(arm.Observed)
		s.days[i] = day{w: weight[i] / total, n: n, hits: float64(arm.Hits), scale: math.Sqrt(n / max(n-1, 1))}
		s.level += s.days[i].w * s.days[i].hits / n
		s.n += n
	}
	return s
}

// spread takes each unit for a user of its own.
func (s *side) spread(days int) spread {
	out := spread{df: s.n - float64(days)}
	for _, d := range s.days {
		if d.w > 0 {
			q := d.hits / d.n
			if q == 0 || q == 1 {
				q = (d.hits + 1) / (d.n + 2)
			}
			out.v += d.w * d.w * q * (1 - q) / max(d.n-1, 1)
		}
	}
	return out
}

func (s *side) add(x ArmCell) {
	d := s.days[x.Day]
	i := s.place(x.User)
	s.residual[i] += d.w / d.n * d.scale * (float64(x.Hits) - d.hits/d.n*float64(x.Observed))
	s.share[i] += d.w / d.n * float64(x.Observed)
	s.in[x.Day]++
}

// crowded is the jackknife's variance and what the smoothed days add.
func (s *side) crowded() spread {
	out := spread{v: s.jackknife(), df: s.effective() - 1}
	for i, d := range s.days {
		if p := d.hits / d.n; d.w > 0 && (p == 0 || p == 1) {
			g := float64(s.in[i])
			q := (p*g + 1) / (g + 2)
			out.v += d.w * d.w * q * (1 - q) / max(g-1, 1)
		}
	}
	return out
}
