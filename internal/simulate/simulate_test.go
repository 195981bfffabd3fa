package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/internal/stats"
)

const (
	quickTries = 80
	quickSeed  = 5
	mistake    = 4 // standard errors of a hit rate that a quick run allows for
)

// loose are the bounds with what chance may do to so few tries.
func (r result) loose(method int) string {
	off := func(p float64) float64 { return mistake * math.Sqrt(p*(1-p)/quickTries) }
	return r.judge(method, leastHits-off(leastHits), 1, mostFound+off(mostFound))
}

// A few rows of every table: no rule misses its bounds by more than chance explains, and the same check finds
// the usual methods out, so that it would find a broken rule.
func TestQuick(t *testing.T) {
	caught := map[string]bool{}
	for _, table := range tables() {
		results := table.run(quickTries, true, quickSeed)
		if len(results) < 3 {
			t.Errorf("%s has %d quick rows", table.name, len(results))
		}
		for _, r := range results {
			if why := r.loose(0); why != "" {
				t.Errorf("%s %v: %s", table.name, r.row.keys, why)
			}
			for i, m := range table.methods[1:] {
				if r.loose(i+1) != "" {
					caught[table.name+" "+m.name] = true
				}
			}
		}
		if missed := print(io.Discard, table, results, true); testing.Verbose() {
			t.Logf("%s: %d rows, %d beyond the strict bounds", table.name, len(results), missed)
		}
	}
	for _, bad := range []string{
		"rates normal", "rates Korn-Graubard", "rates unweighted Wilson", "users normal", "users units",
		"lift naive", "lift units", "weights counts (McNemar)", "aa window", "aa units", "labels the judge",
	} {
		if !caught[bad] {
			t.Errorf("the bounds do not find out %s; caught: %v", bad, slices.Sorted(func(yield func(string) bool) {
				for k := range caught {
					if !yield(k) {
						return
					}
				}
			}))
		}
	}
}

func TestTheSameSeedIsTheSameTable(t *testing.T) {
	text := func(seed uint64) string {
		var b strings.Builder
		for _, table := range []table{rates(), weights()} {
			results := table.run(5, true, seed)
			print(&b, table, results, true)
		}
		return b.String()
	}
	if a := text(1); a != text(1) || a == text(2) {
		t.Error("the seed does not decide what is drawn")
	}
}

// Each row is another population.
func TestRowsDiffer(t *testing.T) {
	for _, table := range tables() {
		seen := map[string]bool{}
		for _, r := range table.rows {
			k := fmt.Sprint(r.keys)
			if seen[k] {
				t.Errorf("%s has %s twice", table.name, k)
			}
			seen[k] = true
		}
	}
}

// The alternatives are those of the textbooks: the same as package stats has them for published values.
func TestUsualMethods(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, s := range []shape{{"", []int{30, 50, 400}, flat}, {"", []int{12, 12}, flat}} {
		strata, _, _ := s.draw(r, .4, 10)
		var units []stats.SurveyUnit
		for h, x := range strata {
			for i := range x.Observed {
				u := stats.SurveyUnit{Stratum: fmt.Sprint(h), Weight: float64(x.Size) / float64(x.Observed), Clusters: float64(x.Size)}
				if float64(i) < x.Sum {
					u.Y = 1
				}
				units = append(units, u)
			}
		}
		e := stats.SurveyMean(units, stats.LoneRefuse)
		_, v, n, h := unsmoothed(strata, stats.Window)
		got, want := kornGraubard(e.Level.X, v, n, n-h), e.KornGraubard(confidence)
		if math.Abs(v-e.SE.X*e.SE.X) > 1e-12 || math.Abs(got.Low-want.Low) > 1e-9 || math.Abs(got.High-want.High) > 1e-9 {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
