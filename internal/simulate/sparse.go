package main

import (
	"math/rand/v2"

	"assay/internal/stats"
)

// sparse are differences without users, of few units or few that changed.
func sparse() table {
	t := table{
		name: "units", title: "Differences without users",
		about: "Units are independent. *pairs*: `p` of the pairs changed, all in one direction or half in each; *samples*: two " +
			"samples of one process with rate p. *normal* has the textbook's variance.",
		keys:    []string{"of", "strata", "p", "cap"},
		methods: []method{{name: "Assay", hit: true, found: true}, {name: "normal", hit: true}},
	}
	one := shape{"one of 1,000", []int{1000}, flat}
	for _, s := range []shape{one, shapes()[0], shapes()[2]} {
		for _, p := range []float64{.5, .1, .05, .02, .005} {
			for _, most := range []int{20, 50, 100, 500} {
				if len(s.sizes) > 1 && most == 500 {
					continue
				}
				quick := most == 100 && p < .5
				if p < .5 { // many changes take long to flip, and are not what may go wrong
					t.rows = append(t.rows,
						row{keys: []any{"pairs, one way", s.name, p, most}, rate: noRate, quick: quick, try: func(r *rand.Rand) []shot { return s.turned(r, p, 1, most) }},
						row{keys: []any{"pairs, both ways", s.name, p, most}, rate: noRate, null: true, try: func(r *rand.Rand) []shot { return s.turned(r, p, .5, most) }})
				}
				t.rows = append(t.rows,
					row{keys: []any{"samples", s.name, p, most}, rate: noRate, null: true, quick: quick, try: func(r *rand.Rand) []shot {
						a, _, _ := s.draw(r, p, most)
						b, _, _ := s.draw(r, p, most)
						d := stats.RateDifference(stats.Sample{Strata: a}, stats.Sample{Strata: b}, confidence)
						_, va, _, _ := unsmoothed(a, stats.Process)
						_, vb, _, _ := unsmoothed(b, stats.Process)
						return []shot{tested(0, d), at(0, d.Level.X, normal(d.Level.X, va+vb))}
					}})
			}
		}
	}
	return t
}

// turned is a net over pairs of which p changed, a part of them upwards.
func (s shape) turned(r *rand.Rand, p, up float64, most int) []shot {
	strata, _, _ := s.draw(r, p, most)
	var pairs []stats.Pairs
	level, v, size := 0.0, 0.0, 0.0
	for _, h := range strata {
		size += float64(h.Size)
	}
	for _, h := range strata {
		rises := binomial(r, int(h.Sum), up)
		falls := int(h.Sum) - rises
		pairs = append(pairs, stats.Pairs{
			Line: h.Line, Size: h.Size, Drawn: h.Drawn, Both: h.Observed, Rises: int64(rises), Falls: int64(falls),
		})
		w, n, net := float64(h.Size)/size, float64(h.Observed), float64(rises-falls)/float64(h.Observed)
		level += w * net
		v += w * w * (h.Sum/n - net*net) / max(n-1, 1)
	}
	truth := p * (2*up - 1)
	return []shot{tested(truth, stats.Paired(pairs, nil, confidence, 1)), at(truth, level, normal(level, v))}
}
