package stats

import (
	"cmp"
	"math"
	"slices"
)

// Split is how a sample is spread over strata.
type Split int

const (
	Proportional Split = iota // n_h to N_h
	EqualCap                  // the same for all, or the whole stratum
	Neyman                    // n_h to N_h times the standard deviation
)

// Portion is a stratum to be sampled, and what is known of a rate in it.
type Portion struct {
	Label      string // tells strata of one size apart where a unit is left over
	Size       int64  // N_h
	Seen, Hits int64  // units seen before and hits among them; none is fine
}

// LeastPortion is what a stratum gets at least under Neyman's split, or all of it: his formula gives none to a
// stratum that looks all alike.
const LeastPortion = 5

// Allocate splits total units over strata, 0 <= n_h <= N_h and sum n_h = min(total, N), in whole units: each
// stratum has lambda times its due, cut to its limits, with lambda such that the sum fits, and what rounding
// down leaves goes to the largest remainders, among equal ones to the larger stratum and then by label. The
// order of strata does not matter.
//
// Neyman's due (On the two different aspects of the representative method, JRSS 97, 1934; Cochran, Sampling
// Techniques, 5.5) is N_h sqrt(q(1-q)) with q = (hits+1)/(seen+2), so that neither 0 hits nor nothing seen
// says that there is nothing to see, and at least LeastPortion. Absent: empty_population, out_of_range for
// negative numbers, unreachable where total is too small for the least portions.
func Allocate(strata []Portion, total int64, split Split) ([]int64, Absence) {
	rows, size, why := dues(strata, split)
	switch {
	case why != Defined:
		return nil, why
	case total < 0:
		return nil, OutOfRange
	case size == 0:
		return nil, NoPopulation
	}
	total = min(total, size)
	var least int64
	for _, r := range rows {
		least += r.least
	}
	if least > total {
		return nil, Unreachable
	}
	out := make([]int64, len(strata))
	left := total
	lambda := fitting(rows, total)
	for i := range rows {
		r := &rows[i]
		x := min(max(lambda*r.due, float64(r.least)), float64(r.size))
		r.n = int64(math.Floor(x + 1e-9))
		r.rest = math.Round(max(x-float64(r.n), 0) * 1e7) // what only rounding tells apart is equal
		left -= r.n
	}
	slices.SortFunc(rows, func(a, b due) int {
		return cmp.Or(cmp.Compare(b.rest, a.rest), cmp.Compare(b.size, a.size), cmp.Compare(a.label, b.label))
	})
	for left != 0 {
		before := left
		for i := range rows {
			if r := &rows[i]; left > 0 && r.n < r.size && r.due > 0 {
				r.n++
				left--
			}
		}
		for i := len(rows) - 1; i >= 0; i-- {
			if r := &rows[i]; left < 0 && r.n > r.least {
				r.n--
				left++
			}
		}
		if left == before {
			break
		}
	}
	for _, r := range rows {
		out[r.at] = r.n
	}
	return out, Defined
}

type due struct {
	at          int
	label       string
	size, least int64
	due         float64
	n           int64
	rest        float64
}

func dues(strata []Portion, split Split) (rows []due, size int64, why Absence) {
	for i, h := range strata {
		if h.Size < 0 || h.Hits < 0 || h.Hits > h.Seen {
			return nil, 0, OutOfRange
		}
		r := due{at: i, label: h.Label, size: h.Size, due: float64(h.Size)}
		switch {
		case split == EqualCap && h.Size > 0:
			r.due = 1
		case split == Neyman:
			q := float64(h.Hits+1) / float64(h.Seen+2)
			r.due *= math.Sqrt(q * (1 - q))
			r.least = min(LeastPortion, h.Size)
		}
		rows = append(rows, r)
		size += h.Size
	}
	// The same order of sums whatever the order of strata.
	slices.SortFunc(rows, func(a, b due) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.size, b.size), cmp.Compare(a.label, b.label))
	})
	return rows, size, Defined
}

// fitting is lambda with sum of min(max(lambda due, least), size) = total, found by halving and then solved
// for with the strata that are not cut.
func fitting(rows []due, total int64) float64 {
	sum := func(lambda float64) float64 {
		s := 0.0
		for _, r := range rows {
			s += min(max(lambda*r.due, float64(r.least)), float64(r.size))
		}
		return s
	}
	high := 1.0
	for sum(high) < float64(total) && high < 1e30 {
		high *= 2
	}
	low := 0.0
	for range 200 {
		if mid := (low + high) / 2; sum(mid) < float64(total) {
			low = mid
		} else {
			high = mid
		}
	}
	free, fixed := 0.0, 0.0
	for _, r := range rows {
		switch x := high * r.due; {
		case x <= float64(r.least):
			fixed += float64(r.least)
		case x >= float64(r.size):
			fixed += float64(r.size)
		default:
			free += r.due
		}
	}
	if free > 0 {
		return (float64(total) - fixed) / free
	}
	return high
}
