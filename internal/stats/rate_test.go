package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// One busy day with 20,000 of 22,650 sessions passes at 0.9, thirteen others at 0.5; the cap is 100
// a day. The plain mean over the sample says 0.53, the truth is 0.853.
func TestRateWeighsByPopulation(t *testing.T) {
	var strata []Stratum
	for d := range 13 {
		strata = append(strata, Stratum{Label: fmt.Sprint(d), Line: "a", Size: 2650 / 13, Drawn: 100, Observed: 100, Domain: 100, Sum: 50})
	}
	strata = append(strata, Stratum{Label: "busy", Line: "a", Size: 20_000, Drawn: 100, Observed: 100, Domain: 100, Sum: 90})
	got := Rate(strata)
	want := (13*203*0.5 + 20_000*0.9) / (13*203 + 20_000)
	if !got.Level.Ok() || !near(got.Level.X, want) {
		t.Errorf("level %+v, want %v", got.Level, want)
	}
	if got.Low != got.High || !near(got.Low.X, want) || !near(got.Coverage.X, 1) {
		t.Errorf("nothing is missing, but bounds are %v..%v and coverage %v", got.Low, got.High, got.Coverage)
	}
}

func TestRateByHand(t *testing.T) {
	for _, c := range []struct {
		name             string
		strata           []Stratum
		level, low, high float64
		coverage         float64
		why              Absence
		merged           string
	}{
		{name: "two strata, some missing",
			strata: []Stratum{
				{Label: "a", Size: 300, Drawn: 10, Observed: 8, Domain: 8, Sum: 4},
				{Label: "b", Size: 100, Drawn: 10, Observed: 10, Domain: 10, Sum: 9}},
			level: .75*.5 + .25*.9, low: .75*.4 + .25*.9, high: .75*.6 + .25*.9, coverage: .75*.8 + .25, merged: "[]"},
		{name: "a domain: the question applies to some",
			strata: []Stratum{
				{Label: "a", Size: 100, Drawn: 10, Observed: 10, Domain: 5, Sum: 5},
				{Label: "b", Size: 100, Drawn: 10, Observed: 10, Domain: 1, Sum: 0}},
			level: .25 / .3, low: .25 / .3, high: .25 / .3, coverage: 1, merged: "[]"},
		{name: "a day without verdicts goes to the larger neighbour, whatever passed there",
			strata: []Stratum{
				{Label: "1", Line: "x", Size: 50, Drawn: 10, Observed: 10, Domain: 10, Sum: 10},
				{Label: "2", Line: "x", Size: 30, Drawn: 10},
				{Label: "3", Line: "x", Size: 120, Drawn: 10, Observed: 10, Domain: 10, Sum: 0}},
			level: .25, low: .25, high: .40, coverage: .85, merged: "[{2 3}]"},
		{name: "equal neighbours: the earlier; runs of empty days reach a full one",
			strata: []Stratum{
				{Label: "1", Line: "x", Size: 10, Drawn: 10, Observed: 10, Domain: 10, Sum: 5},
				{Label: "2", Line: "x", Size: 10, Drawn: 10},
				{Label: "3", Line: "x", Size: 10, Drawn: 10},
				{Label: "4", Line: "y", Size: 10, Drawn: 10, Observed: 1, Domain: 1, Sum: 1}},
			level: .625, low: .125 + .025, high: .125 + .5 + .25, coverage: .25 + .025, merged: "[{2 1} {3 1}]"},
		{name: "the first days are empty",
			strata: []Stratum{
				{Label: "1", Line: "x", Size: 10, Drawn: 10},
				{Label: "2", Line: "x", Size: 10, Drawn: 10},
				{Label: "3", Line: "x", Size: 20, Drawn: 10, Observed: 10, Domain: 10, Sum: 5}},
			level: .5, low: .25, high: .75, coverage: .5, merged: "[{1 2} {2 3}]"},
		{name: "no neighbour to merge with",
			strata: []Stratum{
				{Label: "1", Line: "x", Size: 10, Drawn: 10},
				{Label: "1", Line: "y", Size: 10, Drawn: 10, Observed: 10, Domain: 10, Sum: 5}},
			why: StratumUnobserved, low: .25, high: .75, coverage: .5, merged: "[]"},
		{name: "an undated stratum has no neighbours",
			strata: []Stratum{
				{Label: "1", Line: "x", Size: 10, Drawn: 10, Observed: 10, Domain: 10, Sum: 5},
				{Label: "undated", Size: 10, Drawn: 10}},
			why: StratumUnobserved, low: .25, high: .75, coverage: .5, merged: "[]"},
		{name: "nothing graded",
			strata: []Stratum{{Label: "1", Line: "x", Size: 10, Drawn: 10}},
			why:    NothingObserved, low: 0, high: 1, coverage: 0, merged: "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Rate(c.strata)
			if got.Level.Absent != c.why || (c.why == Defined && !near(got.Level.X, c.level)) {
				t.Errorf("level %+v, want %v %q", got.Level, c.level, c.why)
			}
			if !near(got.Low.X, c.low) || !near(got.High.X, c.high) || !near(got.Coverage.X, c.coverage) {
				t.Errorf("bounds %v..%v coverage %v, want %v..%v %v", got.Low.X, got.High.X, got.Coverage.X, c.low, c.high, c.coverage)
			}
			if s := fmt.Sprint(got.Merged); s != c.merged {
				t.Errorf("merged %s, want %s", s, c.merged)
			}
		})
	}
}

func TestUndefinedIsAbsent(t *testing.T) {
	for _, c := range []struct {
		name   string
		strata []Stratum
		why    Absence
	}{
		{"no strata", nil, NoPopulation},
		{"empty strata", []Stratum{{Label: "a", Line: "x"}}, NoPopulation},
		{"never drawn", []Stratum{{Label: "a", Line: "x", Size: 5}}, NothingObserved},
		{"applies to none", []Stratum{{Label: "a", Line: "x", Size: 5, Drawn: 5, Observed: 5}}, NothingInDomain},
	} {
		got := Rate(c.strata)
		if got.Level.Absent != c.why || got.Level.Pointer() != nil {
			t.Errorf("%s: %+v, want absent %q", c.name, got.Level, c.why)
		}
	}
	got := Mean([]Stratum{{Label: "a", Line: "x", Size: 5, Drawn: 5, Observed: 4, Domain: 4, Sum: 16}}, Known(0), None(Unbounded))
	if !near(got.Level.X, 4) || !near(got.Low.X, 16.0/5) || got.High.Absent != Unbounded {
		t.Errorf("mean without a largest value: %+v", got)
	}
	whole := Mean([]Stratum{{Label: "a", Line: "x", Size: 5, Drawn: 5, Observed: 5, Domain: 5, Sum: 20}}, Known(0), None(Unbounded))
	if !near(whole.Low.X, 4) || !near(whole.High.X, 4) || !whole.High.Ok() {
		t.Errorf("nothing is missing, so nothing is unbounded: %+v", whole)
	}
}

func genStrata(t *rapid.T) []Stratum {
	var out []Stratum
	for i := range rapid.IntRange(0, 12).Draw(t, "strata") {
		h := Stratum{Label: fmt.Sprint(i), Line: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "line")}
		h.Size = rapid.Int64Range(0, 500).Draw(t, "N")
		h.Drawn = rapid.Int64Range(0, min(h.Size, 50)).Draw(t, "n")
		h.Observed = rapid.Int64Range(0, h.Drawn).Draw(t, "observed")
		h.Domain = rapid.Int64Range(0, h.Observed).Draw(t, "domain")
		h.Sum = float64(rapid.Int64Range(0, h.Domain).Draw(t, "hits"))
		out = append(out, h)
	}
	return out
}

func TestRateHoldsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		strata := genStrata(t)
		before := fmt.Sprint(strata)
		e := Rate(strata)
		if fmt.Sprint(strata) != before {
			t.Fatal("the input was changed")
		}
		for _, v := range []Value{e.Level, e.Low, e.High, e.Coverage} {
			if math.IsNaN(v.X) || math.IsInf(v.X, 0) || v.X < -1e-9 || v.X > 1+1e-9 || (!v.Ok() && v.X != 0) {
				t.Fatalf("not a share: %+v of %+v", v, strata)
			}
		}
		if e.Level.Ok() && (e.Level.X < e.Low.X-1e-9 || e.Level.X > e.High.X+1e-9) {
			t.Fatalf("level %v outside its worst cases %v..%v", e.Level.X, e.Low.X, e.High.X)
		}
		if e.Level.Ok() && len(e.Merged) == 0 {
			// The slow definition: every observed unit counts for N_h/observed_h units.
			var sum, n float64
			for _, h := range strata {
				for range h.Domain {
					n += float64(h.Size) / float64(h.Observed)
				}
				for range int64(h.Sum) {
					sum += float64(h.Size) / float64(h.Observed)
				}
			}
			if !near(sum/n, e.Level.X) {
				t.Fatalf("level %v, by definition %v", e.Level.X, sum/n)
			}
		}
	})
}
