package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// Each pattern of signs by itself.
func slowFlips(xs []float64) float64 {
	seen, all, extreme := 0.0, 0.0, 0
	for _, x := range xs {
		seen, all = seen+x, all+math.Abs(x)
	}
	for pattern := range 1 << len(xs) {
		sum := 0.0
		for i, x := range xs {
			if pattern>>i&1 == 0 {
				sum += x
			} else {
				sum -= x
			}
		}
		if math.Abs(sum) >= math.Abs(seen)-1e-12*all {
			extreme++
		}
	}
	return float64(extreme) / float64(int(1)<<len(xs))
}

func TestFlipsIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-2, 2), rapid.SampledFrom([]float64{-1, 0, 1, .5})), 0, 11).Draw(t, "xs")
		want := slowFlips(xs)
		if got := flips(xs, 1); !near(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// Drawn patterns agree with all of them, and the order of users does not matter.
func TestDrawnFlips(t *testing.T) {
	r, changed := rand.New(rand.NewPCG(4, 5)), false
	for range 12 {
		xs := make([]float64, 21+r.IntN(3))
		for i := range xs {
			xs[i] = r.NormFloat64() + .3
		}
		p := flips(xs, 7)
		want := allFlips(abs(xs), math.Abs(total(xs))-1e-12*total(abs(xs)))
		if math.Abs(p-want) > 5*math.Sqrt(want*(1-want)/Draws)+2./Draws {
			t.Errorf("%v, all patterns say %v", p, want)
		}
		r.Shuffle(len(xs), func(i, j int) { xs[i], xs[j] = xs[j], xs[i] })
		for i := range xs {
			xs[i] = -xs[i]
		}
		if again := flips(xs, 7); again != p {
			t.Errorf("order or sign matters: %v and %v", p, again)
		}
		changed = changed || flips(xs, 8) != p
	}
	if !changed {
		t.Error("the seed changes nothing")
	}
	one := make([]float64, 1000)
	for i := range one {
		one[i] = 1
	}
	if p := flips(one, 1); p != 1./(Draws+1) {
		t.Errorf("a P of 0 would claim more than was drawn: %v", p)
	}
}

func abs(xs []float64) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Abs(x)
	}
	return out
}

// With equal weights and a pair a user it is McNemar's exact test.
func TestFlipsOfEqualWeightsIsMcNemar(t *testing.T) {
	for rises := range 9 {
		for falls := range 9 {
			var xs []float64
			for range rises {
				xs = append(xs, .125)
			}
			for range falls {
				xs = append(xs, -.125)
			}
			if p, want := flips(xs, 1), McNemar(int64(rises), int64(falls)).Exact.X; !near(p, want) {
				t.Errorf("%d up, %d down: %v, want %v", rises, falls, p, want)
			}
		}
	}
}
