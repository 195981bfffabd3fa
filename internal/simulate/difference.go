package main

import (
	"math/rand/v2"

	"assay/internal/stats"
)

// differences are two fully graded arms of one process, or capped ones.
func differences() table {
	t := table{
		name: "aa", title: "Two samples of one process (A/A)",
		about: "Both arms come from the same process, so that every finding is false. `the same users` are in both arms. " +
			"*window* compares the two frozen windows, with the finite population correction: what is graded whole always differs. " +
			"*units* is the same without users.",
		keys: []string{"p", "icc", "users are", "users", "sessions", "cap"},
		methods: []method{
			{name: "Assay", hit: true, found: true}, {name: "units", hit: true, found: true}, {name: "window", hit: true},
		},
	}
	for _, p := range []float64{.9, .5, .1, .02, .005} {
		for _, rho := range []float64{0, .1, .6} {
			for _, same := range []bool{false, true} {
				for _, c := range []crowd{
					{users: 30, sessions: 20}, {users: 100, sessions: 20}, {users: 100, sessions: 20, most: 10}, {users: 300, sessions: 3}, {users: 100},
				} {
					what := "others"
					if same {
						what = "the same"
					}
					t.rows = append(t.rows, row{
						keys: c.keys(p, rho, what), rate: noRate, null: true,
						quick: rho == .1 && p >= .1 && c.sessions == 20 || rho == .6 && p == .02 && c.users == 30,
						try: func(r *rand.Rand) []shot {
							a, b := stats.Sample{}, stats.Sample{}
							own := chances(r, c.users, p, rho)
							outcome := func(u, _ int) int { return coin(r, own[u]) }
							a.Strata, a.Users = sampled(c.draw(r, outcome))
							if !same {
								own = chances(r, c.users, p, rho)
							}
							b.Strata, b.Users = sampled(c.draw(r, outcome))
							if !same {
								for i := range b.Users {
									b.Users[i].User += c.users
								}
							}
							return aa(a, b)
						},
					})
				}
			}
		}
	}
	return t
}

func aa(a, b stats.Sample) []shot {
	d := stats.RateDifference(a, b, confidence)
	plain := stats.RateDifference(stats.Sample{Strata: a.Strata}, stats.Sample{Strata: b.Strata}, confidence)
	_, va, _, _ := unsmoothed(a.Strata, stats.Window)
	_, vb, _, _ := unsmoothed(b.Strata, stats.Window)
	return []shot{tested(0, d), tested(0, plain), at(0, d.Level.X, normal(d.Level.X, va+vb))}
}
