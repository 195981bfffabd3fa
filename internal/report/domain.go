package report

import (
	"cmp"
	"slices"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// mostParts is how many agent versions or sources are shown, those with the most sampled sessions.
const mostParts = 30

// noName is how the part of sessions is called that recorded no agent version, or no source.
const noName = "(none)"

// domains are the levels of parts that are not drawn by themselves. How many sessions a part has is estimated too:
// the level is the ratio of two estimates (stats.Rate).
func (e *estimator) domains(overall number.Number, names []string, of func(*extract.Row) int32) []number.Part {
	sizes := make([]int64, len(names))
	for i := range e.s.e.Rows {
		if e.s.place[i] >= 0 {
			sizes[of(&e.s.e.Rows[i])]++
		}
	}
	shown := make([]int32, 0, len(names))
	for i := range names {
		if sizes[i] > 0 {
			shown = append(shown, int32(i))
		}
	}
	slices.SortFunc(shown, func(a, b int32) int { return cmp.Or(cmp.Compare(sizes[b], sizes[a]), cmp.Compare(names[a], names[b])) })
	shown = shown[:min(len(shown), mostParts)]
	slices.SortFunc(shown, func(a, b int32) int { return cmp.Compare(names[a], names[b]) })
	parts := make([]number.Part, 0, len(shown))
	for _, at := range shown {
		name := cmp.Or(names[at], noName)
		if len(shown) == 1 && sizes[at] == int64(len(e.s.byUser)) {
			parts = append(parts, number.Part{Name: name, Number: overall}) // all of it
			continue
		}
		parts = append(parts, number.Part{Name: name, Number: e.domain(func(row int32) bool { return of(&e.s.e.Rows[row]) == at })})
	}
	return parts
}

func (e *estimator) domain(part func(row int32) bool) number.Number {
	strata := e.v.inputs(e.s, e.a, part)
	n := e.number(strata, e.v.cells(e.s, e.a, part), e.besideOf(part))
	n.Coverage, n.Low, n.High = nil, nil, nil
	b := e.bounds(part)
	n.Sampled, n.Answered, n.Applies = b.sampled, b.answered, b.applies
	if !e.v.f.chain.Covers.Complete {
		return n // of which part the rest will be is not known
	}
	if b.drawn > 0 {
		n.Coverage = new(b.seen / b.drawn)
	}
	if all := b.domain + b.drawn - b.seen; all > 0 {
		if e.l.least.Ok() {
			n.Low = new((b.sum + (b.drawn-b.seen)*e.l.least.X) / all)
		}
		if e.l.most.Ok() {
			n.High = new((b.sum + (b.drawn-b.seen)*e.l.most.X) / all)
		}
	}
	if n.Value != nil && n.Low != nil { // the value weighs a stratum by what is graded, the bounds by what was drawn
		*n.Low = min(*n.Low, *n.Value)
	}
	if n.Value != nil && n.High != nil {
		*n.High = max(*n.High, *n.Value)
	}
	return n
}

// bounds are weighted sums over a part's sampled rows: each stands for N_h/n_h sessions.
type bounds struct {
	sampled, answered, applies int64
	drawn, seen, domain, sum   float64
}

func (e *estimator) bounds(part func(row int32) bool) (b bounds) {
	type cell struct {
		drawn, seen, domain int64
		list                []float64
	}
	per := make([]cell, len(e.v.strata))
	for i, at := range e.s.place {
		if at < 0 || !part(int32(i)) {
			continue
		}
		c := &per[at]
		c.drawn++
		if !e.a.observed[i] {
			continue
		}
		c.seen++
		if e.a.applies[i] {
			c.domain++
			c.list = append(c.list, e.a.x[i])
		}
	}
	for at, c := range per {
		if c.drawn == 0 {
			continue
		}
		b.sampled, b.answered, b.applies = b.sampled+c.drawn, b.answered+c.seen, b.applies+c.domain
		w := float64(e.v.strata[at].Eligible) / float64(e.v.strata[at].Sampled)
		sum, _ := exact(c.list)
		b.drawn, b.seen, b.domain, b.sum = b.drawn+w*float64(c.drawn), b.seen+w*float64(c.seen), b.domain+w*float64(c.domain), b.sum+w*sum
	}
	return b
}

// coverage is the weighted share of the sample that has a verdict.
func (v *view) coverage(s side) *float64 {
	a := newAnswers(len(s.e.Rows))
	for i := range s.e.Rows {
		a.observed[i] = s.e.Rows[i].State == assay.ItemGraded
	}
	return stats.Coverage(v.inputs(s, a, nil)).Pointer()
}
