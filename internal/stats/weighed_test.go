package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func (c Confused) all() []Share {
	return []Share{c.Sensitivity, c.Specificity, c.PPV, c.NPV, c.Accuracy, c.Balanced, c.F1, c.MCC}
}

// With equal weights it is the plain table; a label of weight two counts as two that are one.
func TestWeighConfusionIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var labels, copies []WeighedLabel
		var plain, weighted Confusion
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			l := WeighedLabel{Weight: 1, Test: rapid.Bool().Draw(t, "test"), Truth: rapid.Bool().Draw(t, "truth")}
			w := rapid.IntRange(1, 4).Draw(t, "w")
			copies = append(copies, WeighedLabel{float64(w), l.Test, l.Truth})
			labels = append(labels, l)
			at := func(c *Confusion) *float64 {
				return map[[2]bool]*float64{
					{true, true}: &c.TruePositive, {true, false}: &c.FalsePositive, {false, true}: &c.FalseNegative, {false, false}: &c.TrueNegative,
				}[[2]bool{l.Test, l.Truth}]
			}
			*at(&plain)++
			*at(&weighted) += float64(w)
		}
		want := plain.Of(.95).all()
		for i, got := range WeighConfusion(labels, .95).all() {
			if got.Absent != want[i].Absent || math.Abs(got.X-want[i].X) > 1e-9 ||
				math.Abs(got.Interval.Low-want[i].Interval.Low) > 1e-6 || math.Abs(got.Interval.High-want[i].Interval.High) > 1e-6 {
				t.Fatalf("%d: %+v, want %+v of %+v", i, got, want[i], plain)
			}
		}
		want = weighted.Of(.95).all()
		for i, got := range WeighConfusion(copies, .95).all() {
			if got.Absent != want[i].Absent || math.Abs(got.X-want[i].X) > 1e-9 || !finite(got.Interval.Low, got.Interval.High) {
				t.Fatalf("%d: %+v, want %+v of %+v", i, got, want[i], weighted)
			}
		}
		other := append([]WeighedLabel{}, copies...)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		if WeighConfusion(other, .95) != WeighConfusion(copies, .95) {
			t.Fatal("order matters")
		}
	})
	for _, w := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if got := WeighConfusion([]WeighedLabel{{Weight: w}}, .95); got.Accuracy.Absent != NoProbability || got.MCC.Absent != NoProbability {
			t.Errorf("%v: %+v", w, got)
		}
	}
}

// Labels drawn by what the test said: unweighted, sensitivity is far off; weighted, its interval hits.
func TestWeighConfusionHits(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	const tries, truth, se, sp = 1000, .6, .85, .7
	hits, plain := [3]int{}, 0
	for range tries {
		var labels []WeighedLabel
		var tp, fn float64
		for range 2000 {
			l := WeighedLabel{Weight: 1 / .05, Truth: r.Float64() < truth}
			l.Test = r.Float64() < 1-sp
			if l.Truth {
				l.Test = r.Float64() < se
			}
			if !l.Test {
				l.Weight = 1 / .4
			}
			if r.Float64() < 1/l.Weight {
				labels = append(labels, l)
				if l.Truth && l.Test {
					tp++
				} else if l.Truth {
					fn++
				}
			}
		}
		got := WeighConfusion(labels, .95)
		for i, x := range []struct {
			Share
			want float64
		}{{got.Sensitivity, se}, {got.Specificity, sp}, {got.Accuracy, truth*se + (1-truth)*sp}} {
			if x.Interval.Has(x.want) {
				hits[i]++
			}
		}
		if Wilson(tp, tp+fn, .95).Has(se) {
			plain++
		}
	}
	for i, h := range hits {
		if share := float64(h) / tries; share < .93 {
			t.Errorf("%d: hits %.3f of the time", i, share)
		}
	}
	if share := float64(plain) / tries; share > .1 {
		t.Errorf("unweighted sensitivity hits %.3f of the time: nothing to correct here", share)
	}
}
