package stats

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestReferenceBinomial(t *testing.T) {
	type interval struct {
		Wilson          []float64
		ClopperPearson_ []float64 `json:"clopper_pearson"`
	}
	for id, x := range map[string][2]float64{
		"newcombe_81_263": {81, 263}, "newcombe_15_148": {15, 148}, "newcombe_0_20": {0, 20}, "newcombe_1_29": {1, 29},
	} {
		want := reference[interval](t, id)
		printedInterval(t, id+" wilson", Wilson(x[0], x[1], .95), want.Wilson, 1e-9)
		printedInterval(t, id+" exact", ClopperPearson(x[0], x[1], .95), want.ClopperPearson_, 1e-9)
	}
	for _, file := range []struct {
		name            string
		of              map[string]func(k, n, confidence float64) Interval
		digits, covered float64
	}{
		{"newcombe1998_table1.csv", map[string]func(k, n, confidence float64) Interval{"wilson": Wilson, "clopper_pearson": ClopperPearson}, 4, 0},
		{"binom_intervals_R_binom.csv", map[string]func(k, n, confidence float64) Interval{"wilson": Wilson, "exact": ClopperPearson}, 7, 0},
	} {
		rows, covered := inputs(t, file.name), 0
		for i := range rows.rows {
			f, ok := file.of[rows.text(i, "method")]
			if !ok {
				continue
			}
			covered++
			k, n := rows.number(i, "x"), rows.number(i, "n")
			got, half := f(k, n, .95), .51*math.Pow(10, -file.digits)
			if math.Abs(got.Low-rows.number(i, "lo")) > half || math.Abs(got.High-rows.number(i, "hi")) > half {
				t.Errorf("%s row %d %s %v/%v: %v..%v", file.name, i, rows.text(i, "method"), k, n, got.Low, got.High)
			}
		}
		if covered < 8 {
			t.Errorf("%s: only %d rows were looked at", file.name, covered)
		}
	}
}

// mass is P(X = k), multiplied out.
func mass(k, n int64, p float64) float64 {
	x := 1.0
	for i := range k {
		x *= float64(n-i) / float64(k-i) * p
	}
	return x * math.Pow(1-p, float64(n-k))
}

func TestBinomialSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 40).Draw(t, "n")
		k, p := rapid.Int64Range(0, n).Draw(t, "k"), rapid.Float64Range(.02, .98).Draw(t, "p")
		var below, above, unlikely float64
		for i := range n + 1 {
			x := mass(i, n, p)
			if i <= k {
				below += x
			}
			if i >= k {
				above += x
			}
			if x <= mass(k, n, p)*(1+1e-7) {
				unlikely += x
			}
		}
		if !near(binomialAtMost(k, n, p), below) || !near(binomialTail(k, n, p), above) || !near(binomialTest(k, n, p), min(unlikely, 1)) {
			t.Fatalf("%v of %v at %v: %v %v %v, want %v %v %v", k, n, p,
				binomialAtMost(k, n, p), binomialTail(k, n, p), binomialTest(k, n, p), below, above, unlikely)
		}
	})
}

// Not by simulation: all outcomes, each with its chance.
func TestShareIntervalHits(t *testing.T) {
	for _, n := range []int64{1, 3, 10, 22, 30, 60, 150, 500} {
		intervals := make([]Interval, n+1)
		for k := range intervals {
			intervals[k] = ShareInterval(float64(k), float64(n), .95)
		}
		least := 1.0
		for i := 1; i < 1000; i++ {
			p, hit := float64(i)/1000, 0.0
			for k, x := range intervals {
				if x.Has(p) {
					hit += binomialMass(int64(k), n, p)
				}
			}
			least = min(least, hit)
		}
		if least < .93 {
			t.Errorf("n = %d: hits %.4f of the time", n, least)
		}
		t.Log(fmt.Sprintf("n = %d: at least %.4f", n, least))
	}
}
