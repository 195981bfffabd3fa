package draw_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/draw"
	"assay/internal/report/reporttest"
)

func world(t *testing.T) (*reporttest.World, assay.Run) {
	var list []reporttest.Session
	for i := range 200 {
		day := 1
		if i >= 140 {
			day = 2 + i%3
		}
		list = append(list, reporttest.Session{User: "u", ID: fmt.Sprintf("s%03d", i), Day: fmt.Sprintf("2026-03-%02d", day), Agent: "v1"})
	}
	w := reporttest.New(t, list)
	w.Judge("j", "v1", assay.Criterion{Name: "ok", Type: assay.Boolean})
	return w, w.Run(reporttest.Plan{Judge: "j"}, func(s reporttest.Session, _ int) reporttest.Answer {
		return reporttest.Verdict("ok", !failed(s.ID), "")
	})
}

func failed(id string) bool {
	var i int
	fmt.Sscanf(id, "s%d", &i)
	return i%8 == 0
}

func sample(w *reporttest.World, run assay.Run, method assay.DrawMethod, n int, seed string) []assay.DrawMember {
	w.Helper()
	_, members, err := draw.Sample(w.Ctx, w.Store, w.Project, draw.Request{Run: run, Method: method, N: n, Seed: seed})
	w.Must(err)
	return members
}

func TestADrawIsAFunctionOfItsSeed(t *testing.T) {
	w, run := world(t)
	one := sample(w, run, assay.DrawRandom, 40, "a")
	if !slices.Equal(one, sample(w, run, assay.DrawRandom, 40, "a")) {
		t.Error("the same seed drew others")
	}
	if slices.Equal(one, sample(w, run, assay.DrawRandom, 40, "b")) {
		t.Error("another seed drew the same")
	}
}

// Each drawn session stands for one over its chance: on average over seeds that is every session, and every failure.
func TestChancesAreRight(t *testing.T) {
	w, run := world(t)
	for _, method := range []assay.DrawMethod{assay.DrawRandom, assay.DrawVerdicts} {
		const seeds = 60
		var failures, low float64
		for seed := range seeds {
			var all float64
			for _, m := range sample(w, run, method, 40, fmt.Sprint(seed)) {
				all += 1 / m.Probability
				if failed(m.SessionID) {
					failures += 1 / m.Probability / seeds
				}
				if m.SessionID < "s070" {
					low += 1 / m.Probability / seeds
				}
			}
			if math.Abs(all-200) > 1e-6 {
				t.Fatalf("%s: the draw stands for %v sessions of 200", method, all)
			}
		}
		if math.Abs(failures-25) > 4 || math.Abs(low-70) > 8 {
			t.Errorf("%s: stands for %v failures of 25, and %v of the first 70 sessions", method, failures, low)
		}
	}
}

// Half of a draw by verdict are of either answer, and so is any beginning of it.
func TestByVerdictAnyBeginningIsSpread(t *testing.T) {
	w, run := world(t)
	members := sample(w, run, assay.DrawVerdicts, 40, "a")
	for _, n := range []int{10, 20, 30, 40} {
		var fails int
		for _, m := range members[:n] {
			if failed(m.SessionID) {
				fails++
			}
		}
		if math.Abs(float64(fails)-float64(n)/2) > 3 {
			t.Errorf("%d of the first %d failed", fails, n)
		}
	}
}
