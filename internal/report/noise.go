package report

import (
	"strconv"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/stats"
	"assay/internal/store"
)

// gradings are what the gradings of one session gave to one question.
type gradings struct {
	counts    map[string]int64
	numbers   []float64
	abstained int64
}

// outside is the answer that a question does not apply. No JSON value is empty.
const outside = ""

// repeats sums up gradings, one content after the other, by judge, question and stratum.
type repeats struct {
	judges []assay.JudgeVersion
	cells  map[noiseKey]*noiseCell
	now    map[string]*gradings // by criterion, of one content
}

type noiseKey struct {
	judge     int
	criterion string
	stratum   int
}

// noiseCell is one question in one stratum.
type noiseCell struct {
	stats.Repeated
	gradings, single, abstained, outside int64
}

func newRepeats(judges []*extract.Extract) *repeats {
	r := &repeats{cells: map[noiseKey]*noiseCell{}, now: map[string]*gradings{}}
	for _, e := range judges {
		r.judges = append(r.judges, e.Version)
	}
	return r
}

// add takes all gradings of one content by one judge.
func (r *repeats) add(g *store.Regraded) error {
	if g.Judge >= len(r.judges) {
		return nil
	}
	for _, a := range r.now {
		a.reset()
	}
	v := r.judges[g.Judge]
	for _, one := range g.Repeats {
		pass := r.of(assay.CriterionPass)
		switch {
		case one.Pass != nil:
			pass.counts[strconv.FormatBool(*one.Pass)]++
		case mayAbstain(v): // nobody knows whether it abstained or does not apply
			pass.abstained++
		default:
			pass.counts[outside]++
		}
		for _, f := range one.Findings {
			if k := criterionOf(v, f.Criterion); k != nil {
				r.of(k.Name).take(f, k.Type)
			}
		}
	}
	for criterion, a := range r.now {
		if len(a.counts) == 0 && a.abstained == 0 {
			continue // another judge's
		}
		r.cell(noiseKey{g.Judge, criterion, g.Stratum}).take(a)
	}
	return nil
}

func (r *repeats) of(criterion string) *gradings {
	a := r.now[criterion]
	if a == nil {
		a = &gradings{counts: map[string]int64{}}
		r.now[criterion] = a
	}
	return a
}

func (r *repeats) cell(k noiseKey) *noiseCell {
	c := r.cells[k]
	if c == nil {
		c = &noiseCell{}
		r.cells[k] = c
	}
	return c
}

func (a *gradings) reset() {
	clear(a.counts)
	a.numbers, a.abstained = a.numbers[:0], 0
}

func (a *gradings) take(f store.Finding, t assay.CriterionType) {
	switch {
	case f.Abstained:
		a.abstained++
	case !f.Applies:
		a.counts[outside]++
	case t == assay.Number: // 7 and 7.0 are one answer
		x, err := strconv.ParseFloat(f.Value, 64)
		if err != nil {
			return // judge checked the type before it stored the answer
		}
		a.numbers = append(a.numbers, x)
		a.counts[strconv.FormatFloat(x, 'g', -1, 64)]++
	default:
		a.counts[f.Value]++
	}
}

// take adds one session.
func (c *noiseCell) take(a *gradings) {
	c.abstained += a.abstained
	var k int64
	var counts []int64
	for _, n := range a.counts {
		k += n
		counts = append(counts, n)
	}
	flips := stats.Differ(counts)
	if !flips.Ok() {
		c.single += k
		return
	}
	c.Units++
	c.gradings += k
	c.outside += a.counts[outside]
	c.Flips += flips.X
	if len(counts) > 1 {
		c.Split++
	}
	if v := stats.Variance(a.numbers); v.Ok() {
		c.Numbers++
		c.Squares += v.X
	}
}

// criterionOf is nil for one that goes by the name of the judge's rule, as in the rest of a report.
func criterionOf(v assay.JudgeVersion, name string) *assay.Criterion {
	if name == assay.CriterionPass {
		return nil
	}
	for i := range v.Criteria {
		if v.Criteria[i].Name == name {
			return &v.Criteria[i]
		}
	}
	return nil
}

// noise estimates over the frame how a judge's gradings of one question differ; nil where sessions
// were graded once.
func (v *view) noise(judge int, criterion string, t assay.CriterionType) *Noise {
	if v.f.chain.Head().Spec.Repeats < 2 {
		return nil
	}
	out := &Noise{Interval: stats.NoInterval}
	strata := make([]stats.Repeated, len(v.strata))
	for i, in := range v.inputs(side{}, answers{}, nil) {
		strata[i] = stats.Repeated{Label: in.Label, Line: in.Line, Size: in.Size, Drawn: in.Drawn}
		got := v.f.noise[noiseKey{judge, criterion, v.strata[i].Index}]
		if got == nil {
			continue
		}
		strata[i].Units, strata[i].Split, strata[i].Flips = got.Units, got.Split, got.Flips
		strata[i].Numbers, strata[i].Squares = got.Numbers, got.Squares
		out.Gradings, out.Single = out.Gradings+got.gradings, out.Single+got.single
		out.Abstained, out.Outside = out.Abstained+got.abstained, out.Outside+got.outside
	}
	flips := stats.FlipRate(strata)
	out.FlipRate, out.Absent, out.Split = flips.Level.Pointer(), flips.Level.Absent, stats.SplitShare(strata).Level.Pointer()
	out.N, out.Sampled, out.Sessions, out.Merged = flips.Size, flips.Drawn, flips.Observed, flips.Merged
	out.Coverage, out.Low, out.High = flips.Coverage.Pointer(), flips.Low.Pointer(), flips.High.Pointer()
	if t == assay.Number {
		out.Spread = stats.Spread(strata).Pointer()
	}
	return out
}
