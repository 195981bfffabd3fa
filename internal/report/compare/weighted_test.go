package compare_test

import (
	"fmt"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/compare"
	"assay/internal/report/reporttest"
)

// A small day on which many regressed and a busy one on which a few were fixed: counted raw that is a loss beyond
// doubt, counted as the traffic went it is a small gain that chance may explain.
func TestTheBusyDayWeighsWhatItWeighs(t *testing.T) {
	var list []reporttest.Session
	for i := range 120 {
		list = append(list, reporttest.Session{User: fmt.Sprintf("u%d", i), ID: fmt.Sprintf("s%03d", i), Day: fmt.Sprintf("2026-03-%02d", 1+i/60), Agent: "v1"})
	}
	w := reporttest.New(t, list)
	question := assay.Criterion{Name: "ok", Type: assay.Boolean}
	plan := reporttest.Plan{Judge: "j", Eligible: func(h assay.Stratum, sampled int64) int64 {
		if h.Day == "2026-03-02" {
			return 20_000
		}
		return sampled
	}}
	w.Judge("j", "v1", question)
	a := w.Run(plan, func(s reporttest.Session, _ int) reporttest.Answer {
		return reporttest.Verdict("ok", number(s) < 60 || number(s) >= 63, "")
	})
	w.Judge("j", "v2", question)
	b := w.Run(plan, func(s reporttest.Session, _ int) reporttest.Answer {
		return reporttest.Verdict("ok", number(s) >= 20, "")
	})
	c := build(w, a, b, compare.Options{})
	k := c.Criteria[0]
	if k.Table.Regressed != 20 || k.Table.Fixed != 3 {
		t.Fatalf("table %+v", *k.Table)
	}
	want := (60*20.0/60 - 20_000*3.0/60) / 20_060
	if k.Drop.Value == nil || *k.Drop.Value < want-1e-9 || *k.Drop.Value > want+1e-9 {
		t.Errorf("drop %+v, want %v", k.Drop, want)
	}
	if k.Drop.P == nil || *k.Drop.P < 0.05 || k.Drop.Interval == nil || k.Drop.Interval.Low > 0 || k.Drop.Interval.High < 0 {
		t.Errorf("drop %+v %+v: three sessions of sixty decide nothing", k.Drop, k.Drop.Interval)
	}
	if k.McNemar != nil {
		t.Errorf("McNemar's %+v of pairs that weigh otherwise", k.McNemar)
	}
}
