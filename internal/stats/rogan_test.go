package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestReferenceRoganGladen(t *testing.T) {
	for id, own := range map[string]func(k, n, confidence float64) Interval{
		"epi_prev_cows_c-p": ClopperPearson, "epi_prev_cows_wilson": Wilson,
		"epi_prev_cows_blaker": nil, "epi_prev_cows_sterne": nil,
	} {
		want := reference[struct{ AP, TP []float64 }](t, id)
		apparent := Interval{Low: want.AP[1], High: want.AP[2], Confidence: .95}
		if own != nil {
			apparent = own(23, 150, .95)
			printedInterval(t, id+" apparent", apparent, want.AP[1:], 1e-9)
		}
		level, interval := RoganGladenKnown(23./150, apparent, .96, .89)
		printedValue(t, id, level, want.TP[0], 1e-12)
		printedInterval(t, id, interval, want.TP[1:], 1e-8)
	}

	quick := reference[struct {
		Labels []int `json:"test_labels"`
		Preds  []int `json:"test_preds"`
		More   []int `json:"unlabeled_preds"`
		TPR    float64
		TNR    float64
		PObs   float64 `json:"p_obs"`
		Theta  float64 `json:"theta_hat"`
	}](t, "judgy_readme_quickstart")
	var c Confusion
	for i, y := range quick.Labels {
		*[]*float64{&c.TrueNegative, &c.FalsePositive, &c.FalseNegative, &c.TruePositive}[2*y+quick.Preds[i]]++
	}
	positive := 0.0
	for _, x := range quick.More {
		positive += float64(x)
	}
	of := c.Of(.95)
	printedValue(t, "TPR", of.Sensitivity.Value, quick.TPR, 1e-12)
	printedValue(t, "TNR", of.Specificity.Value, quick.TNR, 1e-12)
	got := RoganGladen(positive/float64(len(quick.More)), float64(len(quick.More)), c, .95)
	printedValue(t, "p", got.Raw, quick.PObs, 1e-12)
	printedValue(t, "theta", got.Level, quick.Theta, 1e-12)
	if got.Interval.Low > .1 || got.Interval.High < .95 {
		t.Errorf("8 labels and 8 others say nothing: %+v", got.Interval)
	}

	large := reference[struct {
		TPR, TNR float64
		Theta    float64   `json:"theta_hat"`
		CI       []float64 `json:"bootstrap_ci_seed0_20000"`
	}](t, "judgy_large")
	got = RoganGladen(.7, 1000, Confusion{54, 8, 6, 32}, .95)
	printedValue(t, "theta of judgy", got.Level, large.Theta, 1e-12)
	// judgy leaves out the error of p, so its interval is a little narrower.
	if math.Abs(got.Interval.Low-large.CI[0]) > .04 || math.Abs(got.Interval.High-large.CI[1]) > .04 ||
		got.Interval.Width() < large.CI[1]-large.CI[0] || !got.Transported {
		t.Errorf("%+v, judgy's bootstrap says %v", got.Interval, large.CI)
	}
}

// The formula as asht's prevSeSp writes it, step by step.
func slowLangReiczigel(ap, n, tp, positives, tn, negatives float64) (float64, float64) {
	z := 1.959963984540054
	se, sp := tp/positives, tn/negatives
	seA, spA := (positives*se+1)/(positives+2), (negatives*sp+1)/(negatives+2)
	apA := (n*ap + z*z/2) / (n + z*z)
	pA := (apA + spA - 1) / (seA + spA - 1)
	move := 2 * z * z * (pA*seA*(1-seA)/(positives+2) - (1-pA)*spA*(1-spA)/(negatives+2))
	v := (apA*(1-apA)/(n+z*z) + pA*pA*seA*(1-seA)/(positives+2) + (1-pA)*(1-pA)*spA*(1-spA)/(negatives+2)) / math.Pow(seA+spA-1, 2)
	return min(max(pA+move-z*math.Sqrt(v), 0), 1), max(min(pA+move+z*math.Sqrt(v), 1), 0)
}

func TestRoganGladenIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Confusion{}
		for _, x := range []*float64{&c.TruePositive, &c.FalsePositive, &c.FalseNegative, &c.TrueNegative} {
			*x = float64(rapid.IntRange(0, 40).Draw(t, "count"))
		}
		ap, n := rapid.Float64Range(0, 1).Draw(t, "apparent"), rapid.Float64Range(1, 3000).Draw(t, "n")
		got := RoganGladen(ap, n, c, .95)
		if !finite(got.Level.X, got.Interval.Low, got.Interval.High) || !got.Transported {
			t.Fatalf("%+v", got)
		}
		positives, negatives := c.TruePositive+c.FalseNegative, c.TrueNegative+c.FalsePositive
		if positives == 0 || negatives == 0 {
			if got.Level.Ok() {
				t.Fatalf("%+v", got)
			}
			return
		}
		j := c.TruePositive/positives + c.TrueNegative/negatives - 1
		if j <= 1e-12 {
			if got.Level.Absent != NotBetter || got.Interval.Absent != NotBetter {
				t.Fatalf("J = %v: %+v", j, got)
			}
			return
		}
		if !near(got.Level.X, (ap+c.TrueNegative/negatives-1)/j) {
			t.Fatalf("%+v", got)
		}
		low, high := slowLangReiczigel(ap, n, c.TruePositive, positives, c.TrueNegative, negatives)
		if got.Interval.Ok() && (math.Abs(got.Interval.Low-low) > 1e-7 || math.Abs(got.Interval.High-high) > 1e-7) {
			t.Fatalf("%+v, want %v..%v", got.Interval, low, high)
		}
	})
}

func TestRoganGladenHits(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	draw := func(n int, p float64) (k float64) {
		for range n {
			if r.Float64() < p {
				k++
			}
		}
		return k
	}
	const truth, se, sp, tries = .3, .85, .8, 2000
	hits := 0
	for range tries {
		tp, tn := draw(60, se), draw(60, sp)
		ap := draw(200, truth*se+(1-truth)*(1-sp)) / 200
		if RoganGladen(ap, 200, Confusion{tp, 60 - tn, 60 - tp, tn}, .95).Interval.Has(truth) {
			hits++
		}
	}
	if share := float64(hits) / tries; share < .93 || share > .99 {
		t.Errorf("hits %.3f of the time", share)
	}
}

func TestRoganGladenUndefined(t *testing.T) {
	good := Confusion{9, 1, 1, 9}
	for name, c := range map[string]struct {
		got  Corrected
		want Absence
	}{
		"no better than chance": {RoganGladen(.5, 100, Confusion{5, 5, 5, 5}, .95), NotBetter},
		"worse":                 {RoganGladen(.5, 100, Confusion{1, 9, 9, 1}, .95), NotBetter},
		"no positives":          {RoganGladen(.5, 100, Confusion{0, 5, 0, 5}, .95), NoPositives},
		"no negatives":          {RoganGladen(.5, 100, Confusion{5, 0, 5, 0}, .95), NoNegatives},
		"nothing graded":        {RoganGladen(.5, 0, good, .95), NothingObserved},
		"no rate":               {RoganGladen(math.NaN(), 100, good, .95), OutOfRange},
	} {
		if c.got.Level.Absent != c.want || c.got.Interval.Absent != c.want {
			t.Errorf("%s: %+v", name, c.got)
		}
	}
	if v, i := RoganGladenKnown(.5, Wilson(5, 10, .95), .4, .5); v.Absent != NotBetter || i.Absent != NotBetter {
		t.Errorf("%v %v", v, i)
	}
	if v, i := RoganGladenKnown(.5, noInterval(NothingObserved, .95), .9, .9); !v.Ok() || i.Absent != NothingObserved {
		t.Errorf("%v %v", v, i)
	}
}
