package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestConfusionByHand(t *testing.T) {
	got := Confusion{TruePositive: 54, FalseNegative: 6, TrueNegative: 32, FalsePositive: 8}.Of(.95)
	for name, c := range map[string]struct {
		got  Share
		want float64
	}{
		"sensitivity": {got.Sensitivity, .9}, "specificity": {got.Specificity, .8},
		"ppv": {got.PPV, 54. / 62}, "npv": {got.NPV, 32. / 38}, "accuracy": {got.Accuracy, .86},
		"balanced": {got.Balanced, .85}, "f1": {got.F1, 108. / 122},
		"mcc": {got.MCC, (54*32 - 6*8) / math.Sqrt(62*60*40*38)},
	} {
		if !c.got.Ok() || !near(c.got.X, c.want) || !c.got.Interval.Has(c.want) || c.got.Interval.Width() <= 0 {
			t.Errorf("%s: %+v, want %v", name, c.got, c.want)
		}
	}
}

// The slow definition: MCC is the correlation of two columns of 0 and 1, and its error the delta method's with
// derivatives taken numerically.
func TestMCCIsACorrelation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.Int64Range(0, 30), 4, 4).Draw(t, "counts")
		got := Confusion{float64(counts[0]), float64(counts[1]), float64(counts[2]), float64(counts[3])}.Of(.95)
		for _, s := range []Share{got.Sensitivity, got.Specificity, got.PPV, got.NPV, got.Accuracy, got.Balanced, got.F1, got.MCC} {
			if !finite(s.X, s.Interval.Low, s.Interval.High) || s.Ok() && s.Interval.Ok() && !(s.Interval.Low <= s.X+1e-12 && s.X <= s.Interval.High+1e-12) {
				t.Fatalf("%+v of %v", s, counts)
			}
		}
		of := func(p [4]float64) float64 {
			sum := p[0] + p[1] + p[2] + p[3]
			test, truth := (p[0]+p[1])/sum, (p[0]+p[2])/sum
			return (p[0]/sum - test*truth) / math.Sqrt(test*(1-test)*truth*(1-truth))
		}
		var p [4]float64
		n := 0.0
		for i, c := range counts {
			p[i] = float64(c)
			n += p[i]
		}
		for i := range p {
			p[i] /= max(n, 1)
		}
		want := of(p)
		if got.MCC.Ok() == math.IsNaN(want) || got.MCC.Ok() && math.Abs(got.MCC.X-want) > 1e-9 {
			t.Fatalf("%+v, want %v", got.MCC, want)
		}
		if !got.MCC.Interval.Ok() || min(p[0], p[1], p[2], p[3]) < .01 {
			return
		}
		var mean, square float64
		for i := range p {
			up, down := p, p
			up[i] += 1e-5
			down[i] -= 1e-5
			d := (of(up) - of(down)) / 2e-5
			mean, square = mean+p[i]*d, square+p[i]*d*d
		}
		se := math.Sqrt((square-mean*mean)/n) / (1 - want*want)
		step := (math.Atanh(got.MCC.Interval.High) - math.Atanh(got.MCC.Interval.Low)) / 2 / normalQuantile(.975)
		if math.Abs(step-se) > 1e-4*(1+se) {
			t.Fatalf("%v: error %v on Fisher's scale, want %v", counts, step, se)
		}
	})
}

func TestConfusionUndefined(t *testing.T) {
	for name, c := range map[string]struct {
		of             Confusion
		sens, spec     Absence
		ppv, npv       Absence
		accuracy       Absence
		balanced, rest Absence
	}{
		"nothing":       {Confusion{}, NoPositives, NoNegatives, NonePositive, NoneNegative, NoLabels, NoPositives, NoPositives},
		"no negatives":  {Confusion{TruePositive: 5, FalseNegative: 2}, "", NoNegatives, "", "", "", NoNegatives, NoNegatives},
		"no positives":  {Confusion{TrueNegative: 5, FalsePositive: 2}, NoPositives, "", "", "", "", NoPositives, NoPositives},
		"all positive":  {Confusion{TruePositive: 5, FalsePositive: 2}, "", "", "", NoneNegative, "", "", NoneNegative},
		"all negative":  {Confusion{TrueNegative: 5, FalseNegative: 2}, "", "", NonePositive, "", "", "", NonePositive},
		"negative":      {Confusion{TruePositive: -1}, OutOfRange, OutOfRange, OutOfRange, OutOfRange, OutOfRange, OutOfRange, OutOfRange},
		"not a number":  {Confusion{TruePositive: math.NaN()}, OutOfRange, OutOfRange, OutOfRange, OutOfRange, OutOfRange, OutOfRange, OutOfRange},
		"all are right": {Confusion{TruePositive: 5, TrueNegative: 2}, "", "", "", "", "", "", ""},
	} {
		got := c.of.Of(.95)
		want := []Absence{c.sens, c.spec, c.ppv, c.npv, c.accuracy, c.balanced, c.rest}
		for i, s := range []Share{got.Sensitivity, got.Specificity, got.PPV, got.NPV, got.Accuracy, got.Balanced, got.MCC} {
			if s.Absent != want[i] {
				t.Errorf("%s, %d: %+v, want %q", name, i, s, want[i])
			}
		}
	}
	right := Confusion{TruePositive: 5, TrueNegative: 2}.Of(.95)
	if right.MCC.X != 1 || right.MCC.Interval.Absent != NoDisagreement {
		t.Errorf("all right: %+v", right.MCC)
	}
	if f := (Confusion{FalsePositive: 3, FalseNegative: 1}).Of(.95).F1; !f.Ok() || f.X != 0 || f.Interval.High <= 0 {
		t.Errorf("all wrong: %+v", f)
	}
}
