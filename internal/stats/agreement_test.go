package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestReferenceKappa(t *testing.T) {
	type one struct {
		Table                       [][]int64
		Kappa, ASE, Lo, Hi, ASE0, Z float64
		P                           float64   `json:"p2"`
		WeightedLinear              []float64 `json:"weighted_linear"`
	}
	sas := reference[one](t, "kappa_sas_statsmodels")
	for id, want := range map[string]one{
		"sas": sas, "fleiss": reference[one](t, "kappa_fleiss1981"), "2x2": reference[one](t, "kappa_wikipedia_2x2"),
	} {
		got := Kappa(want.Table, Unweighted, .95)
		printedValue(t, id, got.Kappa, want.Kappa, 1e-12)
		printedValue(t, id+" SE", got.SE, want.ASE, 1e-12)
		printedInterval(t, id, got.Interval, []float64{want.Lo, want.Hi}, 1e-9)
		if want.ASE0 != 0 {
			printedValue(t, id+" SE0", got.SE0, want.ASE0, 1e-12)
			printedValue(t, id+" z", got.Z, want.Z, 1e-12)
		}
		if want.P != 0 {
			printedValue(t, id+" p", got.P, want.P, 1e-9)
		}
		if want.WeightedLinear != nil {
			linear := Kappa(want.Table, Linear, .95)
			printedValue(t, id+" linear", linear.Kappa, want.WeightedLinear[0], 1e-12)
			printedValue(t, id+" linear SE", linear.SE, want.WeightedLinear[1], 1e-12)
		}
	}
	// The print-out of SAS for linear weights, as README.md quotes it.
	linear := Kappa(sas.Table, Linear, .95)
	for _, x := range []struct {
		got  Value
		want float64
	}{{linear.Kappa, .4701}, {linear.SE, .1457}, {Known(linear.Interval.Low), .1845}, {Known(linear.Interval.High), .7558}, {linear.SE0, .1426}, {linear.Z, 3.2971}} {
		if math.Abs(x.got.X-x.want) > .51e-4 {
			t.Errorf("SAS linear: %v, want %v", x.got, x.want)
		}
	}

	vcd := reference[struct {
		Table                [][]int64
		Unweighted, Weighted []float64
		CI                   [][]float64
	}](t, "vcd_SexualFun")
	for i, w := range []Weights{Unweighted, Linear} {
		got, want := Kappa(vcd.Table, w, .95), [][]float64{vcd.Unweighted, vcd.Weighted}[i]
		printedValue(t, "vcd", got.Kappa, want[0], 1e-12)
		printedValue(t, "vcd SE", got.SE, want[1], 1e-12)
		printedInterval(t, "vcd", got.Interval, vcd.CI[i], 1e-9)
	}

	arb := reference[struct {
		Table      [][]int64 `json:"table_first_by_second_row"`
		Kappa, ASE float64
	}](t, "arb")
	got := Kappa(arb.Table, Unweighted, .95)
	printedValue(t, "arb", got.Kappa, arb.Kappa, 1e-12)
	printedValue(t, "arb SE", got.SE, arb.ASE, 1e-12)

	kappaOfIRR(t)
	kappaOfPsych(t)
}

// irr drops the category that nobody used.
func kappaOfIRR(t *testing.T) {
	irr := reference[struct {
		Rater2, Rater3 []int
		Published      map[string][]float64 `json:"published_irr"`
		Computed       map[string][]float64
	}](t, "kappa_anxiety_irr")
	used := slices.Concat(irr.Rater2, irr.Rater3)
	slices.Sort(used)
	used = slices.Compact(used)
	table := make([][]int64, len(used))
	for i := range table {
		table[i] = make([]int64, len(used))
	}
	for i := range irr.Rater2 {
		table[slices.Index(used, irr.Rater2[i])][slices.Index(used, irr.Rater3[i])]++
	}
	for name, w := range map[string]Weights{"unweighted": Unweighted, "equal": Linear, "squared": Quadratic} {
		got := Kappa(table, w, .95)
		for i, x := range []Value{got.Kappa, got.Z, got.P} {
			printedValue(t, "irr "+name, x, irr.Computed[name][i], 1e-9)
			if want := irr.Published[name][i]; math.Abs(x.X-want) > 1e-6*math.Abs(want)+.51e-9 {
				t.Errorf("irr %s: %v, published %v", name, x.X, want)
			}
		}
	}
}

func kappaOfPsych(t *testing.T) {
	psych := reference[struct {
		Table           [][]int64
		Kappa, Weighted float64
		Var, VarW       float64
		Confid          [][]float64
	}](t, "psych_cohen")
	a, b := Kappa(psych.Table, Unweighted, .95), Kappa(psych.Table, Quadratic, .95)
	printedValue(t, "psych", a.Kappa, psych.Kappa, 1e-12)
	printedValue(t, "psych weighted", b.Kappa, psych.Weighted, 1e-12)
	printedValue(t, "psych variance", Known(sq(a.SE.X)), psych.Var, 1e-12)
	printedInterval(t, "psych", a.Interval, []float64{psych.Confid[0][0], psych.Confid[0][2]}, 1e-9)
	// psych's variance of the weighted kappa is 6 % below that of Fleiss, Cohen and Everitt, which SAS, vcd and the
	// delta method (TestKappaIsItsDefinition) agree on: it is not matched.
	if v := sq(b.SE.X) / psych.VarW; v < 1.06 || v > 1.07 {
		t.Errorf("psych's weighted variance is no longer the odd one: ours over its %v", v)
	}
}

func genTable(t *rapid.T) [][]int64 {
	k := rapid.IntRange(1, 5).Draw(t, "categories")
	out := make([][]int64, k)
	for i := range out {
		out[i] = rapid.SliceOfN(rapid.Int64Range(0, 9), k, k).Draw(t, "row")
	}
	return out
}

// The slow definition: kappa over units, and its error by the delta method with derivatives taken numerically.
func TestKappaIsItsDefinition(t *testing.T) {
	custom := [][]float64{{1, .3, 0, 0, .1}, {.3, 1, .6, 0, 0}, {.2, .6, 1, .5, 0}, {0, 0, .5, 1, .7}, {0, 0, .1, .7, 1}}
	rapid.Check(t, func(t *rapid.T) {
		table := genTable(t)
		k := len(table)
		weights := map[string]Weights{"unweighted": Unweighted, "linear": Linear, "quadratic": Quadratic, "custom": Custom(custom)}
		name := rapid.SampledFrom([]string{"unweighted", "linear", "quadratic", "custom"}).Draw(t, "weights")
		w := weights[name]
		var units [][2]int
		p := make([]float64, 0, k*k)
		for i := range table {
			for j, n := range table[i] {
				for range n {
					units = append(units, [2]int{i, j})
				}
			}
		}
		for i := range table {
			for _, n := range table[i] {
				p = append(p, float64(n)/float64(len(units)))
			}
		}
		got := Kappa(table, w, .95)
		if len(units) == 0 {
			if got.Kappa.Absent != NothingPaired {
				t.Fatalf("%+v", got)
			}
			return
		}
		var po, pe float64
		for _, a := range units {
			po += w(a[0], a[1], k)
			for _, b := range units {
				pe += w(a[0], b[1], k)
			}
		}
		n := float64(len(units))
		po, pe = po/n, pe/n/n
		if 1-pe < 1e-9 {
			if got.Kappa.Absent != NoVariation {
				t.Fatalf("%+v", got)
			}
			return
		}
		if !near(got.Kappa.X, (po-pe)/(1-pe)) || !near(got.Observed.X, po) || !near(got.Chance.X, pe) {
			t.Fatalf("%+v, want %v", got, (po-pe)/(1-pe))
		}
		of := func(p []float64) float64 {
			var sum, po, pe float64
			for _, x := range p {
				sum += x
			}
			for i := range k {
				for j := range k {
					po += w(i, j, k) * p[i*k+j] / sum
					for l := range k * k {
						for m := range k {
							if l/k == i {
								pe += w(i, j, k) * p[l] * p[m*k+j] / sum / sum
							}
						}
					}
				}
			}
			return (po - pe) / (1 - pe)
		}
		var mean, square float64
		const step = 1e-5
		for i := range p {
			up, down := slices.Clone(p), slices.Clone(p)
			up[i] += step
			down[i] -= step
			d := (of(up) - of(down)) / (2 * step)
			mean += p[i] * d
			square += p[i] * d * d
		}
		se := math.Sqrt(max(square-mean*mean, 0) / n)
		if got.SE.Ok() && math.Abs(got.SE.X-se) > 1e-5*(1+se) || !got.SE.Ok() && se > 1e-4 {
			t.Fatalf("SE %v, by the delta method %v", got.SE, se)
		}
		for _, v := range []Value{got.Kappa, got.SE, got.SE0, got.Z, got.P} {
			if !finite(v.X) {
				t.Fatalf("%+v", got)
			}
		}
	})
}

func TestKappaUndefined(t *testing.T) {
	for name, c := range map[string]struct {
		table     [][]int64
		kappa, se Absence
	}{
		"nothing":          {nil, NothingPaired, NothingPaired},
		"empty":            {[][]int64{{0, 0}, {0, 0}}, NothingPaired, NothingPaired},
		"not square":       {[][]int64{{1, 2}, {3}}, OutOfRange, OutOfRange},
		"negative":         {[][]int64{{1, -2}, {3, 4}}, OutOfRange, OutOfRange},
		"one category":     {[][]int64{{9, 0}, {0, 0}}, NoVariation, NoVariation},
		"full agreement":   {[][]int64{{9, 0}, {0, 3}}, Defined, NoDisagreement},
		"the first is mad": {[][]int64{{4, 5}, {0, 0}}, Defined, NoVariation},
	} {
		got := Kappa(c.table, Unweighted, .95)
		if got.Kappa.Absent != c.kappa || got.SE.Absent != c.se || got.Interval.Absent != c.se {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := Kappa([][]int64{{9, 0}, {0, 0}}, Unweighted, .95); !got.Raw.Ok() || got.Observed.X != 1 {
		t.Errorf("raw agreement is known: %+v", got)
	}
}

// With equal weights it is Kappa.
func TestWeighKappa(t *testing.T) {
	table := [][]int64{{20, 5, 1}, {10, 15, 4}, {0, 3, 9}}
	var n float64
	weighed := make([][]float64, 3)
	for i, row := range table {
		for _, x := range row {
			weighed[i] = append(weighed[i], 2.5*float64(x))
			n += float64(x)
		}
	}
	for name, w := range map[string]Weights{"unweighted": Unweighted, "quadratic": Quadratic} {
		want, got := Kappa(table, w, 0.95), WeighKappa(weighed, n, w, 0.95)
		if math.Abs(want.Kappa.X-got.Kappa.X) > 1e-12 || math.Abs(want.Interval.Low-got.Interval.Low) > 1e-12 || want.N != got.N || math.Abs(want.Raw.Low-got.Raw.Low) > 1e-12 {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if a := WeighKappa(weighed, 10, Unweighted, 0.95); a.Interval.Width() <= Kappa(table, Unweighted, 0.95).Interval.Width() {
		t.Error("fewer units are surer")
	}
	// One rater said the same of all: kappa is 0 whatever the weights are, and nothing says how sure that is.
	if a := WeighKappa([][]float64{{0.1 + 0.2, 0}, {41.7 / 3, 0}}, 17.3, Unweighted, 0.95); math.Abs(a.Kappa.X) > 1e-12 || a.Interval.Ok() {
		t.Errorf("one answer only: %+v", a)
	}
	if a := WeighKappa([][]float64{{0, 0}, {0, 0}}, 1, Unweighted, 0.95); a.Kappa.Absent != NothingPaired {
		t.Errorf("nothing: %s", a.Kappa.Absent)
	}
}
