package old

import (
	"slices"

	"assay/internal/assay"
	"assay/internal/stats"
)

// limits are the smallest and the largest value that an answer can have.
type limits struct{ least, most stats.Value }

var share = limits{stats.Known(0), stats.Known(1)}

func numberLimits(k assay.Criterion) limits {
	l := limits{stats.None(stats.Unbounded), stats.None(stats.Unbounded)}
	if k.Min != nil {
		l.least = stats.Known(*k.Min)
	}
	if k.Max != nil {
		l.most = stats.Known(*k.Max)
	}
	return l
}

// measure estimates one level over the frame, per arm and per day.
func (c cells) measure(per map[int]count, l limits) Measure {
	all := c.inputs(per)
	m := Measure{Overall: estimate(all, l), ByArm: []Part{}, ByDay: []Part{}}
	for _, arm := range c.names(func(h assay.PlannedStratum) string { return h.Arm }) {
		m.ByArm = append(m.ByArm, Part{arm, estimate(c.part(all, func(h assay.PlannedStratum) bool { return h.Arm == arm }), l)})
	}
	for _, day := range c.names(func(h assay.PlannedStratum) string { return h.Day }) {
		part := c.part(all, func(h assay.PlannedStratum) bool { return h.Day == day })
		for i := range part {
			part[i].Line = "" // a day's level is about that day: nothing is borrowed from the next
		}
		m.ByDay = append(m.ByDay, Part{day, estimate(part, l)})
	}
	return m
}

// inputs pairs the counts with the strata, in the order of c.strata.
func (c cells) inputs(per map[int]count) []stats.Stratum {
	out := make([]stats.Stratum, len(c.strata))
	for i, h := range c.strata {
		n := per[h.Index]
		out[i] = stats.Stratum{
			Label: h.Day + "/" + h.Arm, Line: h.Arm, Size: h.Eligible, Drawn: h.Sampled,
			Observed: n.observed, Domain: n.domain, Sum: n.sum,
		}
		if h.Day == assay.Undated {
			out[i].Line = "" // no day is adjacent to no day
		}
	}
	return out
}

func (c cells) part(all []stats.Stratum, in func(assay.PlannedStratum) bool) (out []stats.Stratum) {
	for i, h := range c.strata {
		if in(h) {
			out = append(out, all[i])
		}
	}
	return out
}

func (c cells) names(of func(assay.PlannedStratum) string) (out []string) {
	for _, h := range c.strata {
		out = append(out, of(h))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func estimate(strata []stats.Stratum, l limits) Estimate {
	e := stats.Mean(strata, l.least, l.most)
	return Estimate{
		Level: e.Level.Pointer(), Absent: e.Level.Absent, N: e.Size, Sampled: e.Drawn,
		Answered: e.Observed, Applies: e.Domain, Coverage: e.Coverage.Pointer(),
		Low: e.Low.Pointer(), High: e.High.Pointer(), Merged: e.Merged,
	}
}
