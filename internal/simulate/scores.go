package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"assay/internal/stats"
)

// law draws the numbers of one user.
type law struct {
	name string
	mean float64
	draw func(r *rand.Rand, own float64) float64 // own: the user's normal deviate
}

func laws() []law {
	return []law{
		{"normal", 0, func(r *rand.Rand, own float64) float64 { return own + r.NormFloat64() }},
		{"1 to 5", 0, nil}, // its mean is found below
		{"long tail", math.Exp(.5 + .125), func(r *rand.Rand, own float64) float64 { return math.Exp(own + r.NormFloat64()/2) }},
	}
}

// tail is why intervals may hit too seldom.
func (l law) tail() string {
	if l.name == "normal" {
		return ""
	}
	return "few users and a long tail: none of the three holds"
}

// grade is a score of 1 to 5, mostly 5.
func grade(r *rand.Rand, own float64) float64 {
	return 5 - min(4, math.Floor(math.Exp(own+0.5*r.NormFloat64()-1)))
}

// gradeMean is found with a seed of its own, once.
var gradeMean = sync.OnceValue(func() float64 {
	r, sum := rand.New(rand.NewPCG(1, 1)), 0.0
	const n = 1_000_000
	for range n {
		sum += grade(r, r.NormFloat64())
	}
	return sum / n
})

func scores() table {
	t := table{
		name: "scores", title: "A mean of scores, clustered by user",
		about: "Scores of a user share a deviate. *t* is ScoreMean.T, *bootstrap* and *studentised* draw users 500 times.",
		keys:  []string{"scores", "users", "each"},
		methods: []method{
			{name: "studentised", hit: true}, {name: "t", hit: true}, {name: "bootstrap", hit: true},
		},
	}
	graded := gradeMean()
	for _, l := range laws() {
		if l.draw == nil {
			l.draw, l.mean = grade, graded
		}
		for _, g := range []int{10, 20, 50, 200} {
			for _, each := range []int{1, 10} {
				t.rows = append(t.rows, row{
					keys: []any{l.name, g, each}, rate: noRate, why: l.tail(), quick: l.name == "normal" && g <= 50 && each == 1,
					try: func(r *rand.Rand) []shot {
						var rows []stats.Score
						for u := range g {
							own := r.NormFloat64()
							for range each {
								rows = append(rows, stats.Score{Cluster: fmt.Sprint(u), Weight: 1, X: l.draw(r, own)})
							}
						}
						m := stats.MeanScore(rows)
						return []shot{
							at(l.mean, m.Level.X, m.Bootstrap(true, 500, 1, confidence)), at(l.mean, m.Level.X, m.T(confidence)),
							at(l.mean, m.Level.X, m.Bootstrap(false, 500, 1, confidence)),
						}
					},
				})
			}
		}
	}
	return t
}

// means are those of numbers in capped strata.
func means() table {
	t := table{
		name: "means", title: "A mean over capped strata",
		about: "Scores of 1 to 5, mostly 5, units independent. *normal* has the textbook's variance, in which a stratum of " +
			"equal scores varies by nothing.",
		keys:    []string{"strata", "target", "cap"},
		methods: []method{{name: "Assay", hit: true}, {name: "normal", hit: true}},
	}
	graded := gradeMean()
	for _, s := range []shape{shapes()[0], shapes()[2], shapes()[3]} {
		for _, target := range []stats.Target{stats.Window, stats.Process} {
			for _, most := range []int{2, 5, 20, 50} {
				t.rows = append(t.rows, row{
					keys: []any{s.name, target, most}, rate: noRate, why: leaning(s), quick: most == 20 && s.name != "one busy day",
					try: func(r *rand.Rand) []shot { return s.meanOf(r, target, most, graded) },
				})
			}
		}
	}
	return t
}

// leaning is why intervals may hit too seldom.
func leaning(s shape) string {
	if s.name != "one busy day" {
		return ""
	}
	return "the scores of one day decide and lean to one side, which their sum and squares do not tell"
}

func (s shape) meanOf(r *rand.Rand, target stats.Target, most int, truth float64) []shot {
	var strata []stats.Stratum
	size, all, v := 0.0, 0.0, 0.0
	for _, n := range s.sizes {
		h := stats.Stratum{Line: "arm", Size: int64(n)}
		for i := range n {
			if i >= most && target == stats.Process {
				break
			}
			x := grade(r, r.NormFloat64())
			all += x
			if i < most {
				h.Drawn++
				h.Sum += x
				h.Squares += x * x
			}
		}
		h.Observed, h.Domain = h.Drawn, h.Drawn
		strata, size = append(strata, h), size+float64(n)
	}
	for _, h := range strata {
		n, left := float64(h.Observed), 1.0
		if target == stats.Window {
			left -= n / float64(h.Size)
		}
		v += float64(h.Size) / size * float64(h.Size) / size * left * (h.Squares/n - h.Sum/n*h.Sum/n) / max(n-1, 1)
	}
	if target == stats.Window {
		truth = all / size
	}
	one, five := stats.Known(1), stats.Known(5)
	level := stats.Mean(strata, one, five).Level.X
	return []shot{at(truth, level, stats.MeanInterval(strata, nil, target, one, five, confidence)), at(truth, level, normal(level, v))}
}
