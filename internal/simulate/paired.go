package main

import (
	"math/rand/v2"

	"assay/internal/stats"
)

// change is what a second grading makes of a session: -1, 0 or 1.
type change struct {
	crowd
	share, tilt float64 // of discordant pairs; of them (1+tilt)/2 rise
}

func (c change) try(r *rand.Rand) []shot {
	own := chances(r, c.users, c.share, c.together)
	sessions, graded := c.draw(r, func(u, _ int) int { return coin(r, own[u]) * (2*coin(r, (1+c.tilt)/2) - 1) })
	return pairedShots(c.share*c.tilt, sessions, graded)
}

func pairedShots(truth float64, sessions [days][]session, graded [days]int) []shot {
	strata, cells := paired(sessions, graded)
	d := stats.Paired(strata, cells, confidence, 1)
	level, v, _ := clustered(sampled(sessions, graded)) // the same as numbers
	var rises, falls, n float64
	for _, h := range strata {
		rises, falls, n = rises+float64(h.Rises), falls+float64(h.Falls), n+float64(h.Both)
	}
	raw := stats.McNemar(int64(rises), int64(falls))
	net := (rises - falls) / n
	counts := at(truth, net, normal(net, max(rises+falls-net*net*n, 0)/(n*n)))
	counts.p = raw.Exact
	return []shot{tested(truth, d), at(truth, level, normal(level, v)), counts}
}

func paired(all [days][]session, graded [days]int) (strata []stats.Pairs, cells []stats.PairCell) {
	for d, ss := range all {
		n := graded[d]
		h := stats.Pairs{Line: "arm", Size: int64(len(ss)), Drawn: int64(n), Both: int64(n)}
		at := map[int]int{}
		for _, s := range ss[:n] {
			i, ok := at[s.user]
			if !ok {
				i = len(cells)
				at[s.user] = i
				cells = append(cells, stats.PairCell{User: s.user, Stratum: d})
			}
			cells[i].Both++
			switch s.y {
			case 1:
				cells[i].Rises++
				h.Rises++
			case -1:
				cells[i].Falls++
				h.Falls++
			}
		}
		strata = append(strata, h)
	}
	return strata, cells
}

func pairMethods() []method {
	return []method{
		{name: "Assay", hit: true, found: true}, {name: "normal", hit: true},
		{name: "counts (McNemar)", hit: true, found: true},
	}
}

func pairs() table {
	t := table{
		name: "paired", title: "Two gradings of the same sessions",
		about: "`changed` of the pairs differ; `tilt` is (rises - falls) / changed. Users and days as above. *normal* has the " +
			"sandwich variance over users, *counts* is the net of raw counts with a normal interval and McNemar's exact test.",
		keys:    []string{"changed", "tilt", "icc", "users", "sessions", "cap"},
		methods: pairMethods(),
	}
	for _, share := range []float64{.3, .05, .01} {
		for _, tilt := range []float64{0, 1} {
			for _, rho := range []float64{.01, .6} {
				for _, c := range crowds() {
					if share > .1 && c.users > 200 {
						continue // so many changes take long to flip, and are not what may go wrong
					}
					c.together = rho
					t.rows = append(t.rows, row{
						keys: c.keys(share, tilt, rho), rate: noRate, null: tilt == 0, try: change{c, share, tilt}.try,
						quick: rho == .6 && share == .05 && c.users <= 100 && c.sessions < 50,
					})
				}
			}
		}
	}
	return t
}

// weights are pairs that fall on the busy day and rise on the others, with a net of 0 over the traffic.
func weights() table {
	t := table{
		name: "weights", title: "Weighted net against McNemar on counts",
		about: "Nothing changed over the whole traffic: what rises on quiet days falls on the busy one. At a cap the counts " +
			"are of other weights than the traffic, and McNemar's test answers a question that nobody asked.",
		keys:    []string{"changed", "icc", "users", "sessions", "cap"},
		methods: pairMethods(),
	}
	for _, share := range []float64{.1, .3} {
		for _, rho := range []float64{.01, .3} {
			for _, c := range []crowd{
				{users: 100, sessions: 50, most: 20}, {users: 100, sessions: 50, most: 50}, {users: 300, sessions: 20, most: 100}, {users: 300, sessions: 3},
			} {
				c.together = rho
				t.rows = append(t.rows, row{
					keys: c.keys(share, rho), rate: noRate, null: true, quick: rho == .3 && c.users == 100,
					try: func(r *rand.Rand) []shot {
						own := chances(r, c.users, share, rho)
						sessions, graded := c.draw(r, func(u, d int) int {
							y, up := coin(r, own[u]), 0.5+0.5*busyShare
							if d == days-1 {
								up = 0.5 - 0.5*(1-busyShare)
							}
							return y * (2*coin(r, up) - 1)
						})
						return pairedShots(0, sessions, graded)
					},
				})
			}
		}
	}
	return t
}
