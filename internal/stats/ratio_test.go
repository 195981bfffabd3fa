package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSampleRatioByHand(t *testing.T) {
	// 821,588 and 815,482 users of an even split (Kohavi and Thomke, and others after them): p = 1.8e-6.
	got := SampleRatio([]int64{821588, 815482}, []float64{1, 1})
	if x := sq(821588-815482) / (821588. + 815482); !near(got.ChiSquare.X, x) || math.Abs(got.P.X-1.8e-6) > .05e-6 || got.Exact {
		t.Errorf("%+v", got)
	}
	// R: binom.test(3, 20, 1/2) p-value = 0.002576828; binom.test(7, 20, .2) = 0.1572 (all outcomes that are no likelier).
	if got := SampleRatio([]int64{3, 17}, []float64{1, 1}); !got.Exact || math.Abs(got.P.X-.002576828) > 1e-9 || got.ChiSquare.Absent != ExpectedTooSmall {
		t.Errorf("%+v", got)
	}
	// R: chisq.test(c(30, 50, 20), p = c(.3, .3, .4)) X-squared = 23.333, p-value = 8.574e-06
	if got := SampleRatio([]int64{30, 50, 20}, []float64{3, 3, 4}); !near(got.ChiSquare.X, 400./30+10) || math.Abs(got.P.X-math.Exp(-(400./30+10)/2)) > 1e-12 {
		t.Errorf("%+v", got)
	}
}

func TestSampleRatioIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Range(0, 400).Draw(t, "a"), rapid.Int64Range(0, 400).Draw(t, "b")
		share := rapid.Float64Range(.05, .95).Draw(t, "share")
		got, swapped := SampleRatio([]int64{a, b}, []float64{share, 1 - share}), SampleRatio([]int64{b, a}, []float64{1 - share, share})
		if a+b == 0 {
			if got.P.Absent != NothingObserved {
				t.Fatalf("%+v", got)
			}
			return
		}
		if got.Exact != swapped.Exact || math.Abs(got.P.X-swapped.P.X) > 1e-6 {
			t.Fatalf("the order of arms matters: %+v and %+v", got, swapped)
		}
		n := float64(a + b)
		if got.Exact != (n*min(share, 1-share) < 50) {
			t.Fatalf("%+v of %v", got, n)
		}
		if !got.Exact {
			if x := sq(float64(a)-n*share) / (n * share * (1 - share)); !near(got.ChiSquare.X, x) || !near(got.P.X, normalTail(math.Sqrt(x))) {
				t.Fatalf("%+v, want %v", got, x)
			}
			return
		}
		want, limit := 0.0, binomialMass(a, a+b, share)*(1+1e-7)
		for k := range a + b + 1 {
			if m := binomialMass(k, a+b, share); m <= limit {
				want += m
			}
		}
		if math.Abs(got.P.X-min(want, 1)) > 1e-9 {
			t.Fatalf("%+v, want %v", got, want)
		}
	})
}

func TestSampleRatioUndefined(t *testing.T) {
	for name, c := range map[string]struct {
		counts []int64
		shares []float64
		want   Absence
	}{
		"one arm":          {[]int64{3}, []float64{1}, OutOfRange},
		"unequal":          {[]int64{3, 2}, []float64{1}, OutOfRange},
		"no share":         {[]int64{3, 2}, []float64{1, 0}, OutOfRange},
		"not a number":     {[]int64{3, 2}, []float64{1, math.NaN()}, OutOfRange},
		"negative":         {[]int64{3, -2}, []float64{1, 1}, OutOfRange},
		"nothing":          {[]int64{0, 0}, []float64{1, 1}, NothingObserved},
		"three small arms": {[]int64{3, 2, 4}, []float64{1, 1, 1}, ExpectedTooSmall},
	} {
		if got := SampleRatio(c.counts, c.shares); got.P.Absent != c.want || got.ChiSquare.Ok() {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
