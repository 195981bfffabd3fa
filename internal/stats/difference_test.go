package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// Twenty users in each sample, of whom ten are in both: the variance of a difference of sums over users.
func TestRateDifferenceByHand(t *testing.T) {
	a, b := Sample{Strata: []Stratum{{Size: 40, Drawn: 40, Observed: 40, Domain: 40}}}, Sample{Strata: []Stratum{{Size: 20, Drawn: 20, Observed: 20, Domain: 20}}}
	for u := range 20 {
		x, y := float64(u%3), float64(u%2)
		a.Users = append(a.Users, Cell{User: u, Domain: 2, Sum: x})
		b.Users = append(b.Users, Cell{User: u + 10, Domain: 1, Sum: y})
		a.Strata[0].Sum += x
		b.Strata[0].Sum += y
	}
	pa, pb := a.Strata[0].Sum/40, b.Strata[0].Sum/20
	influence := func(s Sample, p float64, user int) float64 {
		n, x := 0.0, 0.0
		for _, c := range s.Users {
			n += float64(c.Domain)
			if c.User == user {
				x = c.Sum - p*float64(c.Domain)
			}
		}
		return x / n / (1 - 1./20)
	}
	var va, vb, both, fourth float64
	for u := range 30 {
		x, y := influence(a, pa, u), influence(b, pb, u)
		va, vb, both = va+19./20*x*x, vb+19./20*y*y, both+sq(x-y)
		fourth += math.Pow(x-y, 4)
	}
	df := min(sq(va+vb)/(va*va/19+vb*vb/19), 2*both*both/(fourth-both*both/30))
	v := 29./30*both + 2*sq(1./6/22)
	se := math.Sqrt(v)
	q := tQuantile(.975, df)
	got := RateDifference(a, b, .95)
	if !near(got.Level.X, pa-pb) || !near(got.Users.X, 20) || !near(got.Interval.DF, df) ||
		!near(got.Interval.Low, pa-pb-se*q) || !near(got.Interval.High, pa-pb+se*q) {
		t.Errorf("%+v, want %v -+ %v", got, pa-pb, se*q)
	}
	// Without users: Welch's interval over the two binomial variances of the process, and their own variance.
	va, vb = pa*(1-pa)/39, pb*(1-pb)/19
	vary := func(p, n float64) float64 { return p * (1 - p) * sq(1-2*p) / (n * n * n) } // mean e^4 - (mean e^2)^2
	units := RateDifference(Sample{Strata: a.Strata}, Sample{Strata: b.Strata}, .95)
	df = min(sq(va+vb)/(va*va/39+vb*vb/19), 2*sq(va+vb)/(vary(pa, 40)+vary(pb, 20)))
	if !near(units.Interval.DF, df) || units.Users.Absent != NoUsers || !near(units.Interval.Width(), 2*tQuantile(.975, df)*math.Sqrt(va+vb)) {
		t.Errorf("%+v", units)
	}
}

// One sample against itself: every user is in both, and nothing is left but what was not seen.
func TestRateDifferenceOfTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genPeopled(t)
		d := RateDifference(Sample{s.strata, s.cells}, Sample{s.strata, s.cells}, .95)
		if d.Interval.Ok() && (d.Level.X != 0 || d.P.X != 1 || !d.Interval.Has(0)) {
			t.Fatalf("%+v", d)
		}
	})
}

// sound says what is wrong with a difference that no difference may show.
func sound(d Difference, confidence float64) string {
	i := d.Interval
	switch {
	case !finite(d.Level.X, i.Low, i.High, i.DF, d.P.X, d.Users.X):
		return "not a number"
	case i.Ok() != d.P.Ok():
		return "an interval without P, or P without an interval"
	case !i.Ok():
		return ""
	case !i.Has(d.Level.X) || i.Low < -1 || i.High > 1:
		return "an interval that cannot be"
	case d.P.X < 0 || d.P.X > 1:
		return "P is no chance"
	case d.P.X < (1-confidence)*(1-1e-6) && i.Low < 0 && i.High > 0:
		return "P finds what the interval does not"
	}
	return ""
}

func TestRateDifferenceHoldsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genPeopled(t), genPeopled(t)
		confidence := rapid.Float64Range(.5, .999).Draw(t, "confidence")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		for _, users := range []bool{false, true} {
			of := func(p peopled) Sample {
				if users {
					return Sample{p.strata, p.cells}
				}
				return Sample{Strata: p.strata}
			}
			d := RateDifference(of(a), of(b), confidence)
			if again := RateDifference(of(a.shuffled(r)), of(b.shuffled(r)), confidence); again != d {
				t.Fatalf("order or names matter: %+v and %+v", d, again)
			}
			back := RateDifference(of(b), of(a), confidence)
			if wrong := sound(d, confidence); wrong != "" || back.Level.X != -d.Level.X || !near(back.Interval.Low, -d.Interval.High) || !near(back.P.X, d.P.X) {
				t.Fatalf("%s: %+v, turned about %+v", wrong, d, back)
			}
			x, y := Rate(a.strata).Level, Rate(b.strata).Level
			if d.Level.Ok() != (x.Ok() && y.Ok()) || d.Level.Ok() && d.Level.X != x.X-y.X {
				t.Fatalf("%+v of %v and %v", d, x, y)
			}
		}
	})
}

func TestRateDifferenceUndefined(t *testing.T) {
	full := Sample{Strata: []Stratum{{Size: 100, Drawn: 10, Observed: 10, Domain: 10, Sum: 4}}}
	few := Sample{Strata: full.Strata, Users: []Cell{{User: 1, Domain: 10, Sum: 4}}}
	one := Sample{Strata: []Stratum{{Size: 100, Drawn: 1, Observed: 1, Domain: 1}}}
	for name, c := range map[string]struct {
		a, b           Sample
		level, because Absence
	}{
		"nothing":           {Sample{}, full, NoPopulation, NoPopulation},
		"nothing graded":    {full, Sample{Strata: []Stratum{{Size: 5}}}, NothingObserved, NothingObserved},
		"one user":          {few, few, Defined, TooFewUsers},
		"users of one only": {few, full, Defined, Defined},
		"one unit":          {full, one, Defined, NoFreedom},
	} {
		d := RateDifference(c.a, c.b, .95)
		if d.Level.Absent != c.level || d.Interval.Absent != c.because || d.P.Absent != c.because || sound(d, .95) != "" {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
