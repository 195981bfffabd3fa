package report

import (
	"cmp"
	"slices"
	"sync"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/stats"
)

func (v *view) judge(i int) Judge {
	s := v.sides[i]
	e := s.e
	out := Judge{
		Name: e.Judge.Name, Version: e.Judge.Version, Kind: e.Version.Kind, Coverage: v.coverage(s),
		Classes: v.classes(s), Strata: v.stratumCounts(s), Fails: v.fails(s), Calls: e.Calls, Spend: v.f.judgeSpend(i),
	}
	for n := range e.Rows {
		if r := &e.Rows[n]; r.State == assay.ItemGraded {
			if r.Cut {
				out.Cut++
			}
			if r.Reused {
				out.Reused++
			}
		}
	}
	out.Criteria = make([]Criterion, len(e.Columns))
	var all sync.WaitGroup // each question is pure, and a big run takes most of its time here
	for at := range e.Columns {
		all.Go(func() {
			out.Criteria[at] = v.criterion(s, at)
			out.Criteria[at].Noise = v.noise(i, out.Criteria[at].Name, out.Criteria[at].Type)
		})
	}
	all.Wait()
	return out
}

func (v *view) criterion(s side, at int) Criterion {
	c := &s.e.Columns[at]
	out := Criterion{Name: c.Criterion.Name, Type: c.Criterion.Type, Question: c.Criterion.Question, Measures: []Measure{}, Quoted: c.Quoted, Unverified: c.Unverified}
	for _, a := range c.Answers {
		switch a {
		case extract.Abstained:
			out.Abstained++
		case extract.Outside:
			out.Outside++
		}
	}
	switch {
	case at == 0:
		a := s.pass()
		out.Measures = append(out.Measures, v.estimator(s, a, KindRate, share).measure(""))
		out.Lifts = v.lifts(s, a)
	case c.Criterion.Type == assay.Boolean:
		a := s.column(at, extract.Yes)
		out.Measures = append(out.Measures, v.estimator(s, a, KindRate, share).measure(""))
		out.Lifts = v.lifts(s, a)
	case c.Criterion.Type == assay.Number:
		a := s.column(at, 0)
		e := v.estimator(s, a, KindMean, numberLimits(c.Criterion))
		out.Measures = append(out.Measures, e.measure(""))
		out.Distribution = e.distribution(c.Criterion)
	default:
		for n, value := range c.Values {
			out.Measures = append(out.Measures, v.estimator(s, s.column(at, extract.Answer(n)), KindShare, share).measure(value))
		}
	}
	return out
}

// stratumCounts counts a judge's verdicts per stratum, in the plan's order: of a session that was graded several
// times the first one only. Numbers are then exactly those of a run that grades once, which adopts these very
// verdicts.
func (v *view) stratumCounts(s side) []Stratum {
	out := make([]Stratum, len(v.strata))
	var size int64
	for _, h := range v.strata {
		size += h.Eligible
	}
	for i, h := range v.strata {
		out[i] = Stratum{Stratum: h.Stratum, Eligible: h.Eligible, Sampled: h.Sampled}
		if size > 0 {
			out[i].Weight = float64(h.Eligible) / float64(size)
		}
	}
	for i := range s.e.Rows {
		at := s.place[i]
		if at < 0 || s.e.Rows[i].State != assay.ItemGraded {
			continue
		}
		h := &out[at]
		h.Graded++
		if s.e.Rows[i].Cut {
			h.Cut++
		}
		switch s.e.Columns[0].Answers[i] {
		case extract.Yes:
			h.Passed++
		case extract.Undefined:
			h.Undecided++
		}
	}
	slices.SortFunc(out, func(a, b Stratum) int { return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Arm, b.Arm)) })
	return out
}

// classes are the ways in which items ended without a verdict because something broke, or could not be graded. Each
// has a share of the frame: what would end so had all of it been asked about.
func (v *view) classes(s side) []ClassShare {
	type class struct {
		state assay.ItemState
		class assay.Class
	}
	n := map[class]int64{}
	for i := range s.e.Rows {
		if r := &s.e.Rows[i]; ended(r.State) && r.State != assay.ItemGraded {
			n[class{r.State, r.Class}]++
		}
	}
	out := []ClassShare{}
	for c, count := range n {
		a := newAnswers(len(s.e.Rows))
		for i := range s.e.Rows {
			r := &s.e.Rows[i]
			a.observed[i] = ended(r.State)
			a.applies[i] = a.observed[i]
			if r.State == c.state && r.Class == c.class {
				a.x[i] = 1
			}
		}
		e := v.estimator(s, a, KindShare, share)
		out = append(out, ClassShare{State: c.state, Class: c.class, N: count, Share: e.number(e.all, e.cells, e.besideOf(nil))})
	}
	slices.SortFunc(out, func(a, b ClassShare) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.State, b.State), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// ended says that an item was asked about and how it ended is known: not one that a person stopped.
func ended(s assay.ItemState) bool {
	return s == assay.ItemGraded || s == assay.ItemErrored || s == assay.ItemUngradable
}

func (v *view) fails(s side) []Fails {
	out := []Fails{}
	for _, f := range s.e.Fails {
		to := Fails{Criterion: f.Criterion, N: f.N, Reasons: []Reason{}, Examples: []Example{}}
		for _, r := range f.Types {
			to.Types = append(to.Types, Reason(r))
		}
		for _, r := range f.Reasons {
			to.Reasons = append(to.Reasons, Reason(r))
		}
		for _, x := range f.Examples {
			r := &s.e.Rows[x.Row]
			name := v.f.names[r.Content]
			to.Examples = append(to.Examples, Example{
				Session: assay.SessionName(name.UserID, name.SessionID), Run: r.Run, Seq: r.Seq, Reason: x.Reason, URL: ItemURL(r.Run, r.Seq),
			})
		}
		out = append(out, to)
	}
	return out
}

// adjust gives exploratory lifts their q, marks those that are found, and widens the intervals of these. The lift
// of the first judge's pass is the declared comparison where there is one lift of it only: two arms.
func (v *view) adjust(r *Report) {
	var all []*Lift
	for j := range r.Judges {
		for c := range r.Judges[j].Criteria {
			k := &r.Judges[j].Criteria[c]
			for l := range k.Lifts {
				if j == 0 && c == 0 && len(k.Lifts) == 1 {
					k.Lifts[l].Lift.Primary = true
					continue
				}
				all = append(all, &k.Lifts[l])
			}
		}
	}
	p := make([]stats.Value, len(all))
	for i, l := range all {
		p[i] = l.p
	}
	found := 0
	for i, q := range stats.BenjaminiHochberg(p) {
		all[i].Lift.Q = q.Pointer()
		if all[i].Lift.Marked = q.Ok() && q.X < fdr; all[i].Lift.Marked {
			found++
		}
	}
	confidence := stats.AdjustedConfidence(found, len(all), fdr)
	for _, l := range all {
		if l.Lift.Marked && confidence.Ok() && confidence.X > v.o.Confidence {
			adjusted := v.lift(l.days, l.cells, confidence.X)
			l.Lift.Interval, l.Lift.IntervalAbsent = adjusted.Interval, adjusted.IntervalAbsent
		}
	}
}

// fdr is the false discovery rate below which an exploratory difference is marked.
const fdr = 0.1
