package check_test

import (
	"math"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/check"
	"assay/internal/report/reporttest"
	"assay/internal/stats"
)

// A judge that is wrong more often than right has no inverse, and what its labels correct is what the labels say.
func TestAJudgeWorseThanChance(t *testing.T) {
	w := reporttest.New(t, sessions(400))
	w.Judge("j", "v1", assay.Criterion{Name: "ok", Type: assay.Boolean})
	inverted := func(s reporttest.Session, _ int) reporttest.Answer {
		i := number(s)
		return reporttest.Verdict("ok", good(i) == (i%3 == 0), "")
	}
	from := w.Run(reporttest.Plan{Judge: "j"}, inverted)
	run := w.Run(reporttest.Plan{Judge: "j"}, inverted)
	d, members := drawn(w, from, assay.DrawRandom, 120)
	label(w, "ann", d.ID, members, good, nil)
	c := build(w, check.Options{Run: &run, From: &from})
	if r := c.Rates.Transported; r.Value != nil || r.Absent != stats.NotBetter {
		t.Errorf("transported %+v", r)
	}
	var passed float64
	for _, m := range members {
		var s reporttest.Session
		if s.ID = m.SessionID; good(number(s)) {
			passed++
		}
	}
	r := c.Rates.Corrected
	if r.Value == nil || r.Interval == nil || math.Abs(*r.Value-passed/120) > 0.03 || r.Interval.Low > 0.8 || r.Interval.High < 0.8 {
		t.Errorf("corrected %+v %+v, the labels say %v", r, r.Interval, passed/120)
	}
}
