package main

import (
	"math"
	"math/rand/v2"

	"assay/internal/stats"
	"gonum.org/v1/gonum/stat/distuv"
)

// crowd is users whose sessions spread over two weeks, one day of which is busy.
type crowd struct {
	users, sessions int // sessions of a user; 0: of 1 to 50
	most            int // graded of a day; 0: all
	together        float64
}

const days, busyShare = 14, 0.6

// session is one user's session and its outcome.
type session struct{ user, y int }

func (c crowd) of(user int) int {
	if c.sessions == 0 {
		return 1 + user*49/max(c.users-1, 1)
	}
	return c.sessions
}

// draw gives the sessions of each day, those that are graded first and how many they are.
func (c crowd) draw(r *rand.Rand, outcome func(user, day int) int) (out [days][]session, graded [days]int) {
	for u := range c.users {
		for range c.of(u) {
			d := days - 1
			if r.Float64() >= busyShare {
				d = r.IntN(days - 1)
			}
			out[d] = append(out[d], session{u, outcome(u, d)})
		}
	}
	for d, ss := range out {
		graded[d] = take(r, ss, c.most)
	}
	return out, graded
}

// take brings a random sample of most to the front; 0 is all.
func take(r *rand.Rand, ss []session, most int) int {
	if most == 0 || most >= len(ss) {
		return len(ss)
	}
	for i := range most {
		j := i + r.IntN(len(ss)-i)
		ss[i], ss[j] = ss[j], ss[i]
	}
	return most
}

// alike draws a user's own chance with mean p and intraclass correlation rho.
func alike(r *rand.Rand, p, rho float64) float64 {
	switch {
	case rho == 0 || p == 0 || p == 1:
		return p
	case rho == 1:
		return float64(coin(r, p))
	}
	a, b := p*(1/rho-1), (1-p)*(1/rho-1)
	return distuv.Beta{Alpha: a, Beta: b, Src: r}.Rand()
}

func coin(r *rand.Rand, p float64) int {
	if r.Float64() < p {
		return 1
	}
	return 0
}

func chances(r *rand.Rand, users int, p, rho float64) []float64 {
	out := make([]float64, users)
	for u := range out {
		out[u] = alike(r, p, rho)
	}
	return out
}

// sampled turns sessions into strata and cells, y being 0 or 1.
func sampled(all [days][]session, graded [days]int) (strata []stats.Stratum, cells []stats.Cell) {
	for d, ss := range all {
		n := graded[d]
		h := stats.Stratum{Line: "arm", Size: int64(len(ss)), Drawn: int64(n), Observed: int64(n), Domain: int64(n)}
		at := map[int]int{}
		for _, s := range ss[:n] {
			i, ok := at[s.user]
			if !ok {
				i = len(cells)
				at[s.user] = i
				cells = append(cells, stats.Cell{User: s.user, Stratum: d})
			}
			cells[i].Domain++
			cells[i].Sum += float64(s.y)
			h.Sum += float64(s.y)
		}
		strata = append(strata, h)
	}
	return strata, cells
}

func crowds() []crowd {
	return []crowd{
		{users: 12, sessions: 50}, {users: 12, sessions: 50, most: 10},
		{users: 30, sessions: 5}, {users: 30, sessions: 20, most: 20},
		{users: 100, sessions: 20}, {users: 100, sessions: 20, most: 10}, {users: 100, sessions: 50},
		{users: 120, most: 200}, {users: 300, sessions: 3}, {users: 1000, sessions: 1, most: 50},
	}
}

func (c crowd) keys(more ...any) []any {
	sessions, most := any(c.sessions), any(c.most)
	if c.sessions == 0 {
		sessions = "1 to 50"
	}
	if c.most == 0 {
		most = "all"
	}
	return append(more, c.users, sessions, most)
}

// dozen is why intervals may be wider than needed.
func (c crowd) dozen() string {
	if c.users > 12 {
		return ""
	}
	return "of a dozen users one that was not met has a fourteenth of the weight"
}

func users() table {
	t := table{
		name: "users", title: "A rate of the process, users known",
		about: "Sessions of a user are alike (`icc`, beta distributed); 60 % of them fall on one of 14 days. " +
			"`cap` sessions are graded of a day. The alternatives have the sandwich variance over users, but *units* " +
			"is Assay's own rule without users.",
		keys: []string{"p", "icc", "users", "sessions", "cap"},
		methods: []method{
			{name: "Assay", hit: true}, {name: "normal", hit: true}, {name: "Korn-Graubard", hit: true}, {name: "units", hit: true},
		},
	}
	for _, p := range []float64{.5, .1, .02, .005, .002, 0} {
		for _, rho := range []float64{.01, .1, .3, .6, 1} {
			for _, c := range crowds() {
				t.rows = append(t.rows, row{
					keys: c.keys(p, rho), rate: p, why: c.dozen(),
					quick: c.users <= 100 && c.sessions < 50 && (p == .5 && rho == .3 || p == .02 || p == .005 && rho >= .6),
					try: func(r *rand.Rand) []shot {
						own := chances(r, c.users, p, rho)
						strata, cells := sampled(c.draw(r, func(u, _ int) int { return coin(r, own[u]) }))
						level, v, g := clustered(strata, cells)
						n := 0.0
						for _, s := range strata {
							n += float64(s.Observed)
						}
						return []shot{
							at(p, level, stats.RateInterval(strata, cells, stats.Process, confidence)),
							at(p, level, normal(level, v)),
							at(p, level, kornGraubard(level, v, n, g-1)),
							at(p, level, stats.RateInterval(strata, nil, stats.Process, confidence)),
						}
					},
				})
			}
		}
	}
	return t
}

var noRate = math.NaN() // a row without a bound from above
