package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAllocateByHand(t *testing.T) {
	three := []Portion{{Label: "a", Size: 500}, {Label: "b", Size: 300}, {Label: "c", Size: 200}}
	for name, c := range map[string]struct {
		strata []Portion
		total  int64
		split  Split
		want   []int64
	}{
		"proportional":               {three, 100, Proportional, []int64{50, 30, 20}},
		"largest remainder":          {three, 7, Proportional, []int64{4, 2, 1}}, // 3.5, 2.1, 1.4
		"all":                        {three, 5000, Proportional, []int64{500, 300, 200}},
		"equal":                      {three, 90, EqualCap, []int64{30, 30, 30}},
		"one left over":              {three, 91, EqualCap, []int64{31, 30, 30}},
		"a small one whole":          {[]Portion{{Size: 10}, {Size: 500}, {Size: 300}}, 110, EqualCap, []int64{10, 50, 50}},
		"nothing seen":               {three, 100, Neyman, []int64{50, 30, 20}},
		"equal by label":             {[]Portion{{Label: "z", Size: 50}, {Label: "y", Size: 50}}, 3, Proportional, []int64{1, 2}},
		"a quiet stratum gets 5":     {[]Portion{{Size: 1000, Seen: 98, Hits: 49}, {Size: 100, Seen: 998, Hits: 0}}, 50, Neyman, []int64{45, 5}},
		"two of a stratum of two":    {[]Portion{{Size: 1000}, {Size: 2}}, 50, Neyman, []int64{48, 2}},
		"smoothed: .5 against .0995": {[]Portion{{Size: 100, Seen: 98, Hits: 49}, {Size: 100, Seen: 98, Hits: 0}}, 60, Neyman, []int64{50, 10}},
		"an empty stratum":           {[]Portion{{Size: 0}, {Size: 100}}, 10, Neyman, []int64{0, 10}},
	} {
		got, why := Allocate(c.strata, c.total, c.split)
		if why != Defined || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v %q, want %v", name, got, why, c.want)
		}
	}
}

func TestAllocateHoldsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var strata []Portion
		var size, least int64
		for i := range rapid.IntRange(1, 12).Draw(t, "strata") {
			h := Portion{Label: fmt.Sprint(i), Size: rapid.Int64Range(0, 1000).Draw(t, "N"), Seen: rapid.Int64Range(0, 50).Draw(t, "seen")}
			h.Hits = rapid.Int64Range(0, h.Seen).Draw(t, "hits")
			strata = append(strata, h)
			size += h.Size
			least += min(h.Size, LeastPortion)
		}
		total := rapid.Int64Range(0, size+10).Draw(t, "total")
		split := rapid.SampledFrom([]Split{Proportional, EqualCap, Neyman}).Draw(t, "split")
		got, why := Allocate(strata, total, split)
		switch {
		case size == 0:
			if why != NoPopulation {
				t.Fatal(why)
			}
			return
		case split == Neyman && min(total, size) < least:
			if why != Unreachable {
				t.Fatal(why)
			}
			return
		case why != Defined:
			t.Fatal(why)
		}
		var sum int64
		due := make([]float64, len(strata))
		for i, n := range got {
			h := strata[i]
			sum += n
			if n < 0 || n > h.Size || split == Neyman && n < min(h.Size, LeastPortion) {
				t.Fatalf("%v of %+v", got, strata)
			}
			due[i] = map[Split]float64{Proportional: float64(h.Size), EqualCap: 1, Neyman: float64(h.Size) * math.Sqrt(float64(h.Hits+1)*float64(h.Seen-h.Hits+1)) / float64(h.Seen+2)}[split]
		}
		if sum != min(total, size) {
			t.Fatalf("%v sums to %d, not %d", got, sum, min(total, size))
		}
		// Fair: none that could get more is more than one unit below, in units of its due, one that could give.
		for i, a := range got {
			for j, b := range got {
				mayGet, mayGive := a < strata[i].Size, b > 0 && (split != Neyman || b > min(strata[j].Size, LeastPortion))
				if mayGet && mayGive && float64(a+1)/due[i] < float64(b-1)/due[j]-1e-6/min(due[i], due[j]) {
					t.Fatalf("%v of %+v: %d is short of what %d has", got, strata, i, j)
				}
			}
		}
		order := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed"))).Perm(len(strata))
		other := make([]Portion, len(strata))
		for to, from := range order {
			other[to] = strata[from]
		}
		again, _ := Allocate(other, total, split)
		for to, from := range order {
			if again[to] != got[from] {
				t.Fatalf("order matters: %v and, as %v, %v", got, order, again)
			}
		}
	})
}

// Neyman's split has the least variance: no move of a unit makes it smaller by more than rounding.
func TestNeymanIsBest(t *testing.T) {
	strata := []Portion{{Size: 20000, Seen: 48, Hits: 24}, {Size: 4000, Seen: 98, Hits: 9}, {Size: 9000, Seen: 18, Hits: 1}, {Size: 700, Seen: 28, Hits: 14}}
	variance := func(n []int64) (v float64) {
		for i, h := range strata {
			q := float64(h.Hits+1) / float64(h.Seen+2)
			v += sq(float64(h.Size)) * q * (1 - q) / float64(n[i])
		}
		return v
	}
	got, _ := Allocate(strata, 400, Neyman)
	for i := range strata {
		for j := range strata {
			other := slices.Clone(got)
			other[i]++
			other[j]--
			if other[j] >= LeastPortion && variance(other) < variance(got)*(1-1e-3) {
				t.Errorf("%v has less variance than %v", other, got)
			}
		}
	}
	proportional, _ := Allocate(strata, 400, Proportional)
	if variance(got) >= variance(proportional) {
		t.Errorf("%v is no better than %v", got, proportional)
	}
}

func TestAllocateUndefined(t *testing.T) {
	for name, c := range map[string]struct {
		strata []Portion
		total  int64
		split  Split
		want   Absence
	}{
		"nothing":        {nil, 5, Neyman, NoPopulation},
		"negative":       {[]Portion{{Size: -1}}, 5, Neyman, OutOfRange},
		"a total below":  {[]Portion{{Size: 10}}, -5, EqualCap, OutOfRange},
		"too many hits":  {[]Portion{{Size: 10, Seen: 1, Hits: 2}}, 5, Neyman, OutOfRange},
		"too few for it": {[]Portion{{Size: 10}, {Size: 10}}, 9, Neyman, Unreachable},
	} {
		if got, why := Allocate(c.strata, c.total, c.split); why != c.want || got != nil {
			t.Errorf("%s: %v %q", name, got, why)
		}
	}
}
