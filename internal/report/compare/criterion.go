package compare

import (
	"math"

	"assay/internal/assay"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// measure is one number on both sides: a rate, a mean, or the share of a value.
type measure struct {
	at, other   int
	of          score
	mean        bool
	least, most stats.Value // of a score
}

var one, zero = stats.Known(1), stats.Known(0)

// criteria are the measures of a question: one, or one for each value of a category or an ordinal.
func (p *pairing) criteria(at, other int, n *noise) (out []Criterion) {
	k := p.a.e.Columns[at].Criterion
	base := Criterion{Name: k.Name, Type: k.Type, Changed: at > 0 && k.Version() != p.b.e.Columns[other].Criterion.Version()}
	switch k.Type {
	case assay.Boolean:
		base.Kind = "rate"
		out = append(out, p.criterion(base, measure{at, other, yes, false, zero, one}))
	case assay.Number:
		base.Kind = "mean"
		m := measure{at, other, mean, true, stats.None(stats.Unbounded), stats.None(stats.Unbounded)}
		if k.Min != nil {
			m.least = stats.Known(*k.Min)
		}
		if k.Max != nil {
			m.most = stats.Known(*k.Max)
		}
		out = append(out, p.criterion(base, m))
	default:
		values := append([]string{}, p.a.e.Columns[at].Values...)
		for _, v := range p.b.e.Columns[other].Values {
			if !contains(values, v) {
				values = append(values, v)
			}
		}
		for _, v := range values {
			base.Kind, base.Value = "share", v
			out = append(out, p.criterion(base, measure{at, other, value(v), false, zero, one}))
		}
	}
	if n != nil && p.key == BySession && k.Type == assay.Boolean {
		if rate, ok := n.flips[k.Name]; ok {
			out[0].Noise = expected(n.run, rate, &out[0])
		}
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func (p *pairing) criterion(out Criterion, m measure) Criterion {
	if p.key == ByNone {
		return p.unpaired(out, m)
	}
	j := p.joints(m.at, m.other, m.of)
	out.Pairs = int64(len(j))
	out.A, out.B = p.level(j, m, func(x *joint) float64 { return x.a }), p.level(j, m, func(x *joint) float64 { return x.b })
	out.again = func(confidence float64) number.Difference { return p.drop(j, m, confidence, p.frame()) }
	out.Drop = out.again(p.o.Confidence)
	out.Drop.Low, out.Drop.High = p.worst(m, p.frame())
	if m.mean || len(j) == 0 {
		return out
	}
	if p.key == BySession || p.single {
		out.Table = tableOf(j)
		if p.equalWeights(j) {
			out.McNemar = stats.McNemar(out.Table.Regressed, out.Table.Fixed).Exact.Pointer()
		}
	}
	if out.Name == assay.CriterionPass || out.Name == p.o.Primary {
		out.Strata = p.parts(j, m, func(h assay.PlannedStratum) string { return h.Day + "/" + h.Arm })
	}
	out.Arms = p.parts(j, m, func(h assay.PlannedStratum) string { return h.Arm })
	return out
}

// level is one side's level over the pairs that both sides answered, weighted as A's sample was drawn.
func (p *pairing) level(j []joint, m measure, of func(*joint) float64) number.Number {
	strata, cells := p.sums(j, of, p.frame())
	var n number.Number
	if m.mean {
		e := stats.Mean(strata, m.least, m.most)
		n = number.Of(stats.Process, e.Level, stats.MeanInterval(strata, cells, stats.Process, m.least, m.most, p.o.Confidence))
		n.N, n.Sampled, n.Answered, n.Applies, n.Coverage, n.Merged = e.Size, e.Drawn, e.Observed, e.Domain, e.Coverage.Pointer(), e.Merged
		n.Low, n.High = e.Low.Pointer(), e.High.Pointer()
	} else {
		e := stats.Rate(strata)
		n = number.Of(stats.Process, e.Level, stats.RateInterval(strata, cells, stats.Process, p.o.Confidence))
		n.N, n.Sampled, n.Answered, n.Applies, n.Coverage, n.Merged = e.Size, e.Drawn, e.Observed, e.Domain, e.Coverage.Pointer(), e.Merged
		n.Low, n.High = e.Low.Pointer(), e.High.Pointer()
	}
	n.Users = users(j)
	return n
}

func users(j []joint) (n int64) {
	for i := range j {
		if i == 0 || j[i].by != j[i-1].by {
			n++
		}
	}
	return n
}

// sums adds up a number of each pair by stratum, and by user or case and stratum.
func (p *pairing) sums(j []joint, of func(*joint) float64, strata []stats.Stratum) ([]stats.Stratum, []stats.Cell) {
	lists := make([][]float64, len(strata))
	cells := []stats.Cell{}
	var mine []float64
	for i := range j {
		x := of(&j[i])
		at := j[i].at
		strata[at].Observed++
		strata[at].Domain++
		lists[at] = append(lists[at], x)
		if n := len(cells); n == 0 || cells[n-1].User != j[i].by || cells[n-1].Stratum != at {
			if n > 0 {
				cells[n-1].Sum = exact(mine)
			}
			mine = mine[:0]
			cells = append(cells, stats.Cell{User: j[i].by, Stratum: at})
		}
		cells[len(cells)-1].Domain++
		mine = append(mine, x)
	}
	if n := len(cells); n > 0 {
		cells[n-1].Sum = exact(mine)
	}
	for at, list := range lists {
		strata[at].Sum = exact(list)
		for i := range list {
			list[i] *= list[i]
		}
		strata[at].Squares = exact(list)
	}
	return strata, cells
}

// drop is the weighted net difference over pairs. Where every score is 0 or 1 on both sides it is stats.Paired, with
// its test; else that of the mean of differences, whose P is the interval's.
func (p *pairing) drop(j []joint, m measure, confidence float64, frame []stats.Stratum) number.Difference {
	if !m.mean && (p.key == BySession || p.single) {
		strata, cells := p.pairs(j, frame)
		return number.DifferenceOf(stats.Paired(strata, cells, confidence, p.o.Seed))
	}
	strata, cells := p.sums(j, func(x *joint) float64 { return x.a - x.b }, frame)
	least, most := spread(m)
	e := stats.Mean(strata, least, most)
	d := stats.Difference{Level: e.Level, Interval: stats.MeanInterval(strata, cells, stats.Process, least, most, confidence), Users: stats.None(stats.NoUsers)}
	d.P = stats.ZeroP(d.Level, d.Interval)
	return number.DifferenceOf(d)
}

// spread is how far a difference can go either way.
func spread(m measure) (least, most stats.Value) {
	if !m.least.Ok() || !m.most.Ok() {
		return stats.None(stats.Unbounded), stats.None(stats.Unbounded)
	}
	width := m.most.X - m.least.X
	return stats.Known(-width), stats.Known(width)
}

func (p *pairing) pairs(j []joint, frame []stats.Stratum) ([]stats.Pairs, []stats.PairCell) {
	strata := make([]stats.Pairs, len(frame))
	for i, h := range frame {
		strata[i] = stats.Pairs{Label: h.Label, Line: h.Line, Size: h.Size, Drawn: h.Drawn}
	}
	cells := []stats.PairCell{}
	for i := range j {
		x := &j[i]
		if n := len(cells); n == 0 || cells[n-1].User != x.by || cells[n-1].Stratum != x.at {
			cells = append(cells, stats.PairCell{User: x.by, Stratum: x.at})
		}
		h, c := &strata[x.at], &cells[len(cells)-1]
		h.Both++
		c.Both++
		switch {
		case x.a > x.b:
			h.Rises++
			c.Rises++
		case x.a < x.b:
			h.Falls++
			c.Falls++
		}
	}
	return strata, cells
}

func tableOf(j []joint) *Table {
	var t Table
	for i := range j {
		switch {
		case j[i].a > j[i].b:
			t.Regressed++
		case j[i].a < j[i].b:
			t.Fixed++
		case j[i].a == 1:
			t.Both++
		default:
			t.Neither++
		}
	}
	return &t
}

// equalWeights says that every pair stands for as many sessions, and that no user has two: McNemar's test knows
// neither weights nor users.
func (p *pairing) equalWeights(j []joint) bool {
	if users(j) != int64(len(j)) {
		return false
	}
	n := make([]float64, len(p.strata))
	for i := range j {
		n[j[i].at]++
	}
	first := 0.0
	for at, count := range n {
		size := float64(p.strata[at].Eligible)
		if count == 0 && size > 0 {
			return false
		}
		w := size / max(count, 1)
		switch {
		case size == 0:
		case first == 0:
			first = w
		case math.Abs(w-first) > 1e-9*first:
			return false
		}
	}
	return first > 0
}

// parts are the drops of arms, or of strata. Nothing is borrowed between strata.
func (p *pairing) parts(j []joint, m measure, name func(assay.PlannedStratum) string) (out []DropPart) {
	var order []string
	for _, h := range p.strata {
		if n := name(h); !contains(order, n) {
			order = append(order, n)
		}
	}
	if len(order) < 2 {
		return nil
	}
	for _, part := range order {
		mine, frame := p.part(j, name, part)
		d := DropPart{Name: part, Pairs: int64(len(mine)), Drop: p.drop(mine, m, p.o.Confidence, frame), again: func(confidence float64) number.Difference {
			mine, frame := p.part(j, name, part)
			return p.drop(mine, m, confidence, frame)
		}}
		if p.key == BySession || p.single {
			d.Table = tableOf(mine)
		}
		out = append(out, d)
	}
	return out
}

// part are the pairs and strata of a part; strata of others are empty.
func (p *pairing) part(j []joint, name func(assay.PlannedStratum) string, part string) (mine []joint, frame []stats.Stratum) {
	frame = p.frame()
	to := make([]int, len(frame))
	kept := frame[:0]
	for i, h := range p.strata {
		if to[i] = -1; name(h) == part {
			to[i] = len(kept)
			kept = append(kept, frame[i])
		}
	}
	for _, x := range j {
		if at := to[x.at]; at >= 0 {
			x.at = at
			mine = append(mine, x)
		}
	}
	return mine, kept
}
