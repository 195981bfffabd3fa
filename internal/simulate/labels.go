package main

import (
	"math/rand/v2"

	"assay/internal/stats"
)

// test is a judge that errs, and people who labelled some of what it graded.
type test struct {
	shape
	most   int
	p      float64
	se, sp float64
	chance [2]float64 // of being labelled, where the test says no, yes
}

func (w test) try(r *rand.Rand) []shot {
	var strata []stats.Stratum
	var labels []stats.Label
	var table stats.Confusion
	truth, size := 0.0, 0.0
	for h, n := range w.sizes {
		rate := min(w.p*w.tilt(h), 1)
		size, truth = size+float64(n), truth+float64(n)*rate
		s := stats.Stratum{Line: "arm", Size: int64(n)}
		for range min(n, w.most) {
			s.Drawn++
			truly := coin(r, rate)
			said := coin(r, []float64{1 - w.sp, w.se}[truly])
			s.Sum += float64(said)
			if chance := w.chance[said]; coin(r, chance) == 1 {
				labels = append(labels, stats.Label{Stratum: h, Test: said == 1, Truth: truly == 1, Probability: chance})
				*[]*float64{&table.TrueNegative, &table.FalsePositive, &table.FalseNegative, &table.TruePositive}[said+2*truly]++
			}
		}
		s.Observed, s.Domain = s.Drawn, s.Drawn
		strata = append(strata, s)
	}
	truth /= size
	raw := stats.RateInterval(strata, nil, stats.Process, confidence)
	apparent := stats.Rate(strata).Level.X
	label := stats.LabelCorrected(strata, nil, labels, stats.Process, confidence)
	back := stats.RoganGladen(apparent, raw.N, table, confidence)
	return []shot{of(truth, label), of(truth, back), at(truth, apparent, raw)}
}

// of takes an estimate that is absent for half: nothing is known.
func of(truth float64, c stats.Corrected) shot {
	if !c.Level.Ok() {
		return at(truth, 0.5, c.Interval)
	}
	return at(truth, c.Level.X, c.Interval)
}

func labels() table {
	t := table{
		name: "labels", title: "A judge's rate corrected by labels",
		about: "`Se` and `Sp` are the judge's; `labelled` is the share of its no and yes that people labelled. *error* is the " +
			"mean distance from the truth (an absent estimate counts as 0.5). *Rogan-Gladen* takes sensitivity and specificity from the same labels, " +
			"unweighted, as tools do; *the judge* is not corrected.",
		keys: []string{"strata", "cap", "p", "Se", "Sp", "labelled"},
		methods: []method{
			{name: "Assay", hit: true, miss: true}, {name: "Rogan-Gladen", hit: true, miss: true}, {name: "the judge", hit: true, miss: true},
		},
	}
	one := shape{"one of 2,000", []int{2000}, flat}
	for _, s := range []shape{one, shapes()[0], shapes()[2]} {
		for _, p := range []float64{.95, .7, .5, .1, .02} {
			for _, j := range [][2]float64{{.9, .6}, {.95, .95}, {.6, .5}, {.4, .5}} {
				for _, chance := range [][2]float64{{.05, .05}, {.15, .15}, {.5, .05}} {
					w := test{shape: s, most: 2000, p: p, se: j[0], sp: j[1], chance: chance}
					if len(s.sizes) > 1 {
						w.most = 150
					}
					t.rows = append(t.rows, row{
						keys: []any{s.name, w.most, p, j[0], j[1], chance}, rate: noRate, try: w.try,
						quick: len(s.sizes) == 1 && p >= .5 && chance[0] == .15,
					})
				}
			}
		}
	}
	return t
}
