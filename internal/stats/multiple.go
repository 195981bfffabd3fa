package stats

import (
	"cmp"
	"slices"
)

// BenjaminiHochberg gives each p its q: the smallest false discovery rate at which it would be found,
// q_(i) = min over j >= i of m p_(j)/j (Benjamini and Hochberg, Controlling the false discovery rate, JRSS B
// 57, 1995; R's p.adjust "BH"). m counts the values that are there; an absent p stays absent for its own
// reason, and one outside of 0 to 1 is out_of_range and not counted.
func BenjaminiHochberg(p []Value) []Value {
	out, order := make([]Value, len(p)), []int{}
	for i, x := range p {
		switch {
		case !x.Ok():
			out[i] = None(x.Absent)
		case !finite(x.X) || x.X < 0 || x.X > 1:
			out[i] = None(OutOfRange)
		default:
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p[b].X, p[a].X) })
	q, m := 1.0, float64(len(order))
	for i, at := range order {
		q = min(q, m*p[at].X/float64(len(order)-i))
		out[at] = Known(q)
	}
	return out
}

// AdjustedConfidence is the confidence that intervals need which are shown because their tests were found, so
// that at most a share fdr of them misses: 1 - found fdr / tests (Benjamini and Yekutieli, False discovery
// rate-adjusted multiple confidence intervals for selected parameters, JASA 100, 2005). Absent: no_tests where
// nothing was tested or found, out_of_range.
func AdjustedConfidence(found, tests int, fdr float64) Value {
	switch {
	case found < 0 || found > tests || !(fdr > 0 && fdr < 1):
		return None(OutOfRange)
	case found == 0:
		return None(NoTests)
	}
	return Known(1 - float64(found)*fdr/float64(tests))
}
