package judge

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/assay"
)

func criteria() []assay.Criterion {
	low, high := 0.0, 10.0
	return []assay.Criterion{
		{Name: "done", Type: assay.Boolean, MayAbstain: true, MayNotApply: true, Evidence: assay.EvidenceOptional},
		{Name: "safe", Type: assay.Boolean, MayAbstain: true, Evidence: assay.EvidenceNone},
		{Name: "tone", Type: assay.Ordinal, Values: []string{"bad", "good"}, MayAbstain: true, Evidence: assay.EvidenceNone},
		{Name: "score", Type: assay.Number, Min: &low, Max: &high, MayAbstain: true, Evidence: assay.EvidenceNone},
	}
}

// finding makes one of a value as JSON; "-" abstains, "x" does not apply.
func finding(name, value string) assay.Finding {
	f := assay.Finding{Criterion: name, Applies: value != "x", Abstained: value == "-"}
	if value != "x" && value != "-" {
		f.Value = json.RawMessage(value)
	}
	return f
}

func TestPassRule(t *testing.T) {
	for _, tc := range []struct {
		rule                    string
		done, safe, tone, score string
		want                    string // "nil" when it is undefined
	}{
		{"done", "true", "false", `"bad"`, "1", "true"},
		{"done", "false", "true", `"good"`, "9", "false"},
		{"done", "-", "true", `"good"`, "9", "nil"},
		{"done", "x", "true", `"good"`, "9", "nil"},
		{"done && safe", "true", "true", "-", "-", "true"},
		{"done && safe", "true", "-", "-", "-", "nil"},
		{"done && safe", "false", "-", "-", "-", "false"}, // whatever safe is, it fails
		{"done || safe", "true", "-", "-", "-", "true"},
		{"done || safe", "-", "false", "-", "-", "nil"},
		{`tone == "good" && score >= 5.0`, "-", "-", `"good"`, "5", "true"},
		{`tone == "good" && score >= 5`, "-", "-", `"good"`, "4.5", "false"},
		{`score > 3.0`, "-", "-", "-", "-", "nil"},
		{"!applies.done || done", "x", "-", "-", "-", "true"},
		{"!applies.done || done", "false", "-", "-", "-", "false"},
		{"!applies.done || done", "-", "-", "-", "-", "nil"},
		{"true", "-", "-", "-", "-", "true"},
	} {
		p, err := NewPassRule(tc.rule, criteria())
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.Answer([]assay.Finding{finding("done", tc.done), finding("safe", tc.safe), finding("tone", tc.tone), finding("score", tc.score)})
		got := "nil"
		if a.Pass != nil {
			got = map[bool]string{true: "true", false: "false"}[*a.Pass]
		}
		if err != nil || got != tc.want {
			t.Errorf("%s over %s %s %s %s: %s %v, want %s", tc.rule, tc.done, tc.safe, tc.tone, tc.score, got, err, tc.want)
		}
	}
	for rule, hint := range map[string]string{"": "done && safe", "done &&": "criteria", "missing": "criteria", "score": "compare", "tone": "compare", "applies.missing": ""} {
		p, err := NewPassRule(rule, criteria())
		if rule == "applies.missing" {
			if _, err := p.Answer([]assay.Finding{finding("done", "true"), finding("safe", "true"), finding("tone", `"bad"`), finding("score", "1")}); err == nil {
				t.Error("a rule over a criterion that is not there gave an answer")
			}
			continue
		}
		if e, ok := err.(*assay.Error); !ok || !strings.Contains(e.Hint, hint) {
			t.Errorf("%q: %v", rule, err)
		}
	}
	none, err := NewPassRule("", criteria()[2:])
	if err != nil || none.Expr() != "" {
		t.Fatal(err)
	}
	if a, err := none.Answer([]assay.Finding{finding("tone", `"bad"`), finding("score", "1")}); err != nil || a.Pass != nil {
		t.Errorf("%+v %v", a, err)
	}
}

func TestCheckCriterion(t *testing.T) {
	for _, c := range criteria() {
		if err := CheckCriterion(c); err != nil {
			t.Error(err)
		}
	}
	one, two := 1.0, 2.0
	for name, c := range map[string]assay.Criterion{
		"name":            {Name: "Done", Type: assay.Boolean, Evidence: assay.EvidenceNone},
		"reserved":        {Name: "pass", Type: assay.Boolean, Evidence: assay.EvidenceNone},
		"token":           {Name: TokenField, Type: assay.Boolean, Evidence: assay.EvidenceNone},
		"type":            {Name: "a", Type: "text", Evidence: assay.EvidenceNone},
		"no values":       {Name: "a", Type: assay.Ordinal, Evidence: assay.EvidenceNone},
		"one value":       {Name: "a", Type: assay.Category, Values: []string{"x"}, Evidence: assay.EvidenceNone},
		"same value":      {Name: "a", Type: assay.Category, Values: []string{"x", "x"}, Evidence: assay.EvidenceNone},
		"empty value":     {Name: "a", Type: assay.Category, Values: []string{"x", " "}, Evidence: assay.EvidenceNone},
		"boolean values":  {Name: "a", Type: assay.Boolean, Values: []string{"x", "y"}, Evidence: assay.EvidenceNone},
		"boolean bounds":  {Name: "a", Type: assay.Boolean, Min: &one, Evidence: assay.EvidenceNone},
		"crossed bounds":  {Name: "a", Type: assay.Number, Min: &two, Max: &one, Evidence: assay.EvidenceNone},
		"unknown quoting": {Name: "a", Type: assay.Boolean, Evidence: "must"},
	} {
		if err := CheckCriterion(c); err == nil || err.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckValue(t *testing.T) {
	c := criteria()
	for _, tc := range []struct {
		c    int
		raw  string
		want string // "" is refused
	}{
		{0, "true", "true"}, {0, " false\n", "false"}, {0, "null", ""}, {0, `"true"`, ""}, {0, "1", ""}, {0, "", ""},
		{2, `"good"`, `"good"`}, {2, `"Good"`, ""}, {2, `"great"`, ""}, {2, "1", ""}, {2, `"go\u006fd"`, `"good"`},
		{3, "5", "5"}, {3, "5.50", "5.5"}, {3, "1e1", "10"}, {3, "11", ""}, {3, "-0.1", ""}, {3, `"5"`, ""}, {3, "1e999", ""}, {3, "NaN", ""}, {3, "null", ""}, {3, "[5]", ""},
	} {
		got, err := CheckValue(c[tc.c], json.RawMessage(tc.raw))
		if string(got) != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s %q: %q %v", c[tc.c].Name, tc.raw, got, err)
		}
	}
}

type panics struct{ Judge }

func (panics) Ask(context.Context, Question) Reply { panic("a session that nobody can bear") }

func TestSafe(t *testing.T) {
	r := Safe(panics{}).Ask(t.Context(), Question{})
	if r.Class != assay.ClassJudgeError || !strings.Contains(r.Error, "nobody can bear") || r.EndedAt.IsZero() {
		t.Errorf("%+v", r)
	}
}

func TestShownLeavesTheSessionAsItWas(t *testing.T) {
	s := &assay.Session{UserID: "u", Turns: []assay.Turn{{AgentVersion: "v", Metadata: map[string]json.RawMessage{"arm": json.RawMessage("true"), "tier": json.RawMessage("1")}}}}
	before, _ := json.Marshal(s)
	shown := Shown(s, []string{"metadata.tier"})
	if after, _ := json.Marshal(s); string(after) != string(before) {
		t.Errorf("%s became %s", before, after)
	}
	if shown.UserID != "" || shown.Turns[0].AgentVersion != "" || len(shown.Turns[0].Metadata) != 1 {
		t.Errorf("%+v", shown)
	}
}
