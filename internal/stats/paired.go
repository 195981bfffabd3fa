package stats

import (
	"math"
	"math/rand/v2"
)

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

// Paired is the net difference A - B over pairs, d in {-1, 0, 1}: sum W_h mean_h(d). Interval: as
// MeanInterval about the process, a stratum without a discordant pair smoothed by half a pair of each
// direction. P is that of a randomisation test on the same weighted statistic: the signs of all discordant
// pairs of a user are flipped together; all sign patterns count up to MaxExact users with discordant pairs,
// else draws of them with the given seed (Fisher, The Design of Experiments, 1935, 21). McNemar's test would
// ignore the weights.
func Paired(strata []Pairs, users []PairCell, confidence float64, seed uint64) Difference {
	in := make([]Stratum, len(strata))
	for i, h := range strata {
		in[i] = Stratum{
			Label: h.Label, Line: h.Line, Size: h.Size, Drawn: h.Drawn, Observed: h.Both, Domain: h.Both,
			Sum: float64(h.Rises - h.Falls), Squares: float64(h.Rises + h.Falls),
		}
	}
	l, why := newLevel(in, Known(-1), Known(1))
	if why != Defined {
		return noDifference(why, confidence)
	}
	l.pseudo = 0.5
	var cells []Cell
	for _, x := range users {
		cells = append(cells, Cell{User: x.User, Stratum: x.Stratum, Domain: x.Both, Sum: float64(x.Rises - x.Falls)})
	}
	v, why := l.variance(cells, Process)
	out := Difference{Level: Known(l.p)}
	out = out.decide(v.v, v.cubes, v.df, why, confidence)
	if cells != nil {
		out.Users = Known(l.users(cells).effective())
	} else {
		out.Users = None(NoUsers)
	}
	out.P = Known(flips(l, strata, users, seed))
	return out
}

const (
	// MaxExact is the number of users with discordant pairs up to which all sign patterns are counted.
	MaxExact = 20
	// Draws is the number of sign patterns that are drawn where there are more.
	Draws = 100_000
)

// flips is the share of sign patterns whose statistic is at least as far from 0 as the observed one.
func flips(l *level, strata []Pairs, users []PairCell, seed uint64) float64 {
	var net []float64 // of each user, what flipping changes
	if users == nil {
		for i, h := range strata {
			if g := l.of[i]; g >= 0 {
				for range h.Rises + h.Falls {
					net = append(net, l.unit(l.groups[g]))
				}
			}
		}
	} else {
		at := map[int]int{}
		for _, x := range users {
			g := l.of[x.Stratum]
			if g < 0 || x.Rises+x.Falls == 0 {
				continue
			}
			i, ok := at[x.User]
			if !ok {
				i = len(net)
				at[x.User] = i
				net = append(net, 0)
			}
			net[i] += l.unit(l.groups[g]) * float64(x.Rises-x.Falls)
		}
	}
	observed := math.Abs(l.p*l.d) * (1 - 1e-9)
	if len(net) <= MaxExact {
		return exactFlips(net, observed)
	}
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	extreme := 0
	for range Draws {
		sum := 0.0
		bits, left := uint64(0), 0
		for _, x := range net {
			if left == 0 {
				bits, left = r.Uint64(), 64
			}
			if bits&1 == 0 {
				sum += x
			} else {
				sum -= x
			}
			bits >>= 1
			left--
		}
		if math.Abs(sum) >= observed {
			extreme++
		}
	}
	return float64(extreme+1) / (Draws + 1)
}

// exactFlips goes through all patterns in the order of a Gray code, one sign at a time.
func exactFlips(net []float64, observed float64) float64 {
	sum := 0.0
	sign := make([]float64, len(net))
	for i, x := range net {
		sum += x
		sign[i] = 1
	}
	extreme, patterns := 0, 1<<len(net)
	for k := range patterns {
		if math.Abs(sum) >= observed {
			extreme++
		}
		next := k + 1
		if next == patterns {
			break
		}
		i := 0
		for next&1 == 0 {
			next >>= 1
			i++
		}
		sign[i] = -sign[i]
		sum += 2 * sign[i] * net[i]
	}
	return float64(extreme) / float64(patterns)
}
