package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

const (
	// MaxExact is the number of users with discordant pairs up to which all sign patterns are counted.
	MaxExact = 20
	// Draws is the number of sign patterns that are drawn where there are more.
	Draws = 100_000
)

// flips is P of a randomisation test of sum x: the share of patterns of signs whose sum is at least as far from
// 0 as the one seen (Fisher, The Design of Experiments, 1935, 21). All patterns count up to MaxExact summands
// that are not 0; else Draws are drawn with the seed, and P = (extreme + 1)/(Draws + 1), which is never 0
// (Phipson and Smyth, Permutation p-values should never be zero, SAGMB 9, 2010). The order of xs does not matter.
func flips(xs []float64, seed uint64) float64 {
	var turns []float64
	for _, x := range xs {
		if x != 0 {
			turns = append(turns, math.Abs(x)) // a pattern and its signs are as likely as any other
		}
	}
	slices.Sort(turns)
	seen := math.Abs(total(xs)) - 1e-12*total(turns) // patterns that only rounding tells apart are equal
	if len(turns) <= MaxExact {
		return allFlips(turns, seen)
	}
	return drawnFlips(turns, seen, seed)
}

// allFlips goes through all patterns in the order of a Gray code, one sign at a time.
func allFlips(turns []float64, seen float64) float64 {
	negative := make([]bool, len(turns))
	sum, extreme, patterns := total(turns), 0, 1<<len(turns)
	for next := 1; ; next++ {
		if math.Abs(sum) >= seen {
			extreme++
		}
		if next == patterns {
			return float64(extreme) / float64(patterns)
		}
		i := bits.TrailingZeros(uint(next))
		if negative[i] = !negative[i]; negative[i] {
			sum -= 2 * turns[i]
		} else {
			sum += 2 * turns[i]
		}
	}
}

func drawnFlips(turns []float64, seen float64, seed uint64) float64 {
	tables := flipTables(turns)
	r := rand.New(rand.NewPCG(seed, flipStream))
	extreme := 0
	for range Draws {
		sum, random := 0.0, uint64(0)
		for i := range tables {
			if i%8 == 0 {
				random = r.Uint64()
			}
			sum += tables[i][random&0xff]
			random >>= 8
		}
		if math.Abs(sum) >= seen {
			extreme++
		}
	}
	return float64(extreme+1) / (Draws + 1)
}

const flipStream = 0x9e3779b97f4a7c15 // the second half of the seed

// flipTables are the sums of all patterns of eight summands each, so that a draw adds one number for eight.
func flipTables(turns []float64) [][256]float64 {
	tables := make([][256]float64, (len(turns)+7)/8)
	for i, x := range turns {
		for pattern := range 256 {
			if pattern>>(i%8)&1 == 0 {
				tables[i/8][pattern] += x
			} else {
				tables[i/8][pattern] -= x
			}
		}
	}
	return tables
}
