package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "BH") and p.adjust(c(.001,.008,.039,.041,.042,.06,.074,.205), "BH").
func TestBenjaminiHochbergByHand(t *testing.T) {
	for _, c := range []struct{ p, q []float64 }{
		{[]float64{.01, .02, .03, .04, .05}, []float64{.05, .05, .05, .05, .05}},
		{[]float64{.205, .001, .008, .039, .041, .042, .06, .074}, []float64{.205, .008, .032, .0672, .0672, .0672, .08, .592 / 7}},
		{nil, nil},
	} {
		var p []Value
		for _, x := range c.p {
			p = append(p, Known(x))
		}
		for i, q := range BenjaminiHochberg(p) {
			if !near(q.X, c.q[i]) {
				t.Errorf("%v: q[%d] = %v, want %v", c.p, i, q, c.q[i])
			}
		}
	}
}

// The slow definition: the least rate at which the step-up procedure finds it.
func TestBenjaminiHochbergIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p []Value
		for range rapid.IntRange(0, 12).Draw(t, "m") {
			x := Known(float64(rapid.IntRange(0, 20).Draw(t, "p")) / 20)
			if rapid.IntRange(0, 5).Draw(t, "absent") == 0 {
				x = None(TooFewUsers)
			}
			p = append(p, x)
		}
		m := 0.0
		for _, x := range p {
			if x.Ok() {
				m++
			}
		}
		for i, q := range BenjaminiHochberg(p) {
			if !p[i].Ok() {
				if q != p[i] {
					t.Fatalf("%v became %v", p[i], q)
				}
				continue
			}
			want := 1.0
			for _, at := range p { // each p as the threshold, if it is not below this one
				if !at.Ok() || at.X < p[i].X {
					continue
				}
				found := 0.0
				for _, x := range p {
					if x.Ok() && x.X <= at.X {
						found++
					}
				}
				want = min(want, m*at.X/found)
			}
			if !near(q.X, want) {
				t.Fatalf("%v: q[%d] = %v, want %v", p, i, q, want)
			}
		}
	})
}

func TestMultipleUndefined(t *testing.T) {
	got := BenjaminiHochberg([]Value{Known(math.NaN()), Known(2), Known(.04)})
	if got[0].Absent != OutOfRange || got[1].Absent != OutOfRange || got[2] != Known(.04) {
		t.Errorf("%v", got)
	}
	for _, c := range []struct {
		found, tests int
		want         Value
	}{{0, 10, None(NoTests)}, {11, 10, None(OutOfRange)}, {-1, 10, None(OutOfRange)}, {10, 10, Known(.95)}, {1, 20, Known(.9975)}} {
		if got := AdjustedConfidence(c.found, c.tests, .05); got.Absent != c.want.Absent || !near(got.X, c.want.X) {
			t.Errorf("%d of %d: %v, want %v", c.found, c.tests, got, c.want)
		}
	}
}
