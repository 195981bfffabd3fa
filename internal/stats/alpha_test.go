package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestReferenceAlpha(t *testing.T) {
	c := reference[struct {
		Ratings                           [][]*float64 `json:"ratings_by_observer"`
		Nominal, Ordinal, Interval, Ratio float64
	}](t, "krippendorff_2011_C")
	units := make([][]float64, len(c.Ratings[0]))
	for _, observer := range c.Ratings {
		for u, x := range observer {
			if x != nil {
				units[u] = append(units[u], *x)
			}
		}
	}
	for metric, want := range map[Metric]float64{Nominal: c.Nominal, Ordinal: c.Ordinal, IntervalM: c.Interval, RatioM: c.Ratio} {
		got := Alpha(units, metric, 200, 1, .95)
		printedValue(t, "alpha", got.Alpha, want, 1e-12)
		if got.Units != 11 || got.Ratings != 40 || !got.Interval.Has(want) {
			t.Errorf("%+v", got)
		}
	}
	// Fleiss' kappa is not here; nominal alpha of complete ratings is 1 - (1-kappa)(n-1)/n with n ratings.
	fleiss := reference[struct {
		Table [][]int
		Kappa float64
	}](t, "fleiss_wikipedia")
	units, n := nil, 0.0
	for _, row := range fleiss.Table {
		var u []float64
		for category, count := range row {
			for range count {
				u = append(u, float64(category))
			}
		}
		n += float64(len(u))
		units = append(units, u)
	}
	got := Alpha(units, Nominal, 200, 1, .95)
	printedValue(t, "Fleiss", Known(1-(1-got.Alpha.X)*n/(n-1)), fleiss.Kappa, 1e-12)
}

// slowAlpha goes through the matrix of coincidences, with the ordinal distance as Krippendorff writes it.
func slowAlpha(units [][]float64, metric Metric) float64 {
	at := map[float64]int{}
	var values []float64
	for _, u := range units {
		if len(u) > 1 {
			values = append(values, u...)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	for i, x := range values {
		at[x] = i
	}
	o := make([][]float64, len(values))
	for i := range o {
		o[i] = make([]float64, len(values))
	}
	for _, u := range units {
		for i := range u {
			for j := range u {
				if i != j {
					o[at[u[i]]][at[u[j]]] += 1 / float64(len(u)-1)
				}
			}
		}
	}
	count, n := make([]float64, len(values)), 0.0
	for i := range o {
		for _, x := range o[i] {
			count[i] += x
			n += x
		}
	}
	var above, below float64
	for i := range o {
		for j := range o {
			d := 0.0
			switch metric {
			case Nominal:
				if i != j {
					d = 1
				}
			case Ordinal:
				for g := min(i, j); g <= max(i, j); g++ {
					d += count[g]
				}
				d = sq(d - (count[i]+count[j])/2)
			case IntervalM:
				d = sq(values[i] - values[j])
			case RatioM:
				if i != j {
					d = sq((values[i] - values[j]) / (values[i] + values[j]))
				}
			}
			above += o[i][j] * d
			below += count[i] * count[j] * d
		}
	}
	return 1 - (n-1)*above/below
}

func TestAlphaIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.Float64Range(.1, 3).Draw(t, "scale")
		var units [][]float64
		for range rapid.IntRange(0, 12).Draw(t, "units") {
			u := []float64{}
			for range rapid.IntRange(0, 4).Draw(t, "raters") {
				u = append(u, scale*float64(rapid.IntRange(0, 4).Draw(t, "rating")))
			}
			units = append(units, u)
		}
		metric := rapid.SampledFrom([]Metric{Nominal, Ordinal, IntervalM, RatioM}).Draw(t, "metric")
		got := Alpha(units, metric, 40, 9, .9)
		if !finite(got.Alpha.X, got.Interval.Low, got.Interval.High) {
			t.Fatalf("%+v", got)
		}
		want := slowAlpha(units, metric)
		if got.Alpha.Ok() == math.IsNaN(want) || got.Alpha.Ok() && math.Abs(got.Alpha.X-want) > 1e-9*(1+math.Abs(want)) {
			t.Fatalf("%+v, want %v", got, want)
		}
		r := rand.New(rand.NewPCG(3, rapid.Uint64().Draw(t, "seed")))
		other := make([][]float64, len(units))
		for i, u := range units {
			other[i] = slices.Clone(u)
			r.Shuffle(len(u), func(a, b int) { other[i][a], other[i][b] = other[i][b], other[i][a] })
		}
		r.Shuffle(len(other), func(a, b int) { other[a], other[b] = other[b], other[a] })
		if again := Alpha(other, metric, 40, 9, .9); again != got {
			t.Fatalf("order matters: %+v and %+v", got, again)
		}
	})
}

func TestAlphaUndefined(t *testing.T) {
	many := func(u ...float64) (out [][]float64) {
		for range 10 {
			out = append(out, u)
		}
		return out
	}
	for name, c := range map[string]struct {
		units           [][]float64
		alpha, interval Absence
	}{
		"nothing":             {nil, NothingPaired, NothingPaired},
		"rated once":          {[][]float64{{1}, {2}}, NothingPaired, NothingPaired},
		"all the same":        {many(2, 2), NoVariation, NoVariation},
		"all agree":           {append(many(2, 2), many(3, 3)...), Defined, NoDisagreement},
		"few":                 {[][]float64{{1, 2}, {2, 2}, {3, 3}}, Defined, TooFewClusters},
		"not a number":        {[][]float64{{1, math.NaN()}}, NotFinite, NotFinite},
		"one differing value": {append(many(2, 2), []float64{2, 3}), Defined, NoVariation}, // many draws lack it
	} {
		got := Alpha(c.units, Nominal, 200, 1, .95)
		if got.Alpha.Absent != c.alpha || got.Interval.Absent != c.interval {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := Alpha([][]float64{{-1, 2}}, RatioM, 10, 1, .95); got.Alpha.Absent != OutOfRange {
		t.Errorf("a negative ratio: %+v", got)
	}
}
