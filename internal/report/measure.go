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
	m.Overall = e.number(e.all, e.cells, e.besides(func(assay.PlannedStratum) string { return "" })[""])
	byArm := func(h assay.PlannedStratum) string { return h.Arm }
	users := e.besides(byArm)
	for _, arm := range e.v.names(byArm) {
		m.ByArm = append(m.ByArm, e.drawn(arm, byArm, users[arm], true))
	}
	byDay := func(h assay.PlannedStratum) string { return h.Day }
	users = e.besides(byDay)
	for _, day := range e.v.names(byDay) {
		m.ByDay = append(m.ByDay, e.drawn(day, byDay, users[day], false))
	}
	m.ByAgent = e.domains(m.Overall, e.s.e.Agents, func(r *extract.Row) int32 { return r.Agent })
	m.BySource = e.domains(m.Overall, e.s.e.Sources, func(r *extract.Row) int32 { return r.Source })
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
func (e *estimator) drawn(name string, of func(assay.PlannedStratum) string, b beside, lines bool) number.Part {
	to := make([]int, len(e.all))
	var strata []stats.Stratum
	for i, h := range e.v.strata {
		if to[i] = -1; of(h) == name {
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
	return number.Part{Name: name, Number: e.number(strata, cells, b)}
}

// number is a level with its interval and what stands beside it.
func (e *estimator) number(strata []stats.Stratum, cells []stats.Cell, b beside) number.Number {
	est, interval := e.level(strata, cells)
	n := number.Of(e.v.o.Target, est.Level, interval)
	n.N, n.Sampled, n.Answered, n.Applies = est.Size, est.Drawn, est.Observed, est.Domain
	n.Coverage, n.Low, n.High, n.Merged = est.Coverage.Pointer(), est.Low.Pointer(), est.High.Pointer(), est.Merged
	n.Users, n.Cut = b.users, b.cut()
	return n
}

func (e *estimator) level(strata []stats.Stratum, cells []stats.Cell) (stats.Estimate, stats.Interval) {
	if e.kind == KindMean {
		return stats.Mean(strata, e.l.least, e.l.most), stats.MeanInterval(strata, cells, e.v.o.Target, e.l.least, e.l.most, e.v.o.Confidence)
	}
	return stats.Rate(strata), stats.RateInterval(strata, cells, e.v.o.Target, e.v.o.Confidence)
}

// beside is what stands at the number of a part: the users of its answered rows, and how many of its verdicts are
// about a cut transcript.
type beside struct {
	users        int64
	graded, cuts int64
	last         int32 // user that was counted
}

func (b *beside) add(r *extract.Row, answered bool) {
	if r.State == assay.ItemGraded {
		b.graded++
		if r.Cut {
			b.cuts++
		}
	}
	if answered && r.User != b.last {
		b.users++
		b.last = r.User
	}
}

// cut is the share of the verdicts about a cut transcript; nil of none.
func (b beside) cut() *float64 {
	if b.cuts == 0 {
		return nil
	}
	return new(float64(b.cuts) / float64(b.graded))
}

// besides are those of parts that are made of whole strata, in one pass.
func (e *estimator) besides(of func(assay.PlannedStratum) string) map[string]beside {
	names := make([]string, len(e.v.strata))
	at := map[string]int{}
	var parts []beside
	place := make([]int, len(names))
	for i, h := range e.v.strata {
		names[i] = of(h)
		n, ok := at[names[i]]
		if !ok {
			n = len(parts)
			at[names[i]] = n
			parts = append(parts, beside{last: -1})
		}
		place[i] = n
	}
	for _, i := range e.s.byUser {
		parts[place[e.s.place[i]]].add(&e.s.e.Rows[i], e.a.observed[i])
	}
	out := make(map[string]beside, len(parts))
	for name, n := range at {
		out[name] = parts[n]
	}
	return out
}

// besideOf is that of some rows.
func (e *estimator) besideOf(part func(row int32) bool) beside {
	b := beside{last: -1}
	for _, i := range e.s.byUser {
		if part == nil || part(i) {
			b.add(&e.s.e.Rows[i], e.a.observed[i])
		}
	}
	return b
}
