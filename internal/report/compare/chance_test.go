package compare_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/compare"
	"assay/internal/report/reporttest"
)

// Graded twice by one judge that is not sure, a whole frame shows no change more often than its intervals may.
func TestNothingIsFoundWhereNothingChanged(t *testing.T) {
	const tries, users = 200, 40
	var list []reporttest.Session
	for i := range 80 {
		list = append(list, reporttest.Session{User: fmt.Sprintf("u%d", i%users), ID: fmt.Sprintf("s%03d", i), Day: fmt.Sprintf("2026-03-%02d", 1+i%2), Agent: "v1"})
	}
	w := reporttest.New(t, list)
	w.Judge("j", "v1", assay.Criterion{Name: "ok", Type: assay.Boolean})
	chance := rand.New(rand.NewPCG(1, 2))
	noisy := func(s reporttest.Session, _ int) reporttest.Answer {
		return reporttest.Verdict("ok", (number(s)%5 != 0) != (chance.Float64() < 0.15), "")
	}
	var found, outside int
	for range tries {
		a, b := w.Run(reporttest.Plan{Judge: "j"}, noisy), w.Run(reporttest.Plan{Judge: "j"}, noisy)
		d := build(w, a, b, compare.Options{}).Criteria[0].Drop
		if d.P == nil || d.Interval == nil {
			t.Fatalf("drop %+v", d)
		}
		if *d.P < 0.05 {
			found++
		}
		if d.Interval.Low > 0 || d.Interval.High < 0 {
			outside++
		}
	}
	if found > tries*7/100 || outside > tries*7/100 {
		t.Errorf("of %d comparisons in which nothing changed %d were found and %d intervals miss", tries, found, outside)
	}
}

// Without answers, and with one user, there are reasons and no zeros.
func TestNothingToCompareHasReasons(t *testing.T) {
	question := assay.Criterion{Name: "ok", Type: assay.Boolean}
	for name, c := range map[string]struct {
		users  int
		paired bool
	}{"nothing answered by B": {40, false}, "one user": {1, true}} {
		t.Run(name, func(t *testing.T) {
			var list []reporttest.Session
			for i := range 40 {
				list = append(list, reporttest.Session{User: fmt.Sprintf("u%d", i%c.users), ID: fmt.Sprintf("s%03d", i), Day: "2026-03-01", Agent: "v1"})
			}
			w := reporttest.New(t, list)
			w.Judge("j", "v1", question)
			say := func(s reporttest.Session, _ int) reporttest.Answer {
				return reporttest.Verdict("ok", ok(number(s)), "")
			}
			a := w.Run(reporttest.Plan{Judge: "j"}, say)
			b := w.Run(reporttest.Plan{Judge: "j"}, func(s reporttest.Session, repeat int) reporttest.Answer {
				if !c.paired {
					return reporttest.Answer{Class: "timeout"}
				}
				return say(s, repeat)
			})
			got := build(w, a, b, compare.Options{Key: compare.BySession})
			d := got.Criteria[0].Drop
			if c.paired != (d.Value != nil) || (d.Value == nil && d.Absent == "") {
				t.Errorf("drop %+v", d)
			}
			if d.Interval != nil || (d.Value != nil && d.IntervalAbsent == "") || d.P != nil {
				t.Errorf("drop %+v has an interval %+v or a P", d, d.Interval)
			}
			if _, err := json.Marshal(got); err != nil {
				t.Error(err)
			}
		})
	}
}

// Sides without a content in common are not paired by session, and the error says so.
func TestNothingInCommon(t *testing.T) {
	w := reporttest.New(t, sessions(40))
	w.Judge("j", "v1", assay.Criterion{Name: "ok", Type: assay.Boolean})
	say := func(s reporttest.Session, _ int) reporttest.Answer {
		return reporttest.Verdict("ok", ok(number(s)), "")
	}
	a := w.Run(reporttest.Plan{Judge: "j", Chosen: func(s reporttest.Session) bool { return number(s) < 20 }}, say)
	b := w.Run(reporttest.Plan{Judge: "j", Chosen: func(s reporttest.Session) bool { return number(s) >= 20 }}, say)
	_, err := compare.Build(w.Ctx, w.Store, a, b, compare.Options{Key: compare.BySession})
	var e *assay.Error
	if !errors.As(err, &e) || e.Code != assay.CodeInvalid || e.Hint == "" {
		t.Errorf("%v", err)
	}
}
