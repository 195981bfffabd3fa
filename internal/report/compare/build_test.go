package compare_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/compare"
	"assay/internal/report/gate"
	"assay/internal/report/reporttest"
	"assay/internal/stats"
	"assay/internal/store"
)

func sessions(n int) (list []reporttest.Session) {
	for i := range n {
		list = append(list, reporttest.Session{User: fmt.Sprintf("u%d", i), ID: fmt.Sprintf("s%03d", i), Day: fmt.Sprintf("2026-03-%02d", 1+i%4),
			Arm: []string{assay.Treatment, assay.Control}[i/40%2], Agent: "v1", Case: fmt.Sprintf("c%d", i%50)})
	}
	return list
}

func number(s reporttest.Session) (i int) {
	fmt.Sscanf(s.ID, "s%d", &i)
	return i
}

func ok(i int) bool { return i%5 != 0 }

// two grades the same sessions by two versions of a judge; the second one says flip(i) otherwise.
func two(t *testing.T, flip func(i int) bool) (*reporttest.World, assay.Run, assay.Run) {
	w := reporttest.New(t, sessions(240))
	question := assay.Criterion{Name: "ok", Type: assay.Boolean}
	w.Judge("j", "v1", question)
	a := w.Run(reporttest.Plan{Judge: "j"}, func(s reporttest.Session, _ int) reporttest.Answer {
		return reporttest.Verdict("ok", ok(number(s)), "because of A")
	})
	w.Judge("j", "v2", question)
	b := w.Run(reporttest.Plan{Judge: "j"}, func(s reporttest.Session, _ int) reporttest.Answer {
		if i := number(s); i%80 == 79 {
			return reporttest.Answer{Class: "timeout"}
		}
		return reporttest.Verdict("ok", ok(number(s)) != flip(number(s)), "because of B")
	})
	return w, a, b
}

func build(w *reporttest.World, a, b assay.Run, o compare.Options) compare.Comparison {
	w.Helper()
	c, err := compare.Build(w.Ctx, w.Store, a, b, o)
	w.Must(err)
	return c
}

func TestTheJudgeChanged(t *testing.T) {
	w, a, b := two(t, func(i int) bool { return i%6 == 1 })
	g, err := gate.Parse("drop > 0.02")
	w.Must(err)
	c := build(w, a, b, compare.Options{Gates: []gate.Gate{g}})
	k := c.Criteria[0]
	var both, regressed, fixed int64
	for i := range 240 {
		if i%80 == 79 {
			continue
		}
		both++
		if i%6 == 1 {
			if ok(i) {
				regressed++
			} else {
				fixed++
			}
		}
	}
	if c.Pairing.Key != compare.BySession || c.Pairing.Pairs != 240 || k.Pairs != both || k.Table.Regressed != regressed || k.Table.Fixed != fixed {
		t.Fatalf("pairing %+v, table %+v, want %d: %d and %d", c.Pairing, *k.Table, both, regressed, fixed)
	}
	if c.Differs[0].What != compare.JudgeChanged || len(c.Differs) != 1 {
		t.Errorf("differs %+v", c.Differs)
	}
	if len(c.Pairing.LeftOut) != 1 || c.Pairing.LeftOut[0].Side != "b" || c.Pairing.LeftOut[0].Why != "errored" || c.Pairing.LeftOut[0].N != 3 {
		t.Errorf("left out %+v", c.Pairing.LeftOut)
	}
	if k.Drop.Value == nil || *k.Drop.Value < 0.08 || k.Drop.Interval == nil || k.Drop.P == nil || *k.Drop.P > 0.01 || !k.Drop.Primary {
		t.Errorf("drop %+v", k.Drop)
	}
	if *k.Drop.Low > *k.Drop.Value || *k.Drop.High < *k.Drop.Value || c.Gates[0].Decision != gate.Fail {
		t.Errorf("bounds %v to %v, gate %+v", *k.Drop.Low, *k.Drop.High, c.Gates[0])
	}

}

func TestFlips(t *testing.T) {
	w, a, b := two(t, func(i int) bool { return i%6 == 1 })
	k := build(w, a, b, compare.Options{}).Criteria[0]
	var all []compare.Flip
	for page := (store.Page{Limit: 7}); ; {
		flips, next, err := compare.Flips(w.Ctx, w.Store, a, b, compare.Options{}, "", "", page)
		w.Must(err)
		all = append(all, flips...)
		if page.Cursor = next; next == "" {
			break
		}
	}
	seen := map[string]bool{}
	var regressed int64
	for i, f := range all {
		if seen[f.A.Session] || f.A.Session != f.B.Session || f.A.Reason != "because of A" || f.B.Reason != "because of B" || f.A.Value == f.B.Value {
			t.Errorf("flip %d: %+v", i, f)
		}
		seen[f.A.Session] = true
		if f.Kind == compare.Regressed {
			if regressed++; int(regressed) != i+1 {
				t.Error("regressed come first")
			}
		}
	}
	if regressed != k.Table.Regressed || int64(len(all))-regressed != k.Table.Fixed {
		t.Errorf("%d flips, %d of them regressed; want %+v", len(all), regressed, *k.Table)
	}
	fixed, _, err := compare.Flips(w.Ctx, w.Store, a, b, compare.Options{}, "ok", compare.Fixed, store.Page{})
	w.Must(err)
	if int64(len(fixed)) != k.Table.Fixed {
		t.Errorf("%d fixed", len(fixed))
	}
}

// Where nothing changed nothing is found, and where nothing flipped there is an interval all the same.
func TestNothingFlipped(t *testing.T) {
	w, a, b := two(t, func(int) bool { return false })
	k := build(w, a, b, compare.Options{}).Criteria[0]
	if *k.Drop.Value != 0 || k.Drop.Interval == nil || k.Drop.Interval.Low >= 0 || *k.Drop.P < 0.99 || k.McNemar != nil {
		t.Errorf("drop %+v, McNemar %v", k.Drop, k.McNemar)
	}
}

// Turned round the drop is the negative where every pair weighs the same.
func TestTurnedRound(t *testing.T) {
	w, a, b := two(t, func(i int) bool { return i%6 == 1 })
	there, back := build(w, a, b, compare.Options{}).Criteria[0].Drop, build(w, b, a, compare.Options{}).Criteria[0].Drop
	if math.Abs(*there.Value+*back.Value) > 1e-12 || math.Abs(there.Interval.Low+back.Interval.High) > 1e-12 {
		t.Errorf("there %+v, back %+v", *there.Interval, *back.Interval)
	}
}

func TestByCaseAndByNone(t *testing.T) {
	w, a, b := two(t, func(i int) bool { return i%6 == 1 })
	byCase := build(w, a, b, compare.Options{Key: compare.ByCase})
	k := byCase.Criteria[0]
	if byCase.Pairing.Pairs != 50 || k.Drop.Value == nil || k.Drop.Interval == nil || k.Drop.P == nil || k.Table != nil {
		t.Errorf("by case %+v %+v", byCase.Pairing, k.Drop)
	}
	none := build(w, a, b, compare.Options{Key: compare.ByNone}).Criteria[0]
	if none.Drop.Value == nil || none.Drop.Interval == nil || none.Drop.Interval.Method != stats.MethodT || none.Table != nil {
		t.Errorf("by none %+v", none.Drop)
	}
	if paired := build(w, a, b, compare.Options{}).Criteria[0].Drop; math.Abs(*paired.Value-*none.Drop.Value) > 0.01 {
		t.Errorf("paired %v, not paired %v", *paired.Value, *none.Drop.Value)
	}
}

// The order in which sessions were dispatched, and so that of rows, changes not a bit.
func TestOrderChangesNothing(t *testing.T) {
	numbers := func(turn func([]reporttest.Session)) string {
		list := sessions(240)
		turn(list)
		w := reporttest.New(t, list)
		question := assay.Criterion{Name: "ok", Type: assay.Boolean}
		var runs []assay.Run
		for i, version := range []assay.Hash{"v1", "v2"} {
			w.Judge("j", version, question)
			runs = append(runs, w.Run(reporttest.Plan{Judge: "j", Eligible: func(h assay.Stratum, n int64) int64 { return n * int64(3+len(h.Arm)) }}, func(s reporttest.Session, _ int) reporttest.Answer {
				return reporttest.Verdict("ok", ok(number(s)) != (i == 1 && number(s)%7 == 1), "")
			}))
		}
		var out string
		for _, key := range []compare.Key{compare.BySession, compare.ByCase, compare.ByNone} {
			c := build(w, runs[0], runs[1], compare.Options{Key: key})
			raw, err := json.Marshal(c.Criteria)
			w.Must(err)
			out += string(raw) + "\n"
		}
		return out
	}
	if a, b := numbers(func([]reporttest.Session) {}), numbers(slices.Reverse[[]reporttest.Session]); a != b {
		t.Errorf("in one order\n%s\nin the other\n%s", a, b)
	}
}

// What is shown because it was found has a wider interval, whole questions too; and a run is not compared with itself.
func TestExploratoryDrops(t *testing.T) {
	w := reporttest.New(t, sessions(240))
	names := []string{"a", "b", "c", "d", "e"}
	var criteria []assay.Criterion
	for _, n := range names {
		criteria = append(criteria, assay.Criterion{Name: n, Type: assay.Boolean})
	}
	var runs []assay.Run
	for i, version := range []assay.Hash{"v1", "v2"} {
		w.Judge("j", version, criteria...)
		runs = append(runs, w.Run(reporttest.Plan{Judge: "j"}, func(s reporttest.Session, _ int) reporttest.Answer {
			yes := true
			out := reporttest.Answer{Pass: &yes}
			for n, name := range names {
				out.Findings = append(out.Findings, reporttest.Said(name, !(i == 1 && n == 0 && number(s)%6 == 1), ""))
			}
			return out
		}))
	}
	c := build(w, runs[0], runs[1], compare.Options{})
	for _, k := range c.Criteria {
		switch {
		case k.Name == assay.CriterionPass:
			if !k.Drop.Primary || k.Drop.Marked {
				t.Errorf("pass: %+v", k.Drop)
			}
		case k.Name == "a":
			if !k.Drop.Marked || k.Drop.Interval.Confidence <= 0.95 {
				t.Errorf("a fell and is not shown so: %+v %+v", k.Drop, k.Drop.Interval)
			}
		case k.Drop.Marked:
			t.Errorf("%s did not change: %+v", k.Name, k.Drop)
		}
	}
	for _, o := range []compare.Options{{}, {JudgeA: "j"}, {JudgeB: "j"}} {
		if _, err := compare.Build(w.Ctx, w.Store, runs[0], runs[0], o); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("compared with itself, %+v: %v", o, err)
		}
	}
}

// New sessions of the same cases are paired by case, though a few of them are on both sides.
func TestNewSessionsOfTheSameCases(t *testing.T) {
	w := reporttest.New(t, sessions(240))
	w.Judge("j", "v1", assay.Criterion{Name: "ok", Type: assay.Boolean})
	run := func(in func(i int) bool) assay.Run {
		return w.Run(reporttest.Plan{Judge: "j", Chosen: func(s reporttest.Session) bool { return in(number(s)) }}, func(s reporttest.Session, _ int) reporttest.Answer {
			return reporttest.Verdict("ok", ok(number(s)), "")
		})
	}
	a, b := run(func(i int) bool { return i < 125 }), run(func(i int) bool { return i >= 120 })
	c := build(w, a, b, compare.Options{})
	if c.Pairing.Key != compare.ByCase || c.Pairing.Pairs != 50 || c.Differs[0].What != compare.AgentChanged {
		t.Errorf("pairing %+v, differs %+v", c.Pairing, c.Differs)
	}
}
