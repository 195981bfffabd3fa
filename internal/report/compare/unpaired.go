package compare

import (
	"assay/internal/report/number"
	"assay/internal/stats"
)

// unpaired compares two weighted samples. Users of one name are the same user on both sides. Of means there is the
// difference and no interval.
func (p *pairing) unpaired(out Criterion, m measure) Criterion {
	numbers := map[string]int{}
	a, ja := p.sample(p.a, m.at, m, numbers)
	b, jb := p.sample(p.b, m.other, m, numbers)
	out.A, out.B = p.sampleLevel(a, ja, m), p.sampleLevel(b, jb, m)
	if m.mean {
		out.Drop = number.Difference{Absent: out.A.Absent, IntervalAbsent: stats.NoInterval}
		if out.Drop.Absent == stats.Defined {
			out.Drop.Absent = out.B.Absent
		}
		if out.A.Value != nil && out.B.Value != nil {
			out.Drop.Value = new(*out.A.Value - *out.B.Value)
		}
	} else {
		out.again = func(confidence float64) number.Difference {
			return number.DifferenceOf(stats.RateDifference(a, b, confidence))
		}
		out.Drop = out.again(p.o.Confidence)
	}
	if out.A.Low != nil && out.A.High != nil && out.B.Low != nil && out.B.High != nil {
		out.Drop.Low, out.Drop.High = new(*out.A.Low-*out.B.High), new(*out.A.High-*out.B.Low)
	}
	return out
}

// sample are a side's own strata and users.
func (p *pairing) sample(h half, at int, m measure, numbers map[string]int) (stats.Sample, []joint) {
	own := newPairing(h, h, p.o)
	var j []joint
	for i := range h.e.Rows {
		if x, ok := m.of(h.e, at, int32(i)); ok && own.place[i] >= 0 {
			j = append(j, joint{row: int32(i), at: own.place[i], by: userNumber(h, i, numbers), a: x})
		}
	}
	sortJoints(j)
	strata, cells := own.sums(j, func(x *joint) float64 { return x.a }, own.frame())
	return stats.Sample{Strata: strata, Users: cells}, j
}

// userNumber is one number for a name, and one of its own for a user that is not known.
func userNumber(h half, row int, numbers map[string]int) int {
	name := h.e.Users[h.e.Rows[row].User]
	if name == "" {
		return -2 - int(h.e.Rows[row].Content) // contents differ where unknown users do
	}
	n, ok := numbers[name]
	if !ok {
		n = len(numbers)
		numbers[name] = n
	}
	return n
}

func (p *pairing) sampleLevel(s stats.Sample, j []joint, m measure) number.Number {
	e := stats.Mean(s.Strata, m.least, m.most)
	var n number.Number
	if m.mean {
		n = number.Of(stats.Process, e.Level, stats.MeanInterval(s.Strata, s.Users, stats.Process, m.least, m.most, p.o.Confidence))
	} else {
		n = number.Of(stats.Process, e.Level, stats.RateInterval(s.Strata, s.Users, stats.Process, p.o.Confidence))
	}
	n.N, n.Sampled, n.Answered, n.Applies, n.Users = e.Size, e.Drawn, e.Observed, e.Domain, users(j)
	n.Coverage, n.Low, n.High, n.Merged = e.Coverage.Pointer(), e.Low.Pointer(), e.High.Pointer(), e.Merged
	return n
}
