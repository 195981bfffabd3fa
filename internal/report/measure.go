package report

import (
	"slices"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/report/number"
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

// estimator makes numbers of one question's answers.
type estimator struct {
	v     *view
	s     side
	a     answers
	kind  MeasureKind
	l     limits
	all   []stats.Stratum
	cells []stats.Cell
}

func (v *view) estimator(s side, a answers, kind MeasureKind, l limits) *estimator {
	return &estimator{v: v, s: s, a: a, kind: kind, l: l, all: v.inputs(s, a, nil), cells: v.cells(s, a, nil)}
}

// measure estimates one level over the frame and of its parts.
func (e *estimator) measure(value string) Measure {
	m := Measure{Kind: e.kind, Value: value, ByArm: []number.Part{}, ByDay: []number.Part{}}
	m.Overall = e.number(e.all, e.cells, nil)
	for _, arm := range e.v.names(func(h assay.PlannedStratum) string { return h.Arm }) {
		m.ByArm = append(m.ByArm, e.drawn(arm, func(h assay.PlannedStratum) bool { return h.Arm == arm }, true))
	}
	for _, day := range e.v.names(func(h assay.PlannedStratum) string { return h.Day }) {
		m.ByDay = append(m.ByDay, e.drawn(day, func(h assay.PlannedStratum) bool { return h.Day == day }, false))
	}
	m.ByAgent = e.domains(e.s.e.Agents, func(r *extract.Row) int32 { return r.Agent })
	m.BySource = e.domains(e.s.e.Sources, func(r *extract.Row) int32 { return r.Source })
	return m
}

func (v *view) names(of func(assay.PlannedStratum) string) (out []string) {
	for _, h := range v.strata {
		out = append(out, of(h))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// drawn is the level of a part that is made of whole strata. A day's level is about that day: nothing is borrowed
// from the next.
func (e *estimator) drawn(name string, in func(assay.PlannedStratum) bool, lines bool) number.Part {
	to := make([]int, len(e.all))
	var strata []stats.Stratum
	for i, h := range e.v.strata {
		if to[i] = -1; in(h) {
			to[i] = len(strata)
			strata = append(strata, e.all[i])
			if !lines {
				strata[to[i]].Line = ""
			}
		}
	}
	var cells []stats.Cell
	if e.cells != nil {
		cells = []stats.Cell{} // nil would be users that are not known
	}
	for _, c := range e.cells {
		if at := to[c.Stratum]; at >= 0 {
			c.Stratum = at
			cells = append(cells, c)
		}
	}
	return number.Part{Name: name, Number: e.number(strata, cells, func(row int32) bool {
		at := e.s.place[row]
		return at >= 0 && to[at] >= 0
	})}
}

// number is a level with its interval and what stands beside it. part says which rows it is about.
func (e *estimator) number(strata []stats.Stratum, cells []stats.Cell, part func(row int32) bool) number.Number {
	est, interval := e.level(strata, cells)
	n := number.Of(e.v.o.Target, est.Level, interval)
	n.N, n.Sampled, n.Answered, n.Applies = est.Size, est.Drawn, est.Observed, est.Domain
	n.Coverage, n.Low, n.High, n.Merged = est.Coverage.Pointer(), est.Low.Pointer(), est.High.Pointer(), est.Merged
	n.Users, n.Cut = e.beside(part)
	return n
}

func (e *estimator) level(strata []stats.Stratum, cells []stats.Cell) (stats.Estimate, stats.Interval) {
	if e.kind == KindMean {
		return stats.Mean(strata, e.l.least, e.l.most), stats.MeanInterval(strata, cells, e.v.o.Target, e.l.least, e.l.most, e.v.o.Confidence)
	}
	return stats.Rate(strata), stats.RateInterval(strata, cells, e.v.o.Target, e.v.o.Confidence)
}

// beside counts the users of the answered rows of a part, and the share of its verdicts about a cut transcript.
func (e *estimator) beside(part func(row int32) bool) (users int64, cutShare *float64) {
	last := int32(-1)
	var cut, graded int64
	for _, i := range e.s.byUser {
		if part != nil && !part(i) {
			continue
		}
		r := &e.s.e.Rows[i]
		if r.State == assay.ItemGraded {
			graded++
			if r.Cut {
				cut++
			}
		}
		if e.a.observed[i] && r.User != last {
			users++
			last = r.User
		}
	}
	if cut > 0 {
		share := float64(cut) / float64(graded)
		cutShare = &share
	}
	return users, cutShare
}
