package stats

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// The exact sum, in as many bits as it takes; and no order changes a bit.
func TestTotalIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.OneOf(
			rapid.Float64Range(-1, 1), rapid.Float64Range(-1e12, 1e12), rapid.Float64Range(-1e-250, 1e-250), rapid.Just(0.1),
		), 0, 40).Draw(t, "xs")
		exact, most := new(big.Float).SetPrec(3000), 0.0
		for _, x := range xs {
			exact.Add(exact, new(big.Float).SetFloat64(x))
			most = max(most, math.Abs(x))
		}
		want, _ := exact.Float64()
		got := total(xs)
		if math.Abs(got-want) > 1e-15*math.Abs(want)+1e-20*most {
			t.Fatalf("%v, want %v", got, want)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		r.Shuffle(len(xs), func(i, j int) { xs[i], xs[j] = xs[j], xs[i] })
		if again := total(xs); again != got {
			t.Fatalf("order matters: %v and %v", got, again)
		}
	})
}

func TestTotalOfWhatIsNoNumber(t *testing.T) {
	for _, xs := range [][]float64{{1, math.NaN()}, {math.Inf(1), 1}, {math.Inf(-1), math.Inf(1)}, {1e308, 1e308}} {
		if x := total(xs); finite(x) || defined(x).Absent != OutOfRange {
			t.Errorf("%v: %v", xs, x)
		}
	}
	if total(nil) != 0 || total([]float64{5e-324, 1, -1}) != 0 || total([]float64{.1, .2, -.3}) == 0 {
		t.Error("small numbers")
	}
}
