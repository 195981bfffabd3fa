package compare

import (
	"assay/internal/assay"
	"assay/internal/report/gate"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// fdr is the false discovery rate below which an exploratory difference is marked.
const fdr = 0.1

// adjust declares the primary comparison and gives all others their q. Marked ones get the wider interval of what
// was chosen by its P.
func (p *pairing) adjust(c *Comparison) {
	type shown struct {
		drop  *number.Difference
		again func(float64) number.Difference
	}
	var all []shown
	primary := false
	for i := range c.Criteria {
		k := &c.Criteria[i]
		if k.Name == p.o.Primary && !primary {
			k.Drop.Primary, primary = true, true
		} else {
			all = append(all, shown{&k.Drop, k.again})
		}
		for _, parts := range [...][]DropPart{k.Arms, k.Strata} {
			for n := range parts {
				all = append(all, shown{&parts[n].Drop, parts[n].again})
			}
		}
	}
	ps := make([]stats.Value, len(all))
	for i, s := range all {
		if ps[i] = stats.None(stats.NothingPaired); s.drop.P != nil {
			ps[i] = stats.Known(*s.drop.P)
		}
	}
	found := 0
	for i, q := range stats.BenjaminiHochberg(ps) {
		all[i].drop.Q = q.Pointer()
		if all[i].drop.Marked = q.Ok() && q.X < fdr; all[i].drop.Marked {
			found++
		}
	}
	confidence := stats.AdjustedConfidence(found, len(all), fdr)
	if !confidence.Ok() || confidence.X <= p.o.Confidence {
		return
	}
	for _, s := range all {
		if s.drop.Marked && s.again != nil {
			wider := s.again(confidence.X)
			s.drop.Interval, s.drop.IntervalAbsent = wider.Interval, wider.IntervalAbsent
		}
	}
}

func (p *pairing) gates(c *Comparison) (out []gate.Outcome, err error) {
	for _, g := range p.o.Gates {
		if g.Metric != gate.Drop {
			out = append(out, gate.Decide(g, fact(c, g.Metric)))
			continue
		}
		k := criterionOf(c, g.Criterion)
		if k == nil {
			return nil, assay.Errorf(assay.CodeInvalid, "gate %q: both sides have no criterion %q with one number", g.Text, g.Criterion).
				WithHint("a drop is of pass, or of a criterion that is answered with yes or no, or with a number")
		}
		out = append(out, gate.Decide(g, subject(k)))
	}
	return out, nil
}

func criterionOf(c *Comparison, name string) *Criterion {
	for i := range c.Criteria {
		if c.Criteria[i].Name == name && c.Criteria[i].Kind != "share" {
			return &c.Criteria[i]
		}
	}
	return nil
}

func subject(k *Criterion) gate.Subject {
	s := gate.Subject{Value: stats.None(k.Drop.Absent), Interval: stats.Interval{Absent: k.Drop.IntervalAbsent}, Sampled: float64(max(k.Pairs, 1)), Low: k.Drop.Low, High: k.Drop.High}
	if k.Drop.Value != nil {
		s.Value = stats.Known(*k.Drop.Value)
	}
	if k.Pairs == 0 {
		s.Sampled = float64(min(k.A.Applies, k.B.Applies))
	}
	if i := k.Drop.Interval; i != nil {
		s.Interval = stats.Interval{Low: i.Low, High: i.High, Confidence: i.Confidence, Method: i.Method, N: i.Size, DF: i.DF}
	}
	return s
}

// fact is the lower coverage of both sides.
func fact(c *Comparison, m gate.Metric) gate.Subject {
	s := gate.Subject{Fact: true, Value: stats.None(stats.NothingObserved), Sampled: float64(min(c.A.Sampled, c.B.Sampled))}
	if c.A.Coverage != nil && c.B.Coverage != nil {
		s.Value = stats.Known(min(*c.A.Coverage, *c.B.Coverage))
		if m == gate.Errors {
			s.Value.X = 1 - s.Value.X
		}
	}
	return s
}
