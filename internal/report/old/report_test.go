package old

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/stats"
	"assay/internal/store"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with testdata/name; -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs; go test ./internal/report -update writes it anew. Got:\n%s", path, got)
	}
}

func pass(b bool) *bool { return &b }

// finished is a run of two judges over three days and two arms, one of them busy.
func finished() facts {
	minimum, maximum := 0.0, 10.0
	f := facts{
		chain: []assay.Run{{
			ID: 17, Project: "default", Kind: assay.RunGrade, State: assay.RunCompleted, Reason: assay.ReasonDone,
			Sentence: "every item ended", Sampled: 46, Planned: 92, AsOf: time.Date(2026, 3, 5, 9, 30, 0, 0, time.UTC),
			Budget: budget(20 * assay.Dollar), Left: assay.Excluded{Unsettled: 3, Undated: 1, Empty: 2, Late: 4},
			Spec: assay.GradeSpec{Seed: "assay", PerStratum: 10, Repeats: 1, Settings: assay.DefaultSettings(),
				Frame:  assay.Frame{Filter: "turns > 1"},
				Judges: []assay.RunJudge{{Name: "support", Version: "aaaabbbbccccdddd"}, {Name: "tone", Version: "eeeeffff00001111"}}},
		}},
		versions: []assay.JudgeVersion{
			{Kind: assay.JudgeRules, Criteria: []assay.Criterion{
				{Name: "resolved", Type: assay.Boolean}, {Name: "outcome", Type: assay.Category, Values: []string{"done", "escalated", "lost"}},
				{Name: "refund_right", Type: assay.Boolean, MayNotApply: true}}},
			{Kind: assay.JudgeLLM, Criteria: []assay.Criterion{
				{Name: "warmth", Type: assay.Number, Min: &minimum, Max: &maximum, MayAbstain: true}}},
		},
		covers: Covers{Complete: true, Of: 92},
		spend:  []assay.Spend{{Attempts: 95, Unknown: 1, Usage: assay.Usage{Known: true, Input: 123456, Output: 7890}, Cost: 12_345_600_000, Held: 20_000_000, HeldN: 2, Unpriced: 48}},
	}
	sizes := []int64{30, 25, 2000, 1800, 8, 8}
	for i, size := range sizes {
		h := assay.PlannedStratum{Index: i, Eligible: size, Sampled: min(size, 10)}
		h.Day, h.Arm = fmt.Sprintf("2026-03-0%d", i/2+1), []string{"control", "treatment"}[i%2]
		if i >= 4 {
			h.Sampled = 3
		}
		f.strata = append(f.strata, h)
		n := h.Sampled
		if i == 4 { // control on the third day: everything broke
			f.tally = append(f.tally, store.Tally{Stratum: i, State: assay.ItemErrored, Class: assay.ClassTimeout, N: n})
		} else {
			good := n/2 + int64(i%2)
			f.tally = append(f.tally,
				store.Tally{Stratum: i, State: assay.ItemGraded, Pass: pass(true), N: good, Reused: i == 1},
				store.Tally{Stratum: i, State: assay.ItemGraded, Pass: pass(false), N: n - good})
			f.findings = append(f.findings,
				store.FindingTally{Stratum: i, Criterion: "resolved", Applies: true, Value: "true", N: good},
				store.FindingTally{Stratum: i, Criterion: "resolved", Applies: true, Value: "false", N: n - good},
				store.FindingTally{Stratum: i, Criterion: "outcome", Applies: true, Value: `"done"`, N: good},
				store.FindingTally{Stratum: i, Criterion: "outcome", Applies: true, Value: `"lost"`, N: n - good},
				store.FindingTally{Stratum: i, Criterion: "refund_right", N: n - 2},
				store.FindingTally{Stratum: i, Criterion: "refund_right", Applies: true, Value: "true", N: 2})
		}
		f.tally = append(f.tally, store.Tally{Stratum: i, Judge: 1, State: assay.ItemGraded, Pass: pass(true), N: n - 1, Cut: i == 5},
			store.Tally{Stratum: i, Judge: 1, State: assay.ItemUngradable, Class: assay.ClassContextTooLong, N: 1})
		f.findings = append(f.findings,
			store.FindingTally{Stratum: i, Judge: 1, Criterion: "warmth", Applies: true, Value: "7.5", N: n - 2},
			store.FindingTally{Stratum: i, Judge: 1, Criterion: "warmth", Applies: true, Abstained: true, N: 1})
	}
	f.estimate = f.tally
	return f
}

func budget(u assay.USD) *assay.USD { return &u }

// running is the same run in the middle: two strata have advanced by four items each.
func running() facts {
	f := finished()
	f.chain[0].State, f.chain[0].Phase, f.chain[0].Sentence = assay.RunRunning, assay.PhaseGrading, ""
	f.covers = Covers{Through: 12, Of: 92}
	f.live = assay.Counts{InFlight: 8}
	f.estimate, f.findings, f.tally = nil, nil, nil
	for i := range f.strata {
		f.estimate = append(f.estimate, store.Tally{Stratum: i, State: assay.ItemGraded, Pass: pass(i != 2), N: 1})
		f.tally = append(f.tally, store.Tally{Stratum: i, State: assay.ItemGraded, Pass: pass(i != 2), N: 2},
			store.Tally{Stratum: i, State: assay.ItemPending, N: 2*f.strata[i].Sampled - 2})
	}
	return f
}

func TestText(t *testing.T) {
	for name, r := range map[string]Report{
		"finished": compose(finished()), "running": compose(running()),
		"nothing": compose(facts{chain: []assay.Run{{ID: 1, State: assay.RunQueued, Project: "p", Kind: assay.RunGrade, Spec: assay.GradeSpec{Settings: assay.DefaultSettings()}}}}),
	} {
		for _, width := range []int{100, 60} {
			var b strings.Builder
			if err := Text(&b, r, width); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if n := columns(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s at %d columns has a line of %d: %s", name, width, n, line)
				}
			}
			golden(t, fmt.Sprintf("%s-%d.txt", name, width), b.String())
		}
	}
}

func TestJSON(t *testing.T) {
	for name, f := range map[string]facts{"finished": finished(), "running": running()} {
		b, err := json.MarshalIndent(compose(f), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", string(b)+"\n")
	}
}

func TestDaysAndArmsAddUpToTheWindow(t *testing.T) {
	r := compose(finished())
	for _, k := range r.Judges[1].Criteria { // every stratum has verdicts of this judge
		for _, m := range k.Measures {
			for which, parts := range map[string][]Part{"arms": m.ByArm, "days": m.ByDay} {
				var n, sampled, answered int64
				level := 0.0
				for _, p := range parts {
					n, sampled, answered = n+p.Estimate.N, sampled+p.Estimate.Sampled, answered+p.Estimate.Answered
					level += *p.Estimate.Level * float64(p.Estimate.N) / float64(m.Overall.N)
				}
				if n != m.Overall.N || sampled != m.Overall.Sampled || answered != m.Overall.Answered || math.Abs(level-*m.Overall.Level) > 1e-12 {
					t.Errorf("%s of %s: N=%d n=%d answered=%d level=%v, overall %+v", which, k.Name, n, sampled, answered, level, m.Overall)
				}
			}
		}
	}
	c := r.Counts
	if c.Total != c.Graded+c.Errored+c.Ungradable+c.Cancelled+c.Abandoned+c.Pending || c.Total != 92 {
		t.Errorf("counts do not add up: %+v", c)
	}
}

func TestAbsentIsNeitherZeroNorFail(t *testing.T) {
	r := compose(finished())
	day := r.Judges[0].Criteria[0].Measures[0].ByDay[2].Estimate // control has nothing graded there
	if day.Level != nil || day.Absent != stats.StratumUnobserved {
		t.Errorf("a day with an arm that was never graded has the level %v (%q)", day.Level, day.Absent)
	}
	overall := r.Judges[0].Criteria[0].Measures[0].Overall
	if overall.Level == nil || len(overall.Merged) != 1 || overall.Merged[0].Into != "2026-03-02/control" {
		t.Errorf("overall %+v: the empty day is not merged with its neighbour by name", overall)
	}
}

func TestAbstainedPassIsMissingAndInapplicableIsOutside(t *testing.T) {
	f := facts{
		chain:    []assay.Run{{State: assay.RunCompleted, Spec: assay.GradeSpec{Repeats: 1, Judges: []assay.RunJudge{{Name: "j"}}}}},
		strata:   []assay.PlannedStratum{{Stratum: assay.Stratum{Day: "2026-03-01", Arm: "a"}, Eligible: 10, Sampled: 10}},
		estimate: []store.Tally{{State: assay.ItemGraded, Pass: pass(true), N: 4}, {State: assay.ItemGraded, N: 6}},
	}
	for _, c := range []struct {
		name              string
		criterion         assay.Criterion
		low, high, answer float64
	}{
		{"may not apply", assay.Criterion{Name: "x", MayNotApply: true}, 1, 1, 1},
		{"may abstain", assay.Criterion{Name: "x", MayAbstain: true}, .4, 1, .4},
	} {
		f.versions = []assay.JudgeVersion{{Criteria: []assay.Criterion{c.criterion}}}
		j := compose(f).Judges[0]
		e := j.Criteria[0].Measures[0].Overall
		if *e.Level != 1 || *e.Low != c.low || *e.High != c.high || *e.Coverage != c.answer || *j.Coverage != 1 {
			t.Errorf("%s: level %v in %v..%v, answered %v, coverage %v", c.name, *e.Level, *e.Low, *e.High, *e.Coverage, *j.Coverage)
		}
	}
}

func TestForeignTextCannotMoveTheCursor(t *testing.T) {
	f := finished()
	f.strata[0].Arm = "evil\x1b[2J\rarm"
	var b strings.Builder
	if err := Text(&b, compose(f), 100); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\r") {
		t.Error("a control character of an arm reached the terminal")
	}
}

// What a judge saw cut stands beside every level that rests on it, and nowhere else.
func TestCutTranscriptsStandBesideRates(t *testing.T) {
	r := compose(finished())
	if j := r.Judges[0]; j.Cut != 0 || j.Criteria[0].Measures[0].Overall.Cut != nil {
		t.Errorf("the first judge saw nothing cut: %+v", j)
	}
	j := r.Judges[1]
	if j.Cut != 2 {
		t.Errorf("%d verdicts on cut transcripts, want 2", j.Cut)
	}
	is := func(what string, got *float64, want float64) {
		t.Helper()
		if got == nil && want != 0 || got != nil && math.Abs(*got-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	for _, k := range j.Criteria {
		for _, m := range k.Measures {
			is(k.Name, m.Overall.Cut, 2.0/40)
			is(k.Name+" control", m.ByArm[0].Estimate.Cut, 0)
			is(k.Name+" treatment", m.ByArm[1].Estimate.Cut, 2.0/20)
			is(k.Name+" first day", m.ByDay[0].Estimate.Cut, 0)
			is(k.Name+" third day", m.ByDay[2].Estimate.Cut, 2.0/4)
		}
	}
	if !slices.Contains(r.Notes, CutLegend) {
		t.Error("nobody says what the column means")
	}
}

func TestSpendOfAReport(t *testing.T) {
	f := finished()
	for name, c := range map[string]struct {
		spend assay.Spend
		cost  string
	}{
		"known":   {assay.Spend{Cost: assay.Dollar, Attempts: 1}, "1.0000"},
		"held":    {assay.Spend{Cost: assay.Dollar, Held: assay.Dollar, HeldN: 1, Attempts: 2}, "1.0000 + at most 1.0000 of 1 call"},
		"unknown": {assay.Spend{Unpriced: 3, Attempts: 3}, "unknown for 3 calls"},
	} {
		f.spend = []assay.Spend{c.spend}
		r := compose(f)
		if known := r.Spend.Cost != nil; known != (name == "known") {
			t.Errorf("%s: cost %v", name, r.Spend.Cost)
		}
		if left := 20*assay.Dollar - c.spend.Charged(); r.Spend.Left == nil || *r.Spend.Left != left {
			t.Errorf("%s: %v left, want %v", name, r.Spend.Left, left)
		}
		var b strings.Builder
		if err := Text(&b, r, 0); err != nil || !strings.Contains(b.String(), "cost        USD "+c.cost) || !strings.Contains(b.String(), "budget      USD 20.00, ") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

func TestTokensOfAReportSayWhatIsNotInThem(t *testing.T) {
	f := finished()
	f.spend = []assay.Spend{{Attempts: 3, Unmetered: 2, Usage: assay.Usage{Known: true, Input: 6248}}}
	var b strings.Builder
	if err := Text(&b, compose(f), 0); err != nil || !strings.Contains(b.String(), "tokens      6,248 in, 0 out + unknown for 2 calls\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// A retry's report adds up the spend of the chain, and a budget is of one run: both say of what they speak.
func TestARetrysSpendIsOfTheChain(t *testing.T) {
	f := finished()
	first := f.chain[0]
	first.ID = 1
	f.chain[0].ID, f.chain[0].RetryOf = 2, 1
	f.chain, f.spend = append(f.chain, first), append(f.spend, assay.Spend{Attempts: 4, Cost: assay.Dollar})
	var b strings.Builder
	if err := Text(&b, compose(f), 100); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nSpend of r2 and what it retries (r1)\n", "\n  budget      of r2 alone: USD 20.00, "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestATimeInAZoneThatIsNotKnownSaysSo(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for zone, want := range map[string]string{
		"UTC": "2026-03-02 09:00 UTC", "Europe/Berlin": "2026-03-02 10:00 CET", "Mars/Olympus": "2026-03-02 09:00 UTC (zone Mars/Olympus is not known here)",
	} {
		if got := inZone(at, zone); got != want {
			t.Errorf("%s: %q, want %q", zone, got, want)
		}
	}
}

// A run that is not planned has no numbers, and no reason to look for them.
func TestARunThatHasNotBegunSaysSo(t *testing.T) {
	f := running()
	f.covers, f.strata, f.tally, f.estimate = Covers{}, nil, nil, nil
	var b strings.Builder
	if err := Text(&b, compose(f), 100); err != nil || !strings.Contains(b.String(), "not planned yet") || strings.Contains(b.String(), "absent") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
