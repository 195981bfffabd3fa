package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestPairedByHand(t *testing.T) {
	strata := []Pairs{
		{Size: 300, Drawn: 20, Both: 20, Rises: 5, Falls: 1},
		{Size: 100, Drawn: 10, Both: 10},
	}
	level := .75 * .2
	va := sq(.75) * (.3 - .04) / 19
	vb := sq(.25) * (2. / 12) / 9
	between := (.75*sq(.2-level) + .25*sq(level)) / 400
	v := va + vb + between
	fourth := func(up, down, still float64) (m4, m2 float64) { // of answers that are 1, -1 and 0, about their mean
		m := up - down
		m4 = up*math.Pow(1-m, 4) + down*math.Pow(1+m, 4) + still*math.Pow(m, 4)
		return m4, up + down - m*m
	}
	m4, m2 := fourth(.25, .05, .7)
	n4, n2 := fourth(1./12, 1./12, 10./12)
	df := min(28, 2*v*v/(math.Pow(.75, 4)*(m4-m2*m2)/8000+math.Pow(.25, 4)*(n4-n2*n2)/1000))
	half := tQuantile(.975, df) * math.Sqrt(v)
	got := Paired(strata, nil, .95, 1)
	if !near(got.Level.X, level) || !near(got.Interval.DF, df) || got.Users.Absent != NoUsers || got.Interval.Method != MethodT ||
		!near(got.Interval.Low, level-half) || !near(got.Interval.High, level+half) {
		t.Errorf("%+v, want %v -+ %v df %v", got, level, half, df)
	}
	// Six discordant pairs of one weight, five of them up: 14 of 64 patterns are as far out.
	if !(got.P.X >= 14./64) {
		t.Errorf("P %v", got.P)
	}
}

type repaired struct {
	strata []Pairs
	cells  []PairCell
}

func genPairs(t *rapid.T) (out repaired) {
	users := rapid.IntRange(1, 40).Draw(t, "users")
	for i := range rapid.IntRange(1, 5).Draw(t, "strata") {
		h := Pairs{Label: fmt.Sprint(i)}
		for u := range users {
			n := rapid.Int64Range(0, 3).Draw(t, "n")
			if n == 0 {
				continue
			}
			c := PairCell{User: u, Stratum: i, Both: n, Rises: rapid.Int64Range(0, n).Draw(t, "rises")}
			c.Falls = rapid.Int64Range(0, n-c.Rises).Draw(t, "falls")
			h.Both, h.Rises, h.Falls = h.Both+n, h.Rises+c.Rises, h.Falls+c.Falls
			out.cells = append(out.cells, c)
		}
		h.Drawn = h.Both
		h.Size = h.Both + rapid.Int64Range(0, 200).Draw(t, "more")
		out.strata = append(out.strata, h)
	}
	return out
}

// The slow definition: the weighted net by pair, deleted user by user, and signs flipped user by user.
func TestPairedIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genPairs(t)
		got := Paired(s.strata, s.cells, .95, 3)
		if !got.Level.Ok() {
			return
		}
		net := func(without int) float64 {
			var y, d float64
			for _, c := range s.cells {
				if c.User != without {
					w := float64(s.strata[c.Stratum].Size) / float64(s.strata[c.Stratum].Both)
					y, d = y+w*float64(c.Rises-c.Falls), d+w*float64(c.Both)
				}
			}
			return y / d
		}
		if !near(got.Level.X, net(-1)) {
			t.Fatalf("%+v, want %v", got, net(-1))
		}
		if !got.Interval.Ok() {
			return
		}
		users := map[int]float64{} // what a user turns about
		for _, c := range s.cells {
			users[c.User] += float64(s.strata[c.Stratum].Size) / float64(s.strata[c.Stratum].Both) * float64(c.Rises-c.Falls)
		}
		v, g := 0.0, float64(len(users))
		var turns []float64
		for u, x := range users {
			v += (g - 1) / g * sq(net(u)-net(-1))
			if x != 0 {
				turns = append(turns, x)
			}
		}
		if half := min(got.Interval.High-got.Level.X, got.Level.X-got.Interval.Low); half < tQuantile(.975, got.Interval.DF)*math.Sqrt(v)-1e-9 && got.Interval.Low > -1 && got.Interval.High < 1 {
			t.Fatalf("%+v is narrower than the jackknife's %v", got, math.Sqrt(v))
		}
		if len(turns) <= 12 && got.P.X < slowFlips(turns)-1e-9 {
			t.Fatalf("P %v, patterns say %v", got.P, slowFlips(turns))
		}
	})
}

func TestPairedHoldsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genPairs(t)
		confidence := rapid.Float64Range(.5, .999).Draw(t, "confidence")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		place, other := r.Perm(len(s.strata)), repaired{strata: make([]Pairs, len(s.strata))}
		turned := repaired{}
		for i, h := range s.strata {
			turned.strata = append(turned.strata, Pairs{Size: h.Size, Drawn: h.Drawn, Both: h.Both, Rises: h.Falls, Falls: h.Rises})
			h.Label = "renamed"
			other.strata[place[i]] = h
		}
		for _, c := range s.cells {
			turned.cells = append(turned.cells, PairCell{c.User, c.Stratum, c.Both, c.Falls, c.Rises})
			other.cells = append(other.cells, PairCell{50 - c.User, place[c.Stratum], c.Both, c.Rises, c.Falls})
		}
		r.Shuffle(len(other.cells), func(i, j int) { other.cells[i], other.cells[j] = other.cells[j], other.cells[i] })
		for _, users := range []bool{false, true} {
			of := func(s repaired) Difference {
				if users {
					return Paired(s.strata, s.cells, confidence, 3)
				}
				return Paired(s.strata, nil, confidence, 3)
			}
			a, b, c := of(s), of(other), of(turned)
			if a != b {
				t.Fatalf("order or names matter: %+v and %+v", a, b)
			}
			if wrong := sound(a, confidence); wrong != "" || c.Level.X != -a.Level.X || !near(c.Interval.Low, -a.Interval.High) || !near(c.P.X, a.P.X) {
				t.Fatalf("%s: %+v, turned about %+v", wrong, a, c)
			}
		}
	})
}

// No flips seen is not no flips: a width, P of 1, and no NaN.
func TestPairedWithoutDiscordantPairs(t *testing.T) {
	strata := []Pairs{{Size: 1000, Drawn: 50, Both: 50}, {Size: 30, Drawn: 30, Both: 30}}
	var cells []PairCell
	for u := range 40 {
		cells = append(cells, PairCell{User: u, Stratum: 0, Both: 1}, PairCell{User: u, Stratum: 1, Both: 1})
	}
	strata[0].Both, strata[1].Both = 40, 40
	for _, users := range [][]PairCell{nil, cells} {
		d := Paired(strata, users, .95, 1)
		if d.Level.X != 0 || d.P.X != 1 || !(d.Interval.Low < -.01 && d.Interval.High > .01) || sound(d, .95) != "" {
			t.Errorf("%+v", d)
		}
	}
}

func TestPairedUndefined(t *testing.T) {
	some := Pairs{Size: 100, Drawn: 20, Both: 20, Rises: 5, Falls: 2}
	for name, c := range map[string]struct {
		strata         []Pairs
		users          []PairCell
		level, because Absence
	}{
		"nothing":                  {nil, nil, NoPopulation, NoPopulation},
		"no pair":                  {[]Pairs{{Size: 5, Drawn: 5}}, nil, NothingObserved, NothingObserved},
		"a stratum without a pair": {[]Pairs{some, {Size: 5, Drawn: 5}}, nil, StratumUnobserved, StratumUnobserved},
		"one pair":                 {[]Pairs{{Size: 5, Drawn: 1, Both: 1, Rises: 1}}, nil, Defined, NoFreedom},
		"one user":                 {[]Pairs{some}, []PairCell{{1, 0, 20, 5, 2}}, Defined, TooFewUsers},
		"users that are not known": {[]Pairs{some}, []PairCell{}, Defined, TooFewUsers},
	} {
		d := Paired(c.strata, c.users, .95, 1)
		if d.Level.Absent != c.level || d.Interval.Absent != c.because || d.P.Absent != c.because || sound(d, .95) != "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
