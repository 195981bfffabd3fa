package propose

import (
	"math"
	"math/rand/v2"

	"assay/internal/stats"
)

// outcome is what a sample is expected to give.
type outcome struct {
	interval stats.Interval // its ends on average
	absent   stats.Absence
}

func (o outcome) margin() float64 { return o.interval.Width() / 2 }

func (o outcome) within(margin float64) bool {
	return o.absent == stats.Defined && o.margin() <= margin
}

// world makes up samples of the frame at the expected rates.
//
// They come in pairs, one with u and one with 1 - u for each chance u, so that what one has too much the other has
// too little. The same chances serve every size: the hits of a larger sample are those of a smaller one and more, and
// the margin falls with the size but for a little noise.
type world struct {
	m      *maker
	rounds []round
}

// round is the chances of one made-up sample.
type round struct {
	flat []float64 // by stratum: the quantile of its number of hits; where users do not count
	user [][]int32 // else by stratum: the users of its sessions in the order in which they are drawn
	hit  [][]bool  // likewise
}

// Where users count, a round holds every session of the frame, and trying a size takes as long as it has sessions:
// many have fewer rounds, whose noise is small.
const (
	flatRounds = 64
	userRounds = 64
	heldRows   = 2_000_000
	triedRows  = 200_000
)

// fewer is an even number of rounds with no more rows than most, of rows each; 2 at least.
func fewer(rounds int, most, rows int64) int {
	return max(2, int(min(int64(rounds), most/max(rows, 1)))&^1)
}

func newWorld(m *maker) *world {
	w := &world{m: m}
	random := rand.New(rand.NewPCG(m.Seed, 0x9e3779b97f4a7c15))
	if m.Target == stats.Process {
		w.byUser(random)
		return w
	}
	// Of each stratum the quantiles are spread evenly over the rounds, and matched at random.
	half := make([]round, flatRounds/2)
	for i := range half {
		half[i].flat = make([]float64, len(m.Strata))
	}
	for h := range m.Strata {
		for k, at := range random.Perm(len(half)) {
			half[k].flat[h] = (float64(at) + random.Float64()) / float64(len(half))
		}
	}
	for _, r := range half {
		mirror := round{flat: make([]float64, len(r.flat))}
		for h, u := range r.flat {
			mirror.flat[h] = 1 - u
		}
		w.rounds = append(w.rounds, r, mirror)
	}
	return w
}

// byUser draws sessions by user. Sessions of one user are alike as far as Alike says: with the chance sqrt(Alike) one
// comes out as its user does, else by itself, which gives two sessions of a user that correlation.
func (w *world) byUser(random *rand.Rand) {
	m := w.m
	sessions, users := m.sessions()
	rounds := fewer(userRounds, heldRows, m.total)
	like := math.Sqrt(min(max(m.Alike, 0), 1))
	chance := make([]float64, users)
	for range rounds / 2 {
		for i := range chance {
			chance[i] = random.Float64()
		}
		var r, mirror round
		for h, list := range sessions {
			drawn := make([]int32, len(list))
			for i, at := range random.Perm(len(list)) {
				drawn[i] = list[at]
			}
			hit, other := make([]bool, len(list)), make([]bool, len(list))
			for i, user := range drawn {
				u := random.Float64()
				if like > 0 && random.Float64() < like {
					u = chance[user]
				}
				hit[i], other[i] = u < m.rates[h], 1-u < m.rates[h]
			}
			r.user, r.hit = append(r.user, drawn), append(r.hit, hit)
			mirror.user, mirror.hit = append(mirror.user, drawn), append(mirror.hit, other)
		}
		w.rounds = append(w.rounds, r, mirror)
	}
}

// sessions are the users of the sessions of each stratum, numbered from 0, and how many users there are. Without
// users each session has one of its own.
func (m *maker) sessions() (byStratum [][]int32, users int) {
	byStratum = make([][]int32, len(m.Strata))
	number := map[int]int32{}
	for _, u := range m.Users {
		n, ok := number[u.User]
		if !ok {
			n = int32(len(number))
			number[u.User] = n
		}
		for range u.N {
			byStratum[u.Stratum] = append(byStratum[u.Stratum], n)
		}
	}
	users = len(number)
	for h := range m.Strata {
		for int64(len(byStratum[h])) < m.Strata[h].Eligible {
			byStratum[h] = append(byStratum[h], int32(users))
			users++
		}
		byStratum[h] = byStratum[h][:m.Strata[h].Eligible]
	}
	return byStratum, users
}

// expect is the interval of a report over n sessions of each stratum, on average over the rounds. One that has none in
// half of the rounds or more is not to be expected.
func (w *world) expect(n []int64) outcome {
	var o outcome
	got, none := 0, 0
	rounds := len(w.rounds)
	if w.m.Target == stats.Process {
		rounds = fewer(rounds, triedRows, sum(n))
	}
	for k := range rounds {
		strata, cells := w.sample(&w.rounds[k], n)
		i := stats.RateInterval(strata, cells, w.m.Target, w.m.Confidence)
		if !i.Ok() {
			none++
			o.absent = i.Absent
			continue
		}
		got++
		o.interval.Low += i.Low
		o.interval.High += i.High
		o.interval.N += i.N
		o.interval.DF += i.DF
		o.interval.Method, o.interval.Confidence = i.Method, i.Confidence
	}
	if none >= got {
		return outcome{absent: o.absent}
	}
	o.absent = stats.Defined
	o.interval.Low /= float64(got)
	o.interval.High /= float64(got)
	o.interval.N /= float64(got)
	o.interval.DF /= float64(got)
	return o
}

// sample is what a report reads of one made-up sample.
func (w *world) sample(r *round, n []int64) (strata []stats.Stratum, cells []stats.Cell) {
	strata = make([]stats.Stratum, len(n))
	seen := map[int32]int{} // of a user, the place in cells
	for h, row := range w.m.Strata {
		strata[h] = stats.Stratum{Label: row.Day + " " + row.Arm, Line: row.Arm, Size: row.Eligible, Drawn: n[h], Observed: n[h], Domain: n[h]}
		if r.flat != nil {
			strata[h].Sum = quantile(n[h], w.m.rates[h], r.flat[h])
			continue
		}
		clear(seen)
		hits := 0.0
		for i, user := range r.user[h][:n[h]] {
			at, ok := seen[user]
			if !ok {
				at = len(cells)
				seen[user] = at
				cells = append(cells, stats.Cell{User: int(user), Stratum: h})
			}
			cells[at].Domain++
			if r.hit[h][i] {
				cells[at].Sum++
				hits++
			}
		}
		strata[h].Sum = hits
	}
	return strata, cells
}

// quantile is the number of hits in n trials that a share u of chance stays at or below: the binomial's, summed up
// where that is short, else the normal one's, rounded.
func quantile(n int64, p, u float64) float64 {
	switch {
	case p <= 0 || n == 0:
		return 0
	case p >= 1:
		return float64(n)
	case p > 0.5:
		return float64(n) - quantile(n, 1-p, 1-u)
	}
	size := float64(n)
	if spread := size * p * (1 - p); spread > 100 {
		z := math.Sqrt2 * math.Erfinv(2*u-1)
		return min(max(math.Round(size*p+z*math.Sqrt(spread)), 0), size)
	}
	mass := math.Exp(size * math.Log1p(-p))
	below := mass
	k := 0.0
	for below < u && k < size {
		mass *= (size - k) / (k + 1) * p / (1 - p)
		k++
		below += mass
	}
	return k
}
