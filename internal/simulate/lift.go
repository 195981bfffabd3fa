package main

import (
	"math/rand/v2"

	"assay/internal/stats"
)

// ramp is an experiment whose treatment grows from 5 % to 50 % of the users, or sessions, over two weeks; one
// day is bad for both arms.
type ramp struct {
	crowd
	p       float64
	effect  float64
	crossed bool // sessions are assigned, so that a user is in both arms
}

const (
	badDay  = days - 1
	badPart = 0.25 // of all sessions
)

func (e ramp) draw(r *rand.Rand) (out [2][days][]session) {
	own := chances(r, e.users, 0.5, e.together)
	for u := range e.users {
		for range e.of(u) {
			d := badDay
			if r.Float64() >= badPart {
				d = r.IntN(days - 1)
			}
			treated := 0
			if part := 0.05 + 0.45*float64(d)/(days-1); e.crossed && r.Float64() < part || !e.crossed && float64(u%100)/100 < part {
				treated = 1
			}
			rate := e.p + e.effect*float64(treated)
			if d == badDay {
				rate -= 0.6 * e.p
			}
			if e.together > 0 {
				rate += 2 * (own[u] - 0.5) * min(rate, 1-rate)
			}
			out[treated][d] = append(out[treated][d], session{u, coin(r, rate)})
		}
	}
	return out
}

// graded is an arm's strata and cells, for a lift and for a level of its own.
func (e ramp) graded(r *rand.Rand, arm [days][]session) ([]stats.Stratum, []stats.Cell) {
	var graded [days]int
	for d, ss := range arm {
		graded[d] = take(r, ss, e.most)
	}
	return sampled(arm, graded)
}

func (e ramp) try(r *rand.Rand) []shot {
	sessions := e.draw(r)
	control, cc := e.graded(r, sessions[0])
	treatment, tc := e.graded(r, sessions[1])
	both := make([]stats.Both, days)
	for d := range both {
		both[d] = stats.Both{Treatment: arm(treatment[d]), Control: arm(control[d])}
	}
	cells := append(armCells(tc, true), armCells(cc, false)...)
	lift := stats.Lift(both, cells, confidence).Difference
	naive := stats.RateDifference(stats.Sample{Strata: treatment, Users: tc}, stats.Sample{Strata: control, Users: cc}, confidence)
	return []shot{tested(e.effect, lift), tested(e.effect, stats.Lift(both, nil, confidence).Difference), tested(e.effect, naive)}
}

func arm(h stats.Stratum) stats.Arm {
	return stats.Arm{Size: h.Size, Observed: h.Observed, Hits: int64(h.Sum)}
}

func armCells(cells []stats.Cell, treatment bool) (out []stats.ArmCell) {
	for _, c := range cells {
		out = append(out, stats.ArmCell{User: c.User, Day: c.Stratum, Treatment: treatment, Observed: c.Domain, Hits: int64(c.Sum)})
	}
	return out
}

func lifts() table {
	t := table{
		name: "lift", title: "Lift while the treatment ramps up",
		about: "The treatment grows from 5 % to 50 % over 14 days, the last of which is busy (a quarter of the sessions) and both arms pass 60 % less on it. `effect` is " +
			"that of the treatment on a session; `assigned` is what is drawn into an arm. *naive* is the difference of two " +
			"rates that are weighted apart (RateDifference); *units* is the lift without users.",
		keys: []string{"p", "effect", "icc", "assigned", "users", "sessions", "cap"},
		methods: []method{
			{name: "Assay", hit: true, found: true}, {name: "units", hit: true, found: true}, {name: "naive", hit: true, found: true},
		},
	}
	for _, p := range []float64{.9, .5, .1, .02} {
		for _, effect := range []float64{0, 0.05} {
			for _, rho := range []float64{0, .1, .6} {
				if effect > 0 && rho != .1 {
					continue
				}
				for _, crossed := range []bool{false, true} {
					for _, c := range []crowd{
						{users: 100, sessions: 20}, {users: 100, sessions: 20, most: 10}, {users: 100, sessions: 50},
						{users: 300, sessions: 5, most: 20}, {users: 1000, sessions: 2}, {users: 30, sessions: 20},
					} {
						c.together = rho
						e := ramp{crowd: c, p: p, effect: effect, crossed: crossed}
						what := "users"
						if crossed {
							what = "sessions"
						}
						t.rows = append(t.rows, row{
							keys: c.keys(p, effect, rho, what), rate: noRate, null: effect == 0, try: e.try,
							quick: effect == 0 && p > .1 && rho == .6 && c.users == 100 && c.sessions == 20,
						})
					}
				}
			}
		}
	}
	return t
}
