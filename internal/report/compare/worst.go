package compare

import (
	"assay/internal/report/extract"
	"assay/internal/stats"
)

// worst are the drops were all that is missing in pairs least and most in A's disfavour: of A's sampled sessions
// each that is not answered on a side may have been either. Sessions to which the question does not apply are
// outside. nil where an answer has no limits.
func (p *pairing) worst(m measure, frame []stats.Stratum) (low, high *float64) {
	if !m.least.Ok() || !m.most.Ok() {
		return nil, nil
	}
	type sum struct {
		n         int64
		low, high []float64
	}
	sums := make([]sum, len(frame))
	for i := range p.a.e.Rows {
		at := p.place[i]
		if at < 0 {
			continue
		}
		a, hasA := m.of(p.a.e, m.at, int32(i))
		b, _, hasB := p.across(int32(i), m.other, m.of)
		if !hasA && p.a.e.Columns[m.at].Answers[i] == extract.Outside {
			continue
		}
		aLow, aHigh := ends(a, hasA, m)
		bLow, bHigh := ends(b, hasB, m)
		s := &sums[at]
		s.n++
		s.low, s.high = append(s.low, aLow-bHigh), append(s.high, aHigh-bLow)
	}
	var weight, least, most float64
	for at, h := range frame {
		s := sums[at]
		// Sampled sessions of which there is no row yet have not ended.
		missing := float64(h.Drawn) - float64(s.n)
		if p.a.chain.Covers.Complete {
			missing = 0
		}
		n := float64(s.n) + missing
		if n <= 0 || h.Size == 0 {
			continue
		}
		width := m.most.X - m.least.X
		w := float64(h.Size)
		weight += w
		least += w * (exact(s.low) - missing*width) / n
		most += w * (exact(s.high) + missing*width) / n
	}
	if weight == 0 {
		return nil, nil
	}
	return new(least / weight), new(most / weight)
}

func ends(x float64, known bool, m measure) (low, high float64) {
	if known {
		return x, x
	}
	return m.least.X, m.most.X
}
