package judge

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/assay"
)

func one(c assay.Criterion, values ...any) []assay.Answer {
	var answers []assay.Answer
	for i, v := range values {
		f := assay.Finding{Criterion: c.Name, Applies: true, Reason: fmt.Sprintf("r%d", i), Evidence: []assay.Evidence{{Turn: i, Quote: "q"}}}
		switch v {
		case na:
			f.Applies = false
		case unsure:
			f.Abstained = true
		default:
			f.Value, _ = json.Marshal(v)
		}
		answers = append(answers, assay.Answer{Unit: fmt.Sprintf("t%d", i), Findings: []assay.Finding{f}})
	}
	return answers
}

type special string

const (
	na     special = "does not apply"
	unsure special = "abstained"
)

func TestRollUp(t *testing.T) {
	zero, five := 0.0, 5.0
	boolean := func(r assay.RollUp) assay.Criterion {
		return assay.Criterion{Name: "ok", Type: assay.Boolean, RollUp: r}
	}
	bounded := func(r assay.RollUp) assay.Criterion {
		return assay.Criterion{Name: "n", Type: assay.Number, Min: &zero, Max: &five, RollUp: r}
	}
	free := func(r assay.RollUp) assay.Criterion {
		return assay.Criterion{Name: "n", Type: assay.Number, RollUp: r}
	}
	ordinal := func(r assay.RollUp) assay.Criterion {
		return assay.Criterion{Name: "tone", Type: assay.Ordinal, Values: []string{"bad", "fair", "good"}, RollUp: r}
	}
	mayNot := func(c assay.Criterion) assay.Criterion { c.MayNotApply = true; return c }
	for name, tc := range map[string]struct {
		c      assay.Criterion
		values []any
		want   string // a value, "abstained", "not applicable" or "error"
		by     string // in the reason
	}{
		"all true":                {boolean("all"), []any{true, true}, "true", "t0 (r0), t1 (r1)"},
		"all, one false":          {boolean("all"), []any{true, false, unsure}, "false", "by t1 (r1)"},
		"all, unknown":            {boolean("all"), []any{true, unsure}, "abstained", "t1"},
		"all, one left out":       {boolean("all"), []any{true, na}, "true", "t0"},
		"any false":               {boolean("any"), []any{false, false}, "false", ""},
		"any, one true":           {boolean("any"), []any{false, true, unsure}, "true", "by t1 (r1)"},
		"any, unknown":            {boolean("any"), []any{false, unsure}, "abstained", ""},
		"share":                   {boolean("share"), []any{true, false, true, na, false}, "0.5", "t0 (r0), t2 (r2)"},
		"share of none":           {boolean("share"), []any{false}, "0", "no unit"},
		"share, unknown":          {boolean("share"), []any{true, unsure}, "abstained", ""},
		"count":                   {boolean("count"), []any{true, false, true}, "2", ""},
		"count, unknown":          {boolean("count"), []any{true, unsure}, "abstained", ""},
		"count of no units":       {boolean("count"), nil, "0", "no units"},
		"mean":                    {free("mean"), []any{1, 2, 6}, "3", ""},
		"mean, unknown":           {bounded("mean"), []any{1, unsure}, "abstained", ""},
		"min":                     {free("min"), []any{3, 1, 2, 1}, "1", "by t1 (r1), t3 (r3)"},
		"min, unknown":            {free("min"), []any{-1e300, unsure}, "abstained", ""},
		"min at its bound":        {bounded("min"), []any{0, unsure}, "0", ""},
		"max at its bound":        {bounded("max"), []any{5, unsure}, "5", ""},
		"max, unknown":            {bounded("max"), []any{4, unsure}, "abstained", ""},
		"worst tone":              {ordinal("min"), []any{"good", "fair"}, `"fair"`, "by t1"},
		"worst tone, unknown":     {ordinal("min"), []any{"good", unsure}, "abstained", ""},
		"worst tone there is":     {ordinal("min"), []any{"bad", unsure}, `"bad"`, ""},
		"best tone there is":      {ordinal("max"), []any{"good", unsure}, `"good"`, ""},
		"only unknown":            {boolean("any"), []any{unsure}, "abstained", ""},
		"applies to none":         {mayNot(boolean("all")), []any{na, na}, "not applicable", "none of 2"},
		"no units, may not apply": {mayNot(boolean("count")), nil, "not applicable", "no units"},
		"no units":                {boolean("all"), nil, "error", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := RollUp([]assay.Criterion{tc.c}, one(tc.c, tc.values...))
			got := "error"
			if err == nil {
				got = state(f[0])
			}
			if got != tc.want || err == nil && (!strings.Contains(f[0].Reason, tc.by) || f[0].Criterion != tc.c.Name) {
				t.Fatalf("%s: %+v %v", got, f, err)
			}
			if err == nil && f[0].Value != nil && len(tc.values) > 0 && tc.by != "no unit" && len(f[0].Evidence) == 0 {
				t.Errorf("no evidence of the units that decided: %+v", f[0])
			}
		})
	}
}

func state(f assay.Finding) string {
	switch {
	case !f.Applies:
		return "not applicable"
	case f.Abstained:
		return "abstained"
	}
	return string(f.Value)
}

// A value is given exactly where no answer about the units that are not known could change it.
func TestARolledUpValueIsWhatNoUnknownUnitCouldChange(t *testing.T) {
	low, high := 0.0, 2.0
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom([]assay.Criterion{
			{Name: "b", Type: assay.Boolean}, {Name: "n", Type: assay.Number, Min: &low, Max: &high}, {Name: "o", Type: assay.Ordinal, Values: []string{"0", "1", "2"}},
		}).Draw(t, "criterion")
		c.RollUp = rapid.SampledFrom(rollUps[c.Type]).Draw(t, "roll_up")
		domain := map[assay.CriterionType][]any{assay.Boolean: {true, false}, assay.Number: {0, 1, 2}, assay.Ordinal: {"0", "1", "2"}}[c.Type]
		values := rapid.SliceOfN(rapid.SampledFrom(append([]any{na, unsure}, domain...)), 1, 6).Draw(t, "values")
		got, err := RollUp([]assay.Criterion{c}, one(c, values...))
		applies := false
		for _, v := range values {
			applies = applies || v != na
		}
		if !applies {
			if err == nil && c.RollUp != assay.RollCount {
				t.Fatalf("%+v", got)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		possible := map[string]bool{}
		complete(values, domain, func(full []any) {
			f, err := RollUp([]assay.Criterion{c}, one(c, full...))
			if err != nil || f[0].Abstained {
				t.Fatalf("%v: %+v %v", full, f, err)
			}
			if _, err := CheckValue(RolledUp([]assay.Criterion{c})[0], f[0].Value); err != nil {
				t.Fatalf("%v: %v", full, err)
			}
			possible[string(f[0].Value)] = true
		})
		if got[0].Abstained == (len(possible) == 1) || !got[0].Abstained && !possible[string(got[0].Value)] {
			t.Fatalf("%s of %v: %+v, possible %v", c.RollUp, values, got[0], possible)
		}
	})
}

// complete tries every answer for the units that are not known.
func complete(values, domain []any, f func([]any)) {
	for i, v := range values {
		if v != unsure {
			continue
		}
		for _, d := range domain {
			complete(append(append(append([]any{}, values[:i]...), d), values[i+1:]...), domain, f)
		}
		return
	}
	f(values)
}

func TestMeanOfLargeNumbersDoesNotOverflow(t *testing.T) {
	c := assay.Criterion{Name: "n", Type: assay.Number, RollUp: assay.RollMean}
	f, err := RollUp([]assay.Criterion{c}, one(c, math.MaxFloat64, math.MaxFloat64))
	if err != nil || f[0].Value == nil {
		t.Errorf("%+v %v", f, err)
	}
}

func TestReasonsAreBounded(t *testing.T) {
	c := assay.Criterion{Name: "b", Type: assay.Boolean, RollUp: assay.RollAll}
	f, err := RollUp([]assay.Criterion{c}, one(c, repeated(true, 5000)...))
	if err != nil || len(f[0].Reason) > maxRolledReason+40 || !strings.Contains(f[0].Reason, " more") || len(f[0].Evidence) != MaxQuotes {
		t.Errorf("%d quotes, %v, %s", len(f[0].Evidence), err, f[0].Reason)
	}
}

func repeated(v any, n int) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = v
	}
	return all
}

func TestCheckRollUp(t *testing.T) {
	for name, tc := range map[string]struct {
		c    assay.Criterion
		unit assay.UnitKind
		says string // "" is good
		hint string
	}{
		"good":            {assay.Criterion{Name: "a", Type: assay.Boolean, RollUp: "share"}, assay.UnitTurn, "", ""},
		"session":         {assay.Criterion{Name: "a", Type: assay.Boolean}, assay.UnitSession, "", ""},
		"none":            {assay.Criterion{Name: "a", Type: assay.Number}, assay.UnitTurn, "no roll_up", "min, max, mean"},
		"of a session":    {assay.Criterion{Name: "a", Type: assay.Boolean, RollUp: "all"}, assay.UnitSession, "whole sessions", "unit"},
		"another type's":  {assay.Criterion{Name: "a", Type: assay.Ordinal, RollUp: "mean"}, assay.UnitTurn, `no roll_up "mean"`, "min, max"},
		"misspelt":        {assay.Criterion{Name: "a", Type: assay.Boolean, RollUp: "shares"}, assay.UnitTurn, `did you mean "share"`, ""},
		"category":        {assay.Criterion{Name: "a", Type: assay.Category, RollUp: "all"}, assay.UnitTurn, "cannot be rolled up", "one boolean per value"},
		"name of a field": {assay.Criterion{Name: "unit", Type: assay.Boolean, RollUp: "all"}, assay.UnitToolCall, "reserved", "unit_ok"},
	} {
		err := CheckRollUp(tc.c, tc.unit)
		if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Message, tc.says) || !strings.Contains(err.Hint, tc.hint)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnits(t *testing.T) {
	s := &assay.Session{Turns: []assay.Turn{
		{Messages: []assay.Message{{Role: assay.RoleSystem, Content: "be kind"}}},
		{Messages: []assay.Message{{Role: assay.RoleUser, Content: "hi"}, {Role: assay.RoleAssistant, ToolCalls: []assay.ToolCall{{Name: "a"}, {Name: "b"}}}}},
		{Messages: []assay.Message{{Role: assay.RoleUser, Content: " "}}},
		{Messages: []assay.Message{{Role: assay.RoleAssistant, ToolCalls: []assay.ToolCall{{Name: "c"}}}}},
	}}
	for kind, want := range map[assay.UnitKind]string{assay.UnitTurn: "t1 t3", assay.UnitToolCall: "t1m1c0 t1m1c1 t3m0c0", assay.UnitSession: ""} {
		var names []string
		for _, u := range Units(s, kind) {
			names = append(names, u.Name)
		}
		if strings.Join(names, " ") != want {
			t.Errorf("%s: %v", kind, names)
		}
	}
}
