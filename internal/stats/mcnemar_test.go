package stats

import (
	"testing"

	"pgregory.net/rapid"
)

func TestReferenceMcNemar(t *testing.T) {
	type one struct {
		Table     [][]int64
		Exact     float64    `json:"exact_p"`
		Corrected []*float64 `json:"chi2_cc"`
		Plain     []*float64 `json:"chi2"`
	}
	for _, want := range reference[[]one](t, "mcnemar_vassar_and_R") {
		got := McNemar(want.Table[0][1], want.Table[1][0])
		printedValue(t, "exact", got.Exact, want.Exact, 1e-10)
		if want.Plain[0] == nil {
			if got.ChiSquare.Absent != NoDiscordant || got.P.Absent != NoDiscordant || got.PCorrected.Absent != NoDiscordant {
				t.Errorf("no discordant pair: %+v", got)
			}
			continue
		}
		printedValue(t, "chi-square", got.ChiSquare, *want.Plain[0], 1e-12)
		printedValue(t, "p", got.P, *want.Plain[1], 1e-9)
		printedValue(t, "corrected", got.Corrected, *want.Corrected[0], 1e-12)
		printedValue(t, "p corrected", got.PCorrected, *want.Corrected[1], 1e-9)
	}
	agresti := reference[struct {
		Table  [][]int64
		Chi2   float64
		P      float64
		Chi2CC float64 `json:"chi2_cc"`
		PCC    float64 `json:"p_cc"`
		Exact  float64 `json:"p_exact"`
	}](t, "mcnemar_agresti")
	got := McNemar(agresti.Table[0][1], agresti.Table[1][0])
	printedValue(t, "chi-square", got.ChiSquare, agresti.Chi2, 1e-12)
	printedValue(t, "p", got.P, agresti.P, 1e-9)
	printedValue(t, "corrected", got.Corrected, agresti.Chi2CC, 1e-12)
	printedValue(t, "p corrected", got.PCorrected, agresti.PCC, 1e-9)
	printedValue(t, "exact", got.Exact, agresti.Exact, 1e-10)
}

// The slow definition: go through all outcomes, each as far from the middle as it is.
func TestMcNemarIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, c := rapid.Int64Range(0, 30).Draw(t, "b"), rapid.Int64Range(0, 30).Draw(t, "c")
		got := McNemar(b, c)
		if again := McNemar(c, b); again != got {
			t.Fatalf("sides matter: %+v and %+v", got, again)
		}
		if b+c == 0 {
			if got.Exact != Known(1) || got.MidP.Absent != NoDiscordant {
				t.Fatalf("%+v", got)
			}
			return
		}
		var farther, as float64
		n := b + c
		far := func(k int64) int64 { return max(2*k-n, n-2*k) }
		for k := range n + 1 {
			switch {
			case far(k) > far(b):
				farther += mass(k, n, .5)
			case far(k) == far(b):
				as += mass(k, n, .5)
			}
		}
		if !near(got.Exact.X, farther+as) || !near(got.MidP.X, farther+as/2) {
			t.Fatalf("%+v, want %v and %v", got, farther+as, farther+as/2)
		}
	})
	if got := McNemar(-1, 2); got.Exact.Absent != OutOfRange || got.P.Absent != OutOfRange {
		t.Errorf("%+v", got)
	}
}
