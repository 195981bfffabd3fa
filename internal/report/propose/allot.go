package propose

import (
	"cmp"
	"math"
	"slices"

	"assay/internal/stats"
)

// maker makes the proposals of one request.
type maker struct {
	Request
	rates []float64 // expected, by stratum
	total int64     // eligible sessions
	world *world
	whole *outcome // of everything graded, once it was asked for
}

func newMaker(q Request) *maker {
	q.sort()
	m := &maker{Request: q, rates: q.expected(q.Expect)}
	for _, h := range q.Strata {
		m.total += h.Eligible
	}
	m.world = newWorld(m)
	return m
}

// sort puts strata in order of day, then arm: how they come in must not change which chances they meet.
func (q *Request) sort() {
	order := make([]int, len(q.Strata))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := q.Strata[a], q.Strata[b]
		return cmp.Or(cmp.Compare(x.Day, y.Day), cmp.Compare(x.Arm, y.Arm))
	})
	strata, place := make([]Stratum, len(order)), make([]int, len(order))
	for i, from := range order {
		strata[i], place[from] = q.Strata[from], i
	}
	users := slices.Clone(q.Users)
	for i := range users {
		users[i].Stratum = place[users[i].Stratum]
	}
	slices.SortFunc(users, func(a, b User) int {
		return cmp.Or(cmp.Compare(a.Stratum, b.Stratum), cmp.Compare(a.User, b.User))
	})
	q.Strata, q.Users = strata, users
}

// overall is the expected level of the frame.
func (m *maker) overall() float64 {
	sum := 0.0
	for i, h := range m.Strata {
		sum += float64(h.Eligible) * m.rates[i]
	}
	return sum / float64(m.total)
}

// sizes are the n of each stratum at a size of a split: of equal its cap, else the number of all sessions. nil where
// the split has no such size.
func (m *maker) sizes(split Split, size int64) []int64 {
	if split == EqualCap {
		out := make([]int64, len(m.Strata))
		for i, h := range m.Strata {
			out[i] = min(size, h.Eligible)
		}
		return out
	}
	portions := make([]stats.Portion, len(m.Strata))
	for i, h := range m.Strata {
		const seen = 1_000_000 // the rate as Allocate takes it
		portions[i] = stats.Portion{Label: h.Day + "\x00" + h.Arm, Size: h.Eligible, Seen: seen, Hits: int64(math.Round(m.rates[i] * seen))}
	}
	kind := stats.Proportional
	if split == Neyman {
		kind = stats.Neyman
	}
	out, why := stats.Allocate(portions, size, kind)
	if why != stats.Defined {
		return nil
	}
	for i := range out {
		out[i] = max(out[i], 1) // a stratum without a session would be counted with a neighbour
	}
	return out
}

// most is the largest size of a split.
func (m *maker) most(split Split) int64 {
	if split != EqualCap {
		return m.total
	}
	var most int64
	for _, h := range m.Strata {
		most = max(most, h.Eligible)
	}
	return most
}

// forBudget is the largest size whose sessions are at most so many, 0 where there is none.
func (m *maker) forBudget(split Split, sessions int64) int64 {
	fits := func(size int64) bool {
		n := m.sizes(split, size)
		return n != nil && sum(n) <= sessions
	}
	low, high := int64(0), m.most(split)
	if fits(high) {
		return high
	}
	if split == Neyman { // below its least portions there is none
		for _, h := range m.Strata {
			low += min(stats.LeastPortion, h.Eligible)
		}
		if !fits(low) {
			return 0
		}
	}
	for high-low > 1 { // low fits or is 0, high does not
		if mid := low + (high-low)/2; fits(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// forMargin is the smallest size whose expected margin is no more than was asked, 0 where there is none. It doubles
// from a small size and then halves, so that no size is tried that is much too large: those of the process take long.
func (m *maker) forMargin(split Split) (size int64, o outcome) {
	most := m.most(split)
	if whole := m.everything(); !whole.within(m.Margin) {
		return 0, whole
	}
	low, high := int64(0), int64(1)
	for high < most {
		if o = m.expect(split, high); o.within(m.Margin) {
			break
		}
		low, high = high, high*2
	}
	if high = min(high, most); high == most {
		o = m.everything()
	}
	for high-low > m.step(high) {
		mid := low + (high-low)/2
		if at := m.expect(split, mid); at.within(m.Margin) {
			high, o = mid, at
		} else {
			low = mid
		}
	}
	return high, o
}

// step is how exact a size is: sizes of the process are found to 1 in 500, for each takes a while to try.
func (m *maker) step(size int64) int64 {
	if m.Target == stats.Process {
		return max(1, size/500)
	}
	return 1
}

// everything is what grading the whole frame gives.
func (m *maker) everything() outcome {
	if m.whole == nil {
		n := make([]int64, len(m.Strata))
		for i, h := range m.Strata {
			n[i] = h.Eligible
		}
		o := m.world.expect(n)
		m.whole = &o
	}
	return *m.whole
}

func (m *maker) expect(split Split, size int64) outcome {
	n := m.sizes(split, size)
	if n == nil {
		return outcome{absent: stats.Unreachable}
	}
	return m.world.expect(n)
}

func sum(n []int64) (total int64) {
	for _, x := range n {
		total += x
	}
	return total
}
