package stats

// Pairs is one stratum of units that were measured twice, as A and as B, with answers hit or miss.
type Pairs struct {
	Label string
	Line  string
	Size  int64 // N_h, units in the population
	Drawn int64 // pairs asked for
	Both  int64 // pairs with an answer on both sides
	// Rises counts pairs that are a hit in A only, Falls those that are one in B only.
	Rises, Falls int64
}

// PairCell is what one user's pairs gave in one stratum.
type PairCell struct {
	User, Stratum      int
	Both, Rises, Falls int64
}

// Paired is the net difference A - B over pairs, d in {-1, 0, 1}: sum W_h mean_h(d). The interval is that of
// decide() about the process, with the variance of MeanInterval: a stratum without a discordant pair is smoothed
// by one pair of each direction. P is the larger of the interval's and that of flips() on the same weighted
// statistic: flips alone would take a busy stratum without a discordant pair for one that cannot change, the
// interval alone is not exact where few users changed. McNemar's test would ignore the weights. Absent: as
// MeanInterval.
func Paired(strata []Pairs, users []PairCell, confidence float64, seed uint64) Difference {
	if why := unsure(confidence); why != Defined {
		return noDifference(why, confidence)
	}
	l, why := newLevel(nets(strata), Known(-1), Known(1))
	if why != Defined {
		return noDifference(why, confidence)
	}
	out := Difference{Level: Known(l.p), Users: None(NoUsers)}
	if users == nil {
		v, why := l.variance(nil, Process)
		out = out.decide(v, why, confidence)
	} else {
		crowd := l.users(netCells(users))
		v, why := l.byUser(0, crowd)
		out.Users = Known(crowd.effective)
		out = out.decide(v, why, confidence)
	}
	if out.P.Ok() {
		out.P.X = max(out.P.X, flips(l.turns(strata, users), seed))
	}
	return out
}

// nets are strata of the numbers d.
func nets(strata []Pairs) []Stratum {
	out := make([]Stratum, len(strata))
	for i, h := range strata {
		out[i] = Stratum{
			Label: h.Label, Line: h.Line, Size: h.Size, Drawn: h.Drawn, Observed: h.Both, Domain: h.Both,
			Sum: float64(h.Rises - h.Falls), Squares: float64(h.Rises + h.Falls),
		}
	}
	return out
}

func netCells(users []PairCell) []Cell {
	out := make([]Cell, len(users))
	for i, x := range users {
		out[i] = Cell{User: x.User, Stratum: x.Stratum, Domain: x.Both, Sum: float64(x.Rises - x.Falls)}
	}
	return out
}

// turns is what flipping the signs of one user's discordant pairs, or of one pair, turns about.
func (l *level) turns(strata []Pairs, users []PairCell) (out []float64) {
	if users == nil {
		for i, h := range strata {
			if g := l.of[i]; g >= 0 {
				for k := range h.Rises + h.Falls {
					x := l.unit(l.groups[g])
					if k >= h.Rises {
						x = -x
					}
					out = append(out, x)
				}
			}
		}
		return out
	}
	var visits []visit
	for _, x := range users {
		if g := l.of[x.Stratum]; g >= 0 && x.Rises+x.Falls > 0 {
			visits = append(visits, visit{user: x.User, group: g, residual: l.unit(l.groups[g]) * float64(x.Rises-x.Falls)})
		}
	}
	return newCrowd(visits, len(l.groups)).residual
}
