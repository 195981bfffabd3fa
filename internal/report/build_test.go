package report

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/reporttest"
	"assay/internal/stats"
)

// busy is a fortnight of two arms with one busy day.
func busy() (list []reporttest.Session) {
	for i := range 400 {
		day := 1 + i%10
		if i >= 200 {
			day = 5
		}
		list = append(list, reporttest.Session{User: fmt.Sprintf("u%d", i%90), ID: fmt.Sprintf("s%03d", i), Day: fmt.Sprintf("2026-03-%02d", day),
			Arm: []string{assay.Treatment, assay.Control}[i/90%2], Agent: []string{"v1", "v2"}[i%2], Source: "web"})
	}
	return list
}

func number3(s reporttest.Session) (i int) {
	fmt.Sscanf(s.ID, "s%d", &i)
	return i
}

func build(w *reporttest.World, run assay.Run, o Options) Report {
	w.Helper()
	r, err := Build(w.Ctx, w.Store, run, o)
	w.Must(err)
	return r
}

func TestAllGradedIsThePlainMean(t *testing.T) {
	w := reporttest.New(t, busy())
	w.Judge("j", "v1", assay.Criterion{Name: "ok", Type: assay.Boolean})
	passed := 0
	run := w.Run(reporttest.Plan{Judge: "j"}, func(s reporttest.Session, _ int) reporttest.Answer {
		yes := number3(s)%7 != 0
		if yes {
			passed++
		}
		return reporttest.Verdict("ok", yes, "because")
	})
	r := build(w, run, Options{})
	n := r.Judges[0].Criteria[0].Measures[0].Overall
	if want := float64(passed) / 400; n.Value == nil || math.Abs(*n.Value-want) > 1e-15 {
		t.Fatalf("value %v, want %v", n.Value, want)
	}
	if n.Interval == nil || n.Interval.Low != *n.Value || n.Interval.High != *n.Value || n.Interval.Method != stats.MethodCensus {
		t.Errorf("interval %+v", n.Interval)
	}
	p := build(w, run, Options{Target: stats.Process}).Judges[0].Criteria[0].Measures[0].Overall
	if *p.Value != *n.Value || p.Interval == nil || p.Interval.High-p.Interval.Low < 0.02 || p.Interval.Method != stats.MethodUsers {
		t.Errorf("process %+v %+v", p, p.Interval)
	}
	text, err := json.MarshalIndent(r, "", " ")
	w.Must(err)
	t.Log(len(text))
}
