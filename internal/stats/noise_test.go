package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestDifferByHand(t *testing.T) {
	for _, c := range []struct {
		counts []int64
		want   float64
		why    Absence
	}{
		{nil, 0, NothingRepeated},
		{[]int64{1}, 0, NothingRepeated},
		{[]int64{1, 0}, 0, NothingRepeated},
		{[]int64{2}, 0, Defined},
		{[]int64{1, 1}, 1, Defined},
		{[]int64{2, 1}, 2. / 3, Defined}, // 2 x 2 x 1 / (3 x 2)
		{[]int64{7, 3}, 2. * 7 * 3 / 90, Defined},
		{[]int64{1, 1, 1}, 1, Defined},
		{[]int64{2, 1, 1}, 5. / 6, Defined}, // of 6 pairs one is the same
		{[]int64{0, 5, 0}, 0, Defined},
	} {
		if got := Differ(c.counts); got.Absent != c.why || !near(got.X, c.want) {
			t.Errorf("Differ(%v) = %+v, want %v %q", c.counts, got, c.want, c.why)
		}
	}
}

// The slow definition: go through all pairs.
func TestDifferIsTheShareOfPairsThatDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answers := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 12).Draw(t, "answers")
		counts := make([]int64, 4)
		for _, a := range answers {
			counts[a]++
		}
		differ, pairs := 0.0, 0.0
		for i := range answers {
			for j := range i {
				pairs++
				if answers[i] != answers[j] {
					differ++
				}
			}
		}
		got := Differ(counts)
		if got.Ok() != (pairs > 0) || got.Ok() && !near(got.X, differ/pairs) {
			t.Fatalf("%v: %+v, of %v pairs %v differ", answers, got, pairs, differ)
		}
	})
}

func TestVariance(t *testing.T) {
	for _, c := range []struct {
		numbers []float64
		want    float64
	}{
		{[]float64{3, 3}, 0}, {[]float64{1, 2}, .5}, {[]float64{2, 4, 6}, 4}, {[]float64{1e9 + 1, 1e9 + 2, 1e9 + 3}, 1},
	} {
		if got := Variance(c.numbers); !got.Ok() || math.Abs(got.X-c.want) > 1e-6 {
			t.Errorf("Variance(%v) = %+v, want %v", c.numbers, got, c.want)
		}
	}
	if Variance([]float64{5}).Ok() {
		t.Error("one number has no variance")
	}
}

func TestNoiseByHand(t *testing.T) {
	strata := []Repeated{
		{Label: "a", Line: "x", Size: 300, Drawn: 10, Units: 8, Split: 4, Flips: 2, Numbers: 4, Squares: 4},
		{Label: "b", Line: "x", Size: 100, Drawn: 10, Units: 10, Split: 10, Flips: 9, Numbers: 10, Squares: 90},
	}
	flips, split, spread := FlipRate(strata), SplitShare(strata), Spread(strata)
	if !near(flips.Level.X, .75*.25+.25*.9) || !near(flips.Low.X, .75*.2+.25*.9) || !near(flips.High.X, .75*.4+.25*.9) || !near(flips.Coverage.X, .75*.8+.25) {
		t.Errorf("flips %+v", flips)
	}
	if !near(split.Level.X, .75*.5+.25*1) {
		t.Errorf("split %+v", split)
	}
	// Numbers were measured twice on half of the first stratum's units: a domain, as in Rate.
	if want := math.Sqrt((.75*.5 + .25*9) / (.75*.5 + .25)); !near(spread.X, want) {
		t.Errorf("spread %+v, want %v", spread, want)
	}

	strata[1].Units, strata[1].Split, strata[1].Flips = 0, 0, 0
	if got := FlipRate(strata); !near(got.Level.X, .25) || fmt.Sprint(got.Merged) != "[{b a}]" {
		t.Errorf("a stratum without any unit measured twice is counted with its neighbour: %+v", got)
	}
	for name, c := range map[string]struct {
		strata []Repeated
		why    Absence
	}{
		"no population":         {nil, NoPopulation},
		"nothing repeated":      {[]Repeated{{Line: "x", Size: 5, Drawn: 5}}, NothingRepeated},
		"one without neighbour": {[]Repeated{{Size: 5, Drawn: 5}, {Line: "x", Size: 5, Drawn: 5, Units: 1}}, StratumUnobserved},
	} {
		for _, v := range []Value{FlipRate(c.strata).Level, SplitShare(c.strata).Level, Spread(c.strata)} {
			if v.Absent != c.why || v.X != 0 {
				t.Errorf("%s: %+v, want absent %q", name, v, c.why)
			}
		}
	}
	if v := Spread([]Repeated{{Line: "x", Size: 5, Drawn: 5, Units: 5}}); v.Absent != NothingRepeated {
		t.Errorf("no number was measured twice: %+v", v)
	}
}

// noisy is a population of strata whose units flip with a chance of their own, and how they are sampled.
type noisy struct {
	size, drawn int
	flip        float64 // of each measurement of a unit against what it mostly is
}

// measure grades a capped sample of each stratum k times; each measurement is lost with chance lost, as
// a timeout is. It returns the estimate, and the plain mean over the sample that it must not be.
func measure(r *rand.Rand, strata []noisy, k int, lost float64) (e, split Estimate, plain float64) {
	var in []Repeated
	var flips, units float64
	for i, h := range strata {
		s := Repeated{Label: fmt.Sprint(i), Line: "x", Size: int64(h.size), Drawn: int64(h.drawn)}
		for range h.drawn {
			counts := make([]int64, 2)
			for range k {
				switch {
				case r.Float64() < lost:
				case r.Float64() < h.flip:
					counts[1]++
				default:
					counts[0]++
				}
			}
			d := Differ(counts)
			if !d.Ok() {
				continue
			}
			s.Units++
			s.Flips += d.X
			if counts[0] > 0 && counts[1] > 0 {
				s.Split++
			}
		}
		flips, units = flips+s.Flips, units+float64(s.Units)
		in = append(in, s)
	}
	return FlipRate(in), SplitShare(in), flips / units
}

// A judge of known noise: a measurement is what the unit mostly is, or with a known chance e the other
// answer; two of them differ with chance 2e(1-e). One busy stratum is sampled at 1 in 100. However often
// units are measured, and though measurements get lost, the mean of the estimates is the truth.
func TestFlipRateOfAJudgeOfKnownNoise(t *testing.T) {
	strata := []noisy{{20_000, 200, .02}, {300, 100, .3}, {200, 100, .45}, {100, 100, 0}}
	truth, size := 0.0, 0.0
	for _, h := range strata {
		truth += float64(h.size) * 2 * h.flip * (1 - h.flip)
		size += float64(h.size)
	}
	truth /= size
	r := rand.New(rand.NewPCG(1, 2))
	const replicates = 1500
	splits := map[int]float64{}
	for _, c := range []struct {
		k    int
		lost float64
	}{{2, 0}, {3, 0}, {3, .2}, {7, .1}} {
		var sum, squares, plain, split float64
		for range replicates {
			e, s, p := measure(r, strata, c.k, c.lost)
			sum, squares, plain, split = sum+e.Level.X, squares+e.Level.X*e.Level.X, plain+p, split+s.Level.X
		}
		mean := sum / replicates
		sd := math.Sqrt(squares/replicates - mean*mean)
		if off := math.Abs(mean-truth) / (sd / math.Sqrt(replicates)); off > 4 {
			t.Errorf("k=%d, %v lost: mean %.5f of %d estimates, truth %.5f: %.1f standard errors off", c.k, c.lost, mean, replicates, truth, off)
		}
		if plain/replicates < 2*truth {
			t.Errorf("k=%d: the plain mean %.4f is not far off, so that this test could not see a missing weight", c.k, plain/replicates)
		}
		splits[c.k] = split / replicates
	}
	if splits[7] < 2*splits[2] {
		t.Errorf("the share of split units is %v: it should grow with the number of measurements", splits)
	}
}

func TestNoiseHoldsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var strata []Repeated
		for i := range rapid.IntRange(0, 8).Draw(t, "strata") {
			h := Repeated{Label: fmt.Sprint(i), Line: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "line")}
			h.Size = rapid.Int64Range(0, 500).Draw(t, "N")
			h.Drawn = rapid.Int64Range(0, min(h.Size, 50)).Draw(t, "n")
			h.Units = rapid.Int64Range(0, h.Drawn).Draw(t, "units")
			h.Split = rapid.Int64Range(0, h.Units).Draw(t, "split")
			h.Flips = float64(h.Split) * rapid.Float64Range(0, 1).Draw(t, "flips")
			h.Numbers = rapid.Int64Range(0, h.Units).Draw(t, "numbers")
			h.Squares = float64(h.Numbers) * rapid.Float64Range(0, 1e6).Draw(t, "squares")
			strata = append(strata, h)
		}
		flips, split, spread := FlipRate(strata), SplitShare(strata), Spread(strata)
		for _, v := range []Value{flips.Level, split.Level, flips.Low, flips.High, flips.Coverage, spread} {
			if math.IsNaN(v.X) || math.IsInf(v.X, 0) || v.X < 0 || (!v.Ok() && v.X != 0) {
				t.Fatalf("%+v of %+v", v, strata)
			}
		}
		if flips.Level.X > split.Level.X+1e-9 {
			t.Fatalf("flips %v are more than split units %v", flips.Level.X, split.Level.X)
		}
		if flips.Level.Ok() && (flips.Level.X < flips.Low.X-1e-9 || flips.Level.X > flips.High.X+1e-9) {
			t.Fatalf("level %v outside of %v..%v", flips.Level.X, flips.Low.X, flips.High.X)
		}
	})
}
