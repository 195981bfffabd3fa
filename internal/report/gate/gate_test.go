package gate_test

import (
	"errors"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/gate"
	"assay/internal/stats"
)

func parse(t *testing.T, text string) gate.Gate {
	t.Helper()
	g, err := gate.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestParse(t *testing.T) {
	for text, want := range map[string]gate.Gate{
		"drop > 0.02":               {Text: "drop > 0.02", Metric: gate.Drop, Criterion: "pass", Op: ">", Limit: 0.02},
		" coverage<95% ":            {Text: "coverage<95%", Metric: gate.Coverage, Criterion: "pass", Op: "<", Limit: 0.95},
		"Drop: tone of it >= -1e-2": {Text: "Drop: tone of it >= -1e-2", Metric: gate.Drop, Criterion: "tone of it", Op: ">=", Limit: -0.01},
		"rate:score <= 3.5":         {Text: "rate:score <= 3.5", Metric: gate.Rate, Criterion: "score", Op: "<=", Limit: 3.5},
	} {
		if got := parse(t, text); got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
	for _, text := range []string{"", "drop", "drop > x", "drop = 1", "drops > 1", "drop > 1.2.3", "drop > 0.02 or so", "> 1"} {
		_, err := gate.Parse(text)
		var e *assay.Error
		if !errors.As(err, &e) || e.Code != assay.CodeInvalid || e.Hint == "" || !strings.Contains(e.Message, text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func between(low, x, high float64) gate.Subject {
	return gate.Subject{Value: stats.Known(x), Interval: stats.Interval{Low: low, High: high, Confidence: 0.95}, Sampled: 100}
}

func TestDecide(t *testing.T) {
	g := parse(t, "drop > 0.02")
	for _, c := range []struct {
		name string
		s    gate.Subject
		want gate.Decision
	}{
		{"above", between(0.03, 0.05, 0.07), gate.Fail},
		{"below", between(-0.01, 0, 0.01), gate.Pass},
		{"around", between(0.01, 0.04, 0.07), gate.Inconclusive},
		{"up to the limit", between(0, 0.01, 0.02), gate.Pass},
		{"absent", gate.Subject{Value: stats.None(stats.NothingPaired)}, gate.Inconclusive},
		{"no interval", gate.Subject{Value: stats.Known(0.5), Interval: stats.Interval{Absent: stats.TooFewUsers}}, gate.Inconclusive},
		{"a fact above", gate.Subject{Fact: true, Value: stats.Known(0.021)}, gate.Fail},
		{"a fact below", gate.Subject{Fact: true, Value: stats.Known(0.02)}, gate.Pass},
		{"no fact", gate.Subject{Fact: true, Value: stats.None(stats.NothingObserved)}, gate.Inconclusive},
	} {
		got := gate.Decide(g, c.s)
		if got.Decision != c.want || !strings.HasPrefix(got.Sentence, string(c.want)+":") {
			t.Errorf("%s: %s, %q", c.name, got.Decision, got.Sentence)
		}
	}
}

// The n that would decide narrows the interval until the limit is at its end.
func TestNeeds(t *testing.T) {
	g := parse(t, "drop > 0.02")
	o := gate.Decide(g, between(0.01, 0.035, 0.06)) // half a width of 0.025, and 0.015 from the limit
	if o.Needs == nil || *o.Needs != 278 {
		t.Errorf("needs %v, want 100 (0.025/0.015)^2", o.Needs)
	}
	if o := gate.Decide(g, between(0.01, 0.02, 0.03)); o.Needs != nil {
		t.Errorf("on the limit itself needs %d", *o.Needs)
	}
}

func TestOverall(t *testing.T) {
	of := func(list ...gate.Decision) (out []gate.Outcome) {
		for _, d := range list {
			out = append(out, gate.Outcome{Decision: d})
		}
		return out
	}
	if gate.Overall(nil) != gate.Pass || gate.Overall(of(gate.Pass, gate.Inconclusive)) != gate.Inconclusive ||
		gate.Overall(of(gate.Inconclusive, gate.Fail, gate.Pass)) != gate.Fail {
		t.Error("a failed gate decides, then an inconclusive one")
	}
}
