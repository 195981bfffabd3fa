package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestReferencePredictionPower(t *testing.T) {
	type one struct {
		N, Alpha    float64
		TrueMean    float64                           `json:"true_mean_all_419"`
		JudgeOnly   float64                           `json:"judge_only_mean_unlabelled"`
		Classical   []float64                         `json:"classical_ci"`
		ClassicalAt float64                           `json:"classical_point"`
		FullPoint   float64                           `json:"ppi_lam1_point"`
		Full        []float64                         `json:"ppi_lam1_ci"`
		TunedPoint  float64                           `json:"ppi_tuned_point"`
		Tuned       []float64                         `json:"ppi_tuned_ci"`
		RoganGladen struct{ TPR, TNR, Theta float64 } `json:"rogan_gladen"`
	}
	check := func(id string, y, f, g []float64) one {
		want := reference[one](t, id)
		full := PredictionPower(y, f, g, Known(1), 1-want.Alpha)
		printedValue(t, id+" full", full.Level, want.FullPoint, 1e-12)
		printedInterval(t, id+" full", full.Interval, want.Full, 1e-9)
		tuned := PredictionPower(y, f, g, None(NoInterval), 1-want.Alpha)
		printedValue(t, id+" tuned", tuned.Level, want.TunedPoint, 1e-12)
		printedInterval(t, id+" tuned", tuned.Interval, want.Tuned, 1e-9)
		printedInterval(t, id+" classical", PredictionPower(y, f, g, Known(0), 1-want.Alpha).Interval, want.Classical, 1e-9)
		return want
	}
	var y, f, g []float64
	var all float64
	var c Confusion
	for i, v := range llmbar(t)["GPT-4/Vanilla"] {
		truth, test := float64(2-v.human), float64(2-v.ab)
		all += truth / 419
		if i%4 != 0 {
			g = append(g, test)
			continue
		}
		y, f = append(y, truth), append(f, test)
		*[]*float64{&c.TrueNegative, &c.FalsePositive, &c.FalseNegative, &c.TruePositive}[2*int(truth)+int(test)]++
	}
	want := check("ppi_llmbar_gpt4", y, f, g)
	printed(t, "truth", all, want.TrueMean, 1e-12)
	printed(t, "judge alone", total(g)/float64(len(g)), want.JudgeOnly, 1e-12)
	printed(t, "labels alone", total(y)/float64(len(y)), want.ClassicalAt, 1e-12)
	rg := RoganGladen(want.JudgeOnly, float64(len(g)), c, .95)
	printedValue(t, "Rogan-Gladen", rg.Level, want.RoganGladen.Theta, 1e-12)
	printedValue(t, "TPR", c.Of(.95).Sensitivity.Value, want.RoganGladen.TPR, 1e-12)
	printedValue(t, "TNR", c.Of(.95).Specificity.Value, want.RoganGladen.TNR, 1e-12)

	rows := inputs(t, "ppi_forest_badmodel.csv")
	y, f, g = nil, nil, nil
	for i := range rows.rows {
		if i < 100 {
			y, f = append(y, rows.number(i, "Y")), append(f, rows.number(i, "Yhat"))
		} else {
			g = append(g, rows.number(i, "Yhat"))
		}
	}
	check("ppi_forest_badmodel", y, f, g)
	if tuned := PredictionPower(y, f, g, None(NoInterval), .9); tuned.Lambda != Known(0) {
		t.Errorf("a useless test must not help: %+v", tuned)
	}
}

// The definition, and that the tuned lambda is where the variance is least.
func TestPredictionPowerIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(-4, 4)
		n := rapid.IntRange(2, 20).Draw(t, "n")
		y, f := rapid.SliceOfN(number, n, n).Draw(t, "y"), rapid.SliceOfN(number, n, n).Draw(t, "f")
		g := rapid.SliceOfN(number, 2, 40).Draw(t, "g")
		lambda := rapid.Float64Range(0, 1).Draw(t, "lambda")
		slow := func(lambda float64) (mean, se float64) {
			var my, mf, mg, ve, vg float64
			for i := range y {
				my, mf = my+y[i]/float64(n), mf+f[i]/float64(n)
			}
			for _, x := range g {
				mg += x / float64(len(g))
			}
			for i := range y {
				ve += sq(y[i]-lambda*f[i]-my+lambda*mf) / float64(n)
			}
			for _, x := range g {
				vg += sq(x-mg) / float64(len(g))
			}
			return lambda*mg + my - lambda*mf, math.Sqrt(lambda*lambda*vg/float64(len(g)) + ve/float64(n))
		}
		got := PredictionPower(y, f, g, Known(lambda), .95)
		mean, se := slow(lambda)
		if !near(got.Level.X, mean) || math.Abs(got.SE.X-se) > 1e-8 {
			t.Fatalf("%+v, want %v SE %v", got, mean, se)
		}
		again := PredictionPower(append(y[1:len(y):len(y)], y[0]), append(f[1:len(f):len(f)], f[0]), append(g[1:len(g):len(g)], g[0]), Known(lambda), .95)
		if again != got {
			t.Fatalf("order matters: %+v and %+v", got, again)
		}
		tuned := PredictionPower(y, f, g, None(NoInterval), .95)
		if tuned.Lambda.X < 0 || tuned.Lambda.X > 1 || !finite(tuned.SE.X, tuned.Level.X) {
			t.Fatalf("%+v", tuned)
		}
	})
}

func TestPredictionPowerUndefined(t *testing.T) {
	for name, c := range map[string]struct {
		y, f, g         []float64
		level, interval Absence
	}{
		"no labels":    {nil, nil, []float64{1}, NoLabels, NoLabels},
		"one label":    {[]float64{1}, []float64{1}, []float64{1}, NoLabels, NoLabels},
		"no scores":    {[]float64{1, 0}, []float64{1, 0}, nil, NothingObserved, NothingObserved},
		"not a number": {[]float64{1, math.NaN()}, []float64{1, 0}, []float64{1}, NotFinite, NotFinite},
		"unequal":      {[]float64{1, 0}, []float64{1}, []float64{1}, OutOfRange, OutOfRange},
		"all the same": {[]float64{1, 1}, []float64{1, 1}, []float64{1, 1}, Defined, NoVariation},
	} {
		got := PredictionPower(c.y, c.f, c.g, None(NoInterval), .95)
		if got.Level.Absent != c.level || got.Interval.Absent != c.interval {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// scoredFrame is a population of scores in strata, its capped sample and labels for some of it.
func scoredFrame(r *rand.Rand, strata, users int, noise float64, chance func(test float64) float64) (sample []Stratum, cells []Cell, labels []ScoreLabel, truth float64) {
	at := map[[2]int]*Cell{}
	size := 0.0
	for h := range strata {
		n := 40 + 400*(h%3)
		s := Stratum{Size: int64(n), Drawn: 40, Observed: 40, Domain: 40}
		for i := range n {
			user := r.IntN(users)
			y := min(max(.5+.1*float64(h%3)+.15*r.NormFloat64(), 0), 1)
			f := min(max(y+noise*r.NormFloat64(), 0), 1)
			truth, size = truth+y, size+1
			if i >= 40 {
				continue
			}
			s.Sum, s.Squares = s.Sum+f, s.Squares+f*f
			k := [2]int{user, h}
			if at[k] == nil {
				at[k] = &Cell{User: user, Stratum: h}
			}
			at[k].Domain++
			at[k].Sum += f
			if p := chance(f); r.Float64() < p {
				labels = append(labels, ScoreLabel{Stratum: h, User: user, Test: f, Truth: y, Probability: p})
			}
		}
		sample = append(sample, s)
	}
	for _, c := range at {
		cells = append(cells, *c)
	}
	return sample, cells, labels, truth / size
}

func TestPredictionPoweredHits(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for name, c := range map[string]struct {
		noise  float64
		chance func(float64) float64
		narrow float64 // at most this share of the width that labels alone give
	}{
		"a good test":              {.05, func(float64) float64 { return .25 }, .75},
		"a useless test":           {9, func(float64) float64 { return .25 }, 1.03},
		"labels drawn by the test": {.1, func(f float64) float64 { return .1 + .5*(1-f) }, .95},
	} {
		const tries = 400
		hits, width, alone := 0, 0.0, 0.0
		for seed := range uint64(tries) {
			sample, _, labels, truth := scoredFrame(r, 9, 200, c.noise, c.chance)
			got := PredictionPowered(sample, nil, labels, Window, Known(0), Known(1), seed, .95)
			if got.Interval.Has(truth) {
				hits++
			}
			width += got.Interval.Width()
			var scores []Score
			for _, l := range labels {
				scores = append(scores, Score{Weight: float64(sample[l.Stratum].Size) / l.Probability, X: l.Truth})
			}
			alone += MeanScore(scores).T(.95).Width()
		}
		if share := float64(hits) / tries; share < .92 || width > c.narrow*alone {
			t.Errorf("%s: hits %.3f of the time, with %.3f of the width of labels alone", name, share, width/alone)
		}
	}
}

func TestPredictionPoweredInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 11))
	for _, target := range []Target{Window, Process} {
		sample, cells, labels, _ := scoredFrame(r, 6, 40, .1, func(float64) float64 { return .3 })
		got := PredictionPowered(sample, cells, labels, target, Known(0), Known(1), 5, .95)
		other := append([]ScoreLabel{}, labels...)
		r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		again := PredictionPowered(sample, cells, other, target, Known(0), Known(1), 5, .95)
		if got != again || !got.Interval.Has(got.Level.X) {
			t.Errorf("%s: %+v and %+v", target, got, again)
		}
	}
}

func TestPredictionPoweredUndefined(t *testing.T) {
	strata := []Stratum{{Size: 100, Drawn: 20, Observed: 20, Domain: 20, Sum: 20, Squares: 20}}
	label := func(f, y, p float64) ScoreLabel { return ScoreLabel{Test: f, Truth: y, Probability: p} }
	same := []ScoreLabel{label(1, 1, .5), label(1, 1, .5), label(1, 1, .5)}
	for name, c := range map[string]struct {
		strata          []Stratum
		labels          []ScoreLabel
		least           Value
		level, interval Absence
	}{
		"nothing":              {nil, same, Known(0), NoPopulation, NoPopulation},
		"no labels":            {strata, nil, Known(0), NoLabels, NoLabels},
		"one label":            {strata, same[:1], Known(0), NoLabels, NoLabels},
		"no chance":            {strata, []ScoreLabel{label(1, 1, 0), label(1, 1, 1)}, Known(0), NoProbability, NoProbability},
		"not a number":         {strata, []ScoreLabel{label(1, math.NaN(), 1)}, Known(0), NotFinite, NotFinite},
		"no such stratum":      {strata, []ScoreLabel{{Stratum: 3, Probability: 1}}, Known(0), OutOfRange, OutOfRange},
		"the same, no limits":  {strata, same, None(Unbounded), Defined, NoVariation},
		"the same, and limits": {strata, same, Known(0), Defined, Defined},
	} {
		got := PredictionPowered(c.strata, nil, c.labels, Window, c.least, Known(1), 1, .95)
		if got.Level.Absent != c.level || got.Interval.Absent != c.interval || !finite(got.Level.X, got.SE.X) {
			t.Errorf("%s: %+v", name, got)
		}
		if name == "the same, and limits" && got.Interval.Width() < .2 {
			t.Errorf("three labels that agree do not prove a mean: %+v", got.Interval)
		}
	}
}
