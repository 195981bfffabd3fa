package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Hall's transformation g(t) = t + a t^2/3 + a^2 t^3/27 + a/6 undoes hall.
func TestHallIsItsInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, a := rapid.Float64Range(-5, 5).Draw(t, "t"), rapid.Float64Range(-3, 3).Draw(t, "a")
		u := hall(x, a)
		if back := u + a*u*u/3 + a*a*u*u*u/27 + a/6; math.Abs(back-x) > 1e-6*(1+math.Abs(x)) {
			t.Fatalf("hall(%v, %v) = %v, back to %v", x, a, u, back)
		}
	})
}

func TestReach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, a := rapid.Float64Range(.1, 12).Draw(t, "t"), rapid.Float64Range(-5, 5).Draw(t, "a")
		r := reach(x, a)
		if r < x || r > mostSkew*x || reach(x*1.01, a) < r {
			t.Fatalf("reach(%v, %v) = %v", x, a, r)
		}
		if back := reached(r, a); reach(back, a) < r*(1-1e-9) || back > x*(1+1e-9) {
			t.Fatalf("reach(%v, %v) = %v, reached %v", x, a, r, back)
		}
	})
	if reach(2, 0) != 2 || reach(2, .5) != 2 || !(reach(2, -.5) > 2.3) {
		t.Errorf("only the side away from which the summands lean is further out: %v %v %v", reach(2, 0), reach(2, .5), reach(2, -.5))
	}
}
