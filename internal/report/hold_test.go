package report

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/report/gate"
	"assay/internal/report/number"
	"assay/internal/report/reporttest"
	"assay/internal/stats"
)

// row is a row of a hand-made run, by names.
type row struct {
	day, arm, user, agent string
	pass                  extract.Answer
	score                 float64
	state                 assay.ItemState
}

// world is a hand-made run: rows and, by stratum, how many sessions there are.
type world struct {
	rows []row
	size map[assay.Stratum]int64
}

// report makes facts of a world and composes them: no store is needed.
func (w world) report(t interface {
	Helper()
	Fatalf(string, ...any)
}, o Options) Report {
	t.Helper()
	if err := o.check(); err != nil {
		t.Fatalf("%v", err)
	}
	v := assay.JudgeVersion{ID: "v", Criteria: []assay.Criterion{{Name: "score", Type: assay.Number}}}
	e := &extract.Extract{Judge: assay.RunJudge{Name: "j", Version: "v"}, Version: v, Columns: []extract.Column{
		{Criterion: assay.Criterion{Name: assay.CriterionPass, Type: assay.Boolean}}, {Criterion: v.Criteria[0]}}}
	run := assay.Run{ID: 1, State: assay.RunCompleted, Spec: assay.GradeSpec{Repeats: 1, Judges: []assay.RunJudge{e.Judge}}}
	f := facts{chain: extract.Chain{Runs: []assay.Run{run}, Covers: extract.Covers{Complete: true}}, judges: []*extract.Extract{e}}
	at := map[assay.Stratum]int{}
	stratum := func(h assay.Stratum) int {
		n, ok := at[h]
		if !ok {
			n = len(f.chain.Strata)
			at[h] = n
			f.chain.Strata = append(f.chain.Strata, assay.PlannedStratum{Stratum: h, Index: n, Eligible: w.size[h]})
		}
		return n
	}
	users, agents := map[string]int32{}, map[string]int32{}
	for i, r := range w.rows {
		n := stratum(assay.Stratum{Day: r.day, Arm: r.arm})
		f.chain.Strata[n].Sampled++
		f.chain.Strata[n].Eligible = max(f.chain.Strata[n].Eligible, f.chain.Strata[n].Sampled)
		if _, ok := users[r.user]; !ok {
			users[r.user] = int32(len(e.Users))
			e.Users = append(e.Users, r.user)
		}
		if _, ok := agents[r.agent]; !ok {
			agents[r.agent] = int32(len(e.Agents))
			e.Agents = append(e.Agents, r.agent)
		}
		state := r.state
		if state == "" {
			state = assay.ItemGraded
		}
		e.Rows = append(e.Rows, extract.Row{Content: assay.ContentKey(i + 1), Run: 1, Seq: int64(i + 1), Stratum: int32(n), User: users[r.user], Case: -1, Agent: agents[r.agent], State: state})
		e.Columns[0].Answers = append(e.Columns[0].Answers, r.pass)
		score := extract.HasNumber
		if r.pass < 0 {
			score = extract.Missing
		}
		e.Columns[1].Answers, e.Columns[1].Numbers = append(e.Columns[1].Answers, score), append(e.Columns[1].Numbers, r.score)
	}
	e.Sources = []string{""}
	for h := range w.size {
		stratum(h)
	}
	r, err := compose(f, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return r
}

func worlds(t *rapid.T) world {
	w := world{size: map[assay.Stratum]int64{}}
	n := rapid.IntRange(1, 120).Draw(t, "rows")
	for range n {
		h := assay.Stratum{Day: fmt.Sprintf("2026-03-0%d", rapid.IntRange(1, 4).Draw(t, "day")), Arm: []string{"a", "b"}[rapid.IntRange(0, 1).Draw(t, "arm")]}
		w.rows = append(w.rows, row{day: h.Day, arm: h.Arm, user: fmt.Sprint("u", rapid.IntRange(0, 20).Draw(t, "user")), agent: fmt.Sprint("v", rapid.IntRange(0, 2).Draw(t, "agent")),
			pass: extract.Answer(rapid.IntRange(-1, 1).Draw(t, "pass")), score: float64(rapid.IntRange(0, 50).Draw(t, "score")) / 7})
		w.size[h] = int64(rapid.IntRange(1, 300).Draw(t, "size"))
	}
	return w
}

// Order of rows and names of users, arms, days and agents change not a bit of any number.
func TestOrderAndNamesChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := worlds(t)
		o := Options{Target: []Target{stats.Window, stats.Process}[rapid.IntRange(0, 1).Draw(t, "target")]}
		other := world{size: map[assay.Stratum]int64{}}
		rename := func(h assay.Stratum) assay.Stratum { return assay.Stratum{Day: h.Day, Arm: "x" + h.Arm} }
		for h, n := range w.size {
			other.size[rename(h)] = n
		}
		for _, at := range rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)).Perm(len(w.rows)) {
			r := w.rows[at]
			r.arm, r.user, r.agent = "x"+r.arm, "of "+strings.Repeat("z", len(r.user))+r.user, "w"+r.agent
			other.rows = append(other.rows, r)
		}
		got, want := numbers(other.report(t, o)), numbers(w.report(t, o))
		if !slices.Equal(got, want) {
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("line %d:\n%s\nwant\n%s", i, got[i], want[i])
				}
			}
		}
	})
}

// numbers are all numbers of a report without names, in the order of the report.
func numbers(r Report) (out []string) {
	add := func(n number.Number) {
		n.Merged = nil
		raw, err := json.Marshal(n)
		if err != nil {
			raw = []byte(err.Error())
		}
		out = append(out, string(raw))
	}
	for _, k := range r.Judges[0].Criteria {
		for _, m := range k.Measures {
			add(m.Overall)
			for _, p := range slices.Concat(m.ByArm, m.ByDay, m.ByAgent, m.BySource) {
				add(p.Number)
			}
		}
		for _, l := range k.Lifts {
			raw, _ := json.Marshal(l.Lift)
			out = append(out, string(raw))
		}
	}
	return out
}

// Whatever is graded: no NaN, and where there is no number there is a reason.
func TestAbsentHasAReason(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, r Report) {
		if _, err := json.Marshal(r); err != nil {
			t.Fatalf("not even JSON: %v", err)
		}
		for _, k := range r.Judges[0].Criteria {
			for _, m := range k.Measures {
				for _, p := range slices.Concat([]number.Part{{Name: "all", Number: m.Overall}}, m.ByArm, m.ByDay, m.ByAgent, m.BySource) {
					n := p.Number
					if (n.Value == nil) != (n.Absent != "") || (n.Interval == nil) != (n.IntervalAbsent != "") || n.Value == nil && n.Interval != nil {
						t.Fatalf("%s of %s: %+v", p.Name, k.Name, n)
					}
					if i := n.Interval; i != nil && !(i.Low <= *n.Value && *n.Value <= i.High) {
						t.Fatalf("%s of %s: %v is not in %+v", p.Name, k.Name, *n.Value, *i)
					}
					if n.Value != nil && n.Low != nil && n.High != nil && !(*n.Low <= *n.Value+1e-12 && *n.Value <= *n.High+1e-12) {
						t.Fatalf("%s of %s: %v is not between %v and %v", p.Name, k.Name, *n.Value, *n.Low, *n.High)
					}
				}
			}
			for _, l := range k.Lifts {
				if d := l.Lift; (d.Value == nil) != (d.Absent != "") || (d.Interval == nil) != (d.IntervalAbsent != "") {
					t.Fatalf("lift of %s: %+v", k.Name, d)
				}
			}
		}
	}
	for name, w := range map[string]world{
		"nothing":          {},
		"one session":      {rows: []row{{day: "2026-03-01", arm: "a", user: "u", pass: extract.Yes}}},
		"an empty stratum": {rows: []row{{day: "2026-03-01", arm: "a", user: "u", pass: extract.Yes}}, size: map[assay.Stratum]int64{{Day: "2026-03-02", Arm: "b"}: 10}},
		"nothing graded":   {rows: []row{{day: "2026-03-01", arm: "a", user: "u", pass: extract.Missing, state: assay.ItemErrored}}},
	} {
		for _, target := range []Target{stats.Window, stats.Process} {
			r := w.report(t, Options{Target: target})
			check(t, r)
			if n := r.Judges[0].Criteria[0].Measures[0].Overall; name == "one session" && target == stats.Process && n.IntervalAbsent == "" {
				t.Errorf("%s: an interval %+v", name, n.Interval)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, worlds(t).report(t, Options{Target: []Target{stats.Window, stats.Process}[rapid.IntRange(0, 1).Draw(t, "target")]}))
	})
}

// A treatment that ramps up and a bad busy last day: there is no effect, and none is found, though the rates of the
// arms are far apart.
func TestLiftUnderARamp(t *testing.T) {
	w := world{size: map[assay.Stratum]int64{}}
	r := rand.New(rand.NewPCG(7, 7))
	for day := range 10 {
		share := 0.05 + 0.05*float64(day)
		sessions, rate := 200, 0.9
		if day == 9 {
			sessions, rate = 1200, 0.3
		}
		for i := range sessions {
			x := row{day: fmt.Sprintf("2026-03-%02d", day+1), arm: assay.Control, user: fmt.Sprintf("u%d-%d", day, i), agent: "v"}
			if r.Float64() < share {
				x.arm = assay.Treatment
			}
			if r.Float64() < rate {
				x.pass = extract.Yes
			}
			w.rows = append(w.rows, x)
		}
	}
	k := w.report(t, Options{AnyShares: true}).Judges[0].Criteria[0]
	arms := k.Measures[0].ByArm
	naive := *arms[1].Number.Value - *arms[0].Number.Value
	l := k.Lifts[0].Lift
	if math.Abs(naive) < 0.08 {
		t.Errorf("the arms are only %v apart: the ramp shows nothing", naive)
	}
	if math.Abs(*l.Value) > 0.04 || l.Interval.Low > 0 || l.Interval.High < 0 || !l.Primary {
		t.Errorf("lift %v (%+v) where there is none; the arms are %v apart", *l.Value, l.Interval, naive)
	}
	// Nobody said that the shares change: what was not meant takes the headline's place.
	if r := w.report(t, Options{}); !r.Assignment.Mismatch || !strings.HasPrefix(r.Headline, "Sessions did not go to the arms as meant") {
		t.Errorf("assignment %+v, headline %q", r.Assignment, r.Headline)
	}
}

// Capped strata are weighted: a busy day counts as many sessions as it has.
func TestABusyDayCountsWhole(t *testing.T) {
	w := world{size: map[assay.Stratum]int64{{Day: "2026-03-01", Arm: "a"}: 9000}}
	for i := range 200 {
		x := row{day: fmt.Sprintf("2026-03-%02d", 1+i/20), arm: "a", user: fmt.Sprint("u", i), agent: "v", pass: extract.Yes}
		if i < 20 && i%2 == 0 {
			x.pass = extract.No // half of the busy day
		}
		w.rows = append(w.rows, x)
	}
	n := w.report(t, Options{}).Judges[0].Criteria[0].Measures[0].Overall
	want := (9000*0.5 + 180) / 9180
	if math.Abs(*n.Value-want) > 1e-12 || n.Interval.Low > want || n.Interval.High < want {
		t.Errorf("value %v, want %v; the plain mean is 0.95", *n.Value, want)
	}
}

// An agent version is a part that is not drawn by itself: a ratio of two estimates.
func TestAgentVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := worlds(t)
		r := w.report(t, Options{})
		for _, p := range r.Judges[0].Criteria[0].Measures[0].ByAgent {
			var hits, all float64
			for h, size := range w.size {
				var n, d, s float64
				for _, x := range w.rows {
					if x.day != h.Day || x.arm != h.Arm || x.pass < 0 {
						continue
					}
					n++
					if x.agent == p.Name {
						d++
						s += float64(x.pass)
					}
				}
				sampled := 0
				for _, x := range w.rows {
					if x.day == h.Day && x.arm == h.Arm {
						sampled++
					}
				}
				if n == 0 {
					return // a stratum was merged: another formula
				}
				weight := float64(max(size, int64(sampled)))
				hits, all = hits+weight*s/n, all+weight*d/n
			}
			if all == 0 {
				continue
			}
			if p.Number.Value == nil || math.Abs(*p.Number.Value-hits/all) > 1e-9 {
				t.Fatalf("%s: %v, want %v", p.Name, p.Number.Value, hits/all)
			}
		}
	})
}

func TestGates(t *testing.T) {
	w := reporttest.New(t, busy())
	w.Judge("j", "v1", assay.Criterion{Name: "ok", Type: assay.Boolean})
	run := w.Run(reporttest.Plan{Judge: "j"}, func(s reporttest.Session, _ int) reporttest.Answer {
		return reporttest.Verdict("ok", number3(s)%7 != 0, "")
	})
	for text, want := range map[string]gate.Decision{
		"rate < 0.5": gate.Pass, "rate < 0.99": gate.Fail, "rate:ok < 0.857": gate.Inconclusive, "coverage < 0.9": gate.Pass, "errors >= 0": gate.Fail, "lift < -0.5": gate.Pass, "lift > -0.5": gate.Fail,
	} {
		g, err := gate.Parse(text)
		w.Must(err)
		r := build(w, run, Options{Gates: []gate.Gate{g}})
		if len(r.Gates) != 1 || r.Gates[0].Decision != want {
			t.Errorf("%s: %+v, want %s", text, r.Gates, want)
		}
	}
	for _, text := range []string{"drop > 1", "rate:absent < 1"} {
		g, err := gate.Parse(text)
		w.Must(err)
		if _, err := Build(w.Ctx, w.Store, run, Options{Gates: []gate.Gate{g}}); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestShares(t *testing.T) {
	shares, any, err := ParseShares(" treatment=5, a=b=95% ")
	if err != nil || any || shares["treatment"] != 5 || shares["a=b"] != 95 {
		t.Errorf("%v %v %v", shares, any, err)
	}
	if _, any, err := ParseShares("any"); !any || err != nil {
		t.Error("any")
	}
	for _, text := range []string{"treatment", "a=0", "a=-1", "a=x", "=5", "a=1,a=2", "a=1,"} {
		if _, _, err := ParseShares(text); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Of several arms the largest is the control where none is called so; no lift is the primary one, one that is found has
// a wider interval, and at most thirty agent versions are shown.
func TestSeveralArms(t *testing.T) {
	w := world{size: map[assay.Stratum]int64{}}
	for i := range 1200 {
		x := row{day: fmt.Sprintf("2026-03-%02d", 1+i%5), arm: []string{"big", "big", "good", "same"}[i%4], user: fmt.Sprint("u", i), agent: fmt.Sprintf("v%02d", i%31)}
		if x.arm == "good" || i%3 > 0 {
			x.pass = extract.Yes
		}
		w.rows = append(w.rows, x)
	}
	r := w.report(t, Options{Shares: map[string]float64{"big": 2, "good": 1, "same": 1}})
	k := r.Judges[0].Criteria[0]
	if len(k.Lifts) != 2 || k.Lifts[0].Control != "big" || k.Lifts[1].Control != "big" {
		t.Fatalf("lifts %+v", k.Lifts)
	}
	good, same := k.Lifts[0].Lift, k.Lifts[1].Lift
	if good.Primary || same.Primary || good.Q == nil || !good.Marked || same.Marked {
		t.Errorf("good %+v, same %+v", good, same)
	}
	if good.Interval.Confidence < 0.95 || same.Interval.Confidence != 0.95 || good.Interval.Low <= 0 {
		t.Errorf("good %+v, same %+v", good.Interval, same.Interval)
	}
	if n := len(k.Measures[0].ByAgent); n != mostParts || !strings.Contains(strings.Join(r.Notes, " "), "of 31 agent versions the 30") {
		t.Errorf("%d agent versions are shown; notes %q", n, r.Notes)
	}
	if r.Assignment.Mismatch || !w.report(t, Options{}).Assignment.Mismatch || w.report(t, Options{AnyShares: true}).Assignment.P != nil {
		t.Error("shares are tested against what was meant, and not where any would do")
	}
	for _, o := range []Options{{Control: "moon"}, {Shares: map[string]float64{"big": 1, "good": 1}}, {Shares: map[string]float64{"big": 1, "good": 1, "same": 1, "moon": 1}}} {
		f := facts{chain: extract.Chain{Strata: []assay.PlannedStratum{{Stratum: assay.Stratum{Arm: "big"}, Eligible: 1}, {Stratum: assay.Stratum{Arm: "good"}, Eligible: 1, Index: 1}, {Stratum: assay.Stratum{Arm: "same"}, Eligible: 1, Index: 2}}}}
		if err := newView(f, o).checkArms(); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
