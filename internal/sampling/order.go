package sampling

import (
	"cmp"
	"slices"
)

// Pick is one drawn session in dispatch order. Stratum is an index into Sample.Strata.
type Pick struct {
	Stratum int
	Ref     int64
}

// Order is the order in which a sample is graded, a total order over it: by rank/n_h, rank being a
// session's place in its stratum's hash order from 0 and n_h the number drawn there, then by hash.
//
// So every stratum's first session comes before any second one, and after that each stratum
// advances in proportion to its share of the sample: when a share t of the fractions is behind us, a
// stratum has ceil(t n_h) sessions graded. Every prefix is therefore balanced over strata, and inside
// a stratum it is a random sample of it: a run that is stopped or still running speaks about the
// whole frame, not about its first day or its shortest sessions.
func (s Sample) Order() []Pick {
	type place struct {
		stratum, rank, of int
	}
	places := make([]place, 0, s.Drawn())
	for h := range s.Strata {
		for r := range s.Strata[h].entries {
			places = append(places, place{h, r, len(s.Strata[h].entries)})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(
			cmp.Compare(int64(a.rank)*int64(b.of), int64(b.rank)*int64(a.of)),
			compare(&s.Strata[a.stratum].entries[a.rank], &s.Strata[b.stratum].entries[b.rank]))
	})
	picks := make([]Pick, len(places))
	for i, p := range places {
		picks[i] = Pick{Stratum: p.stratum, Ref: s.Strata[p.stratum].Chosen[p.rank]}
	}
	return picks
}
