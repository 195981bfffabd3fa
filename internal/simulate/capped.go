package main

import (
	"math/rand/v2"

	"assay/internal/stats"
	"gonum.org/v1/gonum/stat/distuv"
)

// shape is a population in strata.
type shape struct {
	name  string
	sizes []int
	tilt  func(h int) float64 // rate of a stratum over p
}

func flat(int) float64 { return 1 }

func shapes() []shape {
	busy := make([]int, 14)
	even := make([]int, 14)
	tiny := make([]int, 30)
	for h := range 14 {
		busy[h], even[h] = 204, 1500
	}
	busy[13] = 20_000
	for h := range tiny {
		tiny[h] = 1 + 2*h
	}
	return []shape{
		{"one busy day", busy, flat},
		{"busy day better", busy, func(h int) float64 { return []float64{1.8, 0.9}[h/13] }},
		{"14 alike", even, flat},
		{"30 of 1 to 59", tiny, flat},
		{"1 to 20,000", []int{1, 1, 2, 5, 10, 30, 100, 300, 1000, 3000, 20_000}, flat},
	}
}

// draw samples capped strata of a population that a process made: units are independent.
func (s shape) draw(r *rand.Rand, p float64, most int) (strata []stats.Stratum, window, process float64) {
	size := 0.0
	for h, n := range s.sizes {
		rate := min(p*s.tilt(h), 1)
		hits := binomial(r, n, rate)
		take := min(n, most)
		strata = append(strata, stats.Stratum{
			Line: "arm", Size: int64(n), Drawn: int64(take), Observed: int64(take), Domain: int64(take),
			Sum: float64(among(r, n, hits, take)),
		})
		size, window, process = size+float64(n), window+float64(hits), process+float64(n)*rate
	}
	return strata, window / size, process / size
}

func binomial(r *rand.Rand, n int, p float64) int {
	switch {
	case p <= 0:
		return 0
	case p >= 1:
		return n
	}
	return int(distuv.Binomial{N: float64(n), P: p, Src: r}.Rand())
}

// among is the hits among take units of n, hits of which are one.
func among(r *rand.Rand, n, hits, take int) (k int) {
	if take == n {
		return hits
	}
	for i := range take {
		if r.IntN(n-i) < hits-k {
			k++
		}
	}
	return k
}

func rates() table {
	t := table{
		name: "rates", title: "A rate over capped strata",
		about: "Units are independent. `cap` is how many are graded of a stratum; `p` is the expected rate.",
		keys:  []string{"strata", "target", "p", "cap"},
		methods: []method{
			{name: "Assay", hit: true}, {name: "normal", hit: true},
			{name: "Korn-Graubard", hit: true}, {name: "unweighted Wilson", hit: true},
		},
	}
	for i, s := range shapes() {
		for _, target := range []stats.Target{stats.Window, stats.Process} {
			for _, p := range []float64{.5, .1, .02, .01, .005, .002, 0} {
				for _, most := range []int{1, 2, 5, 20, 50, 200} {
					t.rows = append(t.rows, row{
						keys: []any{s.name, target, p, most}, rate: p, why: tinyCap(most),
						quick: i < 4 && (p == .5 || p == .02 || p == .002) && (most == 5 || most == 50) || i == 0 && target == stats.Window && most == 200,
						try: func(r *rand.Rand) []shot {
							strata, window, process := s.draw(r, p, most)
							truth := process
							if target == stats.Window {
								truth = window
							}
							return ratesOf(strata, target, truth)
						},
					})
				}
			}
		}
	}
	return t
}

// tinyCap is why intervals may be wider than needed.
func tinyCap(most int) string {
	if most > 2 {
		return ""
	}
	return "of two sessions a stratum half of the strata are all passes or all failures by chance, and each is smoothed"
}

func ratesOf(strata []stats.Stratum, target stats.Target, truth float64) []shot {
	level := stats.Rate(strata).Level.X
	plain, v, n, h := unsmoothed(strata, target)
	return []shot{
		at(truth, level, stats.RateInterval(strata, nil, target, confidence)),
		at(truth, level, normal(level, v)),
		at(truth, level, kornGraubard(level, v, n, n-h)),
		at(truth, plain, stats.Wilson(plain*n, n, confidence)),
	}
}

// unsmoothed is the textbook's variance of a stratified rate, and the plain mean.
func unsmoothed(strata []stats.Stratum, target stats.Target) (plain, v, n, h float64) {
	size, hits := 0.0, 0.0
	for _, s := range strata {
		size, n, hits = size+float64(s.Size), n+float64(s.Observed), hits+s.Sum
	}
	for _, s := range strata {
		m, left := float64(s.Observed), 1.0
		if target == stats.Window {
			left -= m / float64(s.Size)
		}
		p := s.Sum / m
		v += float64(s.Size) / size * float64(s.Size) / size * left * p * (1 - p) / max(m-1, 1)
	}
	return hits / n, v, n, float64(len(strata))
}
