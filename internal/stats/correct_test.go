package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// judged is a population in strata, what a test says of a capped sample, and labels for a part of that.
type judged struct {
	strata []Stratum
	cells  []Cell
	labels []Label
	truth  float64
}

type world struct {
	sizes    []int
	cap      int
	rate     func(h int) float64 // of truth
	se, sp   float64
	chance   func(test bool) float64 // of being labelled
	users    int                     // 0: every unit is a user of its own
	together float64                 // how alike the units of a user are
}

func (w world) draw(r *rand.Rand) judged {
	var out judged
	bent := make([]float64, max(w.users, 1))
	for i := range bent {
		bent[i] = w.together * (2*r.Float64() - 1)
	}
	size, at := 0.0, map[[2]int]*Cell{}
	for h, n := range w.sizes {
		s := Stratum{Label: fmt.Sprint(h), Size: int64(n), Drawn: int64(min(n, w.cap))}
		s.Observed, s.Domain = s.Drawn, s.Drawn
		for i := range n {
			user := len(at) + i + 1000*h
			if w.users > 0 {
				user = r.IntN(w.users)
			}
			truth := r.Float64() < w.rate(h)+bent[user%len(bent)]
			if truth {
				out.truth++
			}
			size++
			if i >= w.cap {
				continue
			}
			test := r.Float64() < 1-w.sp
			if truth {
				test = r.Float64() < w.se
			}
			k := [2]int{user, h}
			if at[k] == nil {
				at[k] = &Cell{User: user, Stratum: h}
			}
			at[k].Domain++
			if test {
				s.Sum++
				at[k].Sum++
			}
			if p := w.chance(test); r.Float64() < p {
				out.labels = append(out.labels, Label{Stratum: h, User: user, Test: test, Truth: truth, Probability: p})
			}
		}
		out.strata = append(out.strata, s)
	}
	out.truth /= size
	for _, c := range at {
		out.cells = append(out.cells, *c)
	}
	return out
}

func always(p float64) func(bool) float64 { return func(bool) float64 { return p } }

// The slow definition: each observed unit counts for N_h/n_h, and one without a label for the share of truth
// among labels on its side of the test.
func TestLabelCorrectedIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		p := rapid.Float64Range(.2, 1).Draw(t, "p")
		j := world{
			sizes: []int{rapid.IntRange(1, 30).Draw(t, "N1"), rapid.IntRange(1, 200).Draw(t, "N2")}, cap: 20,
			rate: func(int) float64 { return .4 }, se: .8, sp: .7, chance: func(test bool) float64 {
				if test {
					return p
				}
				return .6
			},
		}.draw(r)
		target := rapid.SampledFrom([]Target{Window, Process}).Draw(t, "target")
		got := LabelCorrected(j.strata, nil, j.labels, target, .95)
		if !finite(got.Level.X, got.Interval.Low, got.Interval.High) {
			t.Fatalf("%+v", got)
		}
		weight := func(h int) float64 { return float64(j.strata[h].Size) / float64(j.strata[h].Observed) }
		var hit, all [2]float64
		for _, l := range j.labels {
			i := 0
			if l.Test {
				i = 1
			}
			w := weight(l.Stratum) / l.Probability
			all[i] += w
			if l.Truth {
				hit[i] += w
			}
		}
		var truth, size float64
		for h, s := range j.strata {
			size += float64(s.Size)
			for i, n := range []float64{float64(s.Observed) - s.Sum, s.Sum} {
				if n > 0 {
					truth += weight(h) * n * hit[i] / all[i]
				}
			}
		}
		if len(j.labels) == 0 || math.IsNaN(truth) {
			if got.Level.Ok() {
				t.Fatalf("%+v of %+v", got, j)
			}
			return
		}
		if !near(got.Level.X, truth/size) {
			t.Fatalf("%+v, want %v of %+v", got, truth/size, j)
		}
		if got.Interval.Ok() && !got.Interval.Has(got.Level.X) {
			t.Fatalf("%+v", got)
		}
		other := append([]Label{}, j.labels...)
		r.Shuffle(len(other), func(a, b int) { other[a], other[b] = other[b], other[a] })
		if again := LabelCorrected(j.strata, nil, other, target, .95); again != got {
			t.Fatalf("order matters: %+v and %+v", got, again)
		}
	})
}

func TestLabelCorrectedHits(t *testing.T) {
	busy := []int{200, 150, 250, 180, 8000}
	flat := func(int) float64 { return .9 }
	ramp := func(h int) float64 { return .5 + .1*float64(h) }
	for name, w := range map[string]world{
		"a good test":              {sizes: busy, cap: 200, rate: flat, se: .9, sp: .8, chance: always(.12)},
		"a test worse than chance": {sizes: busy, cap: 200, rate: ramp, se: .4, sp: .5, chance: always(.12)},
		"labels drawn by the test": {sizes: busy, cap: 200, rate: ramp, se: .9, sp: .8, chance: func(test bool) float64 {
			if test {
				return .03
			}
			return .4
		}},
		"nearly all true":           {sizes: busy, cap: 100, rate: func(int) float64 { return .995 }, se: .98, sp: .9, chance: always(.2)},
		"a perfect test":            {sizes: busy, cap: 100, rate: ramp, se: 1, sp: 1, chance: always(.1)},
		"users who are alike":       {sizes: busy, cap: 200, rate: func(int) float64 { return .5 }, se: .85, sp: .8, chance: always(.3), users: 60, together: .4},
		"many labels":               {sizes: []int{1000, 1000, 1500}, cap: 400, rate: ramp, se: .9, sp: .8, chance: always(.3)},
		"many labels, useless test": {sizes: []int{1000, 1000, 1500}, cap: 400, rate: ramp, se: .5, sp: .5, chance: always(.3)},
		"all of a small population": {sizes: []int{80, 40}, cap: 100, rate: ramp, se: .9, sp: .8, chance: always(.4)},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(12, 13))
			const tries = 500
			var window, process, none int
			process95 := 0
			for range tries {
				j := w.draw(r)
				got := LabelCorrected(j.strata, nil, j.labels, Window, .95)
				switch {
				case !got.Interval.Ok():
					none++
				case got.Interval.Has(j.truth):
					window++
				}
				mean, size := 0.0, 0.0
				for h, n := range w.sizes {
					mean, size = mean+float64(n)*w.rate(h), size+float64(n)
				}
				cells := j.cells
				if w.users == 0 {
					cells = nil
				}
				if p := LabelCorrected(j.strata, cells, j.labels, Process, .95); p.Interval.Ok() {
					process95++
					if p.Interval.Has(mean / size) {
						process++
					}
				}
			}
			a, b := float64(window)/float64(tries-none), float64(process)/float64(process95)
			t.Logf("window %.3f, process %.3f, none %d", a, b, none)
			if a < .92 || b < .92 || strings.HasPrefix(name, "many") && max(a, b) > .985 {
				t.Errorf("hits %.3f of the window and %.3f of the process", a, b)
			}
		})
	}
}

// 100 random labels on 2,000 verdicts, p = .95 (rule 7): the correction's error is a fraction of what going
// back through sensitivity and specificity makes of it.
func TestLabelCorrectedAgainstRoganGladen(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 15))
	var label, back, n float64
	for range 400 {
		j := world{sizes: []int{2000}, cap: 2000, rate: func(int) float64 { return .95 }, se: .9, sp: .6, chance: always(.05)}.draw(r)
		var c Confusion
		for _, l := range j.labels {
			*map[[2]bool]*float64{
				{true, true}: &c.TruePositive, {true, false}: &c.FalsePositive,
				{false, true}: &c.FalseNegative, {false, false}: &c.TrueNegative,
			}[[2]bool{l.Test, l.Truth}]++
		}
		a := LabelCorrected(j.strata, nil, j.labels, Process, .95)
		b := RoganGladen(j.strata[0].Sum/2000, 2000, c, .95)
		if a.Level.Ok() && b.Level.Ok() {
			n++
			label += math.Abs(a.Level.X - j.truth)
			back += math.Abs(b.Level.X - j.truth)
		}
	}
	if label/n > .025 || back < 2*label {
		t.Errorf("mean error %.3f by labels, %.3f by Rogan and Gladen", label/n, back/n)
	}
}

func TestLabelCorrectedUndefined(t *testing.T) {
	strata := []Stratum{{Size: 100, Drawn: 20, Observed: 20, Domain: 20, Sum: 12}}
	yes, no := Label{Test: true, Truth: true, Probability: .5}, Label{Probability: .5}
	for name, c := range map[string]struct {
		strata          []Stratum
		labels          []Label
		level, interval Absence
	}{
		"nothing":                     {nil, []Label{yes}, NoPopulation, NoPopulation},
		"nothing graded":              {[]Stratum{{Size: 9}}, []Label{yes}, NothingObserved, NothingObserved},
		"no labels":                   {strata, nil, NoLabels, NoLabels},
		"no probability":              {strata, []Label{yes, {Test: true}}, NoProbability, NoProbability},
		"a probability of two":        {strata, []Label{{Probability: 2}}, NoProbability, NoProbability},
		"not a number":                {strata, []Label{{Probability: math.NaN()}}, NoProbability, NoProbability},
		"no such stratum":             {strata, []Label{{Stratum: 1, Probability: 1}}, OutOfRange, OutOfRange},
		"none that tests negative":    {strata, []Label{yes, yes}, NoneNegative, NoneNegative},
		"none that tests positive":    {strata, []Label{no}, NonePositive, NonePositive},
		"all test positive in all":    {[]Stratum{{Size: 9, Drawn: 9, Observed: 9, Domain: 9, Sum: 9}}, []Label{yes, yes}, Defined, Defined},
		"one of each, both are right": {strata, []Label{yes, no}, Defined, Defined},
	} {
		got := LabelCorrected(c.strata, nil, c.labels, Window, .95)
		if got.Level.Absent != c.level || got.Interval.Absent != c.interval || !finite(got.Level.X, got.Interval.Low, got.Interval.High) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	got := LabelCorrected(strata, nil, []Label{yes, no}, Window, .95)
	if got.Interval.Width() < .6 {
		t.Errorf("two labels that are right do not prove the test: %+v", got.Interval)
	}
	whole := []Stratum{{Size: 3, Drawn: 3, Observed: 3, Domain: 3, Sum: 2}}
	sure := []Label{{Test: true, Truth: true, Probability: 1}, {Test: true, Probability: 1}, {Truth: true, Probability: 1}}
	if got := LabelCorrected(whole, nil, sure, Window, .95); got.Interval.Method != MethodCensus || !near(got.Level.X, 2./3) || got.Interval.Width() != 0 {
		t.Errorf("all graded and all labelled: %+v", got)
	}
	if got := LabelCorrected(whole, nil, sure, Process, .95); got.Interval.Width() < .5 {
		t.Errorf("three units do not prove a process: %+v", got)
	}
}
