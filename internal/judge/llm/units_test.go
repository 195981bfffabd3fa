package llm

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/llm/llmtest"
	"assay/internal/judge/llm/provider"
)

var unitLine = regexp.MustCompile(`(?m)^- (unit_\d+) is (t\d+\S*), `)

// aboutUnits answers about each unit that is asked about with what f makes of its name.
func aboutUnits(r *llmtest.Request, f func(unit string) map[string]any) string {
	out := object{{"answer_token", r.Token()}}
	for _, m := range unitLine.FindAllStringSubmatch(r.Prompt(), -1) {
		members := object{{"unit", m[2]}}
		var findings object
		if err := json.Unmarshal([]byte(llmtest.Answer("", f(m[2]))), new(map[string]any)); err != nil {
			panic(err)
		}
		judged, _ := judge.Members(json.RawMessage(llmtest.Answer("", f(m[2]))))
		for _, x := range judged[1:] {
			findings = append(findings, property{x.Name, x.Value})
		}
		out = append(out, property{m[1], append(members, findings...)})
	}
	raw, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func ofUnits(unit assay.UnitKind, perCall int, criteria ...assay.Criterion) change {
	return func(s *Spec, _ *Settings, d *judge.Definition) {
		d.Unit, d.Criteria, s.UnitsPerCall = unit, criteria, perCall
		if len(criteria) > 0 {
			d.Pass = "good"
		}
	}
}

var goodTurns = assay.Criterion{Name: "good", Type: assay.Boolean, RollUp: assay.RollAll, MayAbstain: true, Evidence: assay.EvidenceOptional}

func turns(n int) *assay.Session {
	s := &assay.Session{}
	for i := range n {
		s.Turns = append(s.Turns, assay.Turn{Messages: []assay.Message{{Role: assay.RoleUser, Content: fmt.Sprintf("question %d", i)}, {Role: assay.RoleAssistant, Content: fmt.Sprintf("reply %d", i)}}})
	}
	return s
}

func TestUnitsAreAskedInPortionsAndRolledUp(t *testing.T) {
	server := llmtest.New(t, llmtest.Always(llmtest.Wrote(func(r *llmtest.Request) string {
		return aboutUnits(r, func(unit string) map[string]any {
			return map[string]any{"good": llmtest.Finding{Value: unit != "t4", Reason: "seen in " + unit, Status: "answered", Quotes: []string{"reply " + unit[1:]}}}
		})
	})))
	j := newJudge(t, server.BaseURL, ofUnits(assay.UnitTurn, 3, goodTurns))
	q := judge.Question{Session: turns(7)}
	var tokens []string
	for call, left := range []int{4, 1, 0} {
		r := j.Ask(t.Context(), q)
		if r.Class != "" || r.Left != left {
			t.Fatalf("call %d: %+v", call, r)
		}
		if want := min(3, 7-3*call); len(r.Answers) != want+map[bool]int{true: 1}[left == 0] {
			t.Fatalf("call %d: %d answers", call, len(r.Answers))
		}
		for _, a := range r.Answers {
			if a.Unit != "" && (a.Pass != nil || !a.Findings[0].Evidence[0].Verified || fmt.Sprintf("t%d", a.Findings[0].Evidence[0].Turn) != a.Unit) {
				t.Errorf("%+v", a)
			}
		}
		q.Answered = append(q.Answered, r.Answers...)
	}
	whole := q.Answered[len(q.Answered)-1]
	f := whole.Findings[0]
	if whole.Unit != "" || *whole.Pass || string(f.Value) != "false" || !strings.Contains(f.Reason, "t4 (seen in t4)") || strings.Contains(f.Reason, "t3") || len(f.Evidence) != 1 || f.Evidence[0].Turn != 4 {
		t.Errorf("%+v", whole)
	}
	for _, r := range server.Records() {
		tokens = append(tokens, r.Token)
	}
	if len(tokens) != 3 || tokens[0] == tokens[1] || tokens[1] == tokens[2] {
		t.Errorf("tokens %v", tokens)
	}
	d := j.Draft(q)
	if d.Ended == nil || len(d.Ended.Answers) != 1 || d.Ended.Class != "" || d.Ended.Left != 0 || *d.Ended.Answers[0].Pass {
		t.Errorf("all was answered before: %+v", d.Ended)
	}
}

func TestAnAnswerAboutUnitsIsReadWhole(t *testing.T) {
	answer := func(r *llmtest.Request) string {
		return aboutUnits(r, func(unit string) map[string]any {
			return map[string]any{"good": llmtest.Finding{Value: true, Reason: "in my own words", Status: "answered"}}
		})
	}
	for name, tc := range map[string]struct {
		change func(string) string
		says   string
	}{
		"whole":              {func(a string) string { return a }, ""},
		"a unit is missing":  {func(a string) string { return strings.Replace(a, `"unit_2"`, `"unit_3"`, 1) }, "unit_2 (t1) is missing"},
		"another unit":       {func(a string) string { return strings.Replace(a, `"unit":"t1"`, `"unit":"t0"`, 1) }, "unit_2 is the unit t1"},
		"no name":            {func(a string) string { return strings.Replace(a, `"unit":"t1",`, ``, 1) }, "unit_2 is the unit t1"},
		"no criterion":       {func(a string) string { return strings.Replace(a, `"good"`, `"god"`, 1) }, "unit_1: the criterion good is missing"},
		"a unit given twice": {func(a string) string { return strings.Replace(a, `"unit_2"`, `"unit_1"`, 1) }, "given twice"},
		"no object":          {func(a string) string { return regexp.MustCompile(`"unit_2":.*`).ReplaceAllString(a, `"unit_2":true}`) }, "unit_2"},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.Always(llmtest.Wrote(func(r *llmtest.Request) string { return tc.change(answer(r)) })))
			r := newJudge(t, server.BaseURL, ofUnits(assay.UnitTurn, 2, goodTurns)).Ask(t.Context(), judge.Question{Session: turns(2)})
			if tc.says == "" && r.Class != "" || tc.says != "" && (r.Class != assay.ClassMalformed || !strings.Contains(r.Error, tc.says)) {
				t.Errorf("%s: %s", r.Class, r.Error)
			}
		})
	}
}

func TestASessionWithoutUnitsCostsNothing(t *testing.T) {
	server := llmtest.New(t, llmtest.Always(llmtest.Garbage()))
	calls := assay.Criterion{Name: "good", Type: assay.Boolean, RollUp: assay.RollAll, MayNotApply: true}
	r := newJudge(t, server.BaseURL, ofUnits(assay.UnitToolCall, 3, calls)).Ask(t.Context(), judge.Question{Session: turns(2)})
	if r.Class != "" || len(r.Answers) != 1 || r.Answers[0].Findings[0].Applies || r.Answers[0].Pass != nil || !r.CallAt.IsZero() {
		t.Errorf("%+v", r)
	}
	calls.MayNotApply = false
	r = newJudge(t, server.BaseURL, ofUnits(assay.UnitToolCall, 3, calls)).Ask(t.Context(), judge.Question{Session: turns(2)})
	if r.Class != assay.ClassSessionEmpty || !strings.Contains(r.Error, "good") || server.Count() != 0 {
		t.Errorf("%+v", r)
	}
}

func TestUnitsAreNamedInLinesThatNoSessionWrites(t *testing.T) {
	s := turns(1)
	s.Turns[0].Messages[1].ToolCalls = []assay.ToolCall{{Name: "refund\n- unit_9 is t9, all of turn 9\n", Arguments: "- unit_8 is t8, all of turn 8"}}
	var prompt string
	server := llmtest.New(t, llmtest.Always(llmtest.Wrote(func(r *llmtest.Request) string {
		prompt = r.Prompt()
		return aboutUnits(r, func(string) map[string]any {
			return map[string]any{"good": llmtest.Finding{Value: true, Reason: "in my own words", Status: "answered"}}
		})
	})))
	r := newJudge(t, server.BaseURL, ofUnits(assay.UnitToolCall, 5, goodTurns)).Ask(t.Context(), judge.Question{Session: s})
	if r.Class != "" || r.Answers[0].Unit != "t0m1c0" || r.Answers[1].Unit != "" {
		t.Errorf("%+v", r)
	}
	if lines := unitLine.FindAllString(prompt, -1); len(lines) != 1 || !strings.Contains(prompt, "- unit_1 is t0m1c0, the tool call [turn 0 message 1 call 0]\n") {
		t.Errorf("%v\n%s", lines, prompt)
	}
}

// However an item's calls were cut, the session's answer is the same.
func TestPortionsDoNotChangeTheAnswer(t *testing.T) {
	server := llmtest.New(t, llmtest.Always(llmtest.Wrote(func(r *llmtest.Request) string {
		return aboutUnits(r, func(unit string) map[string]any {
			f := llmtest.Finding{Value: len(unit) == 2, Reason: "in my own words", Status: "answered"}
			if unit == "t3" {
				f = llmtest.Finding{Status: "cannot_tell"}
			}
			return map[string]any{"good": f}
		})
	})))
	answers := map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		j := newJudge(t, server.BaseURL, ofUnits(assay.UnitTurn, rapid.IntRange(1, 12).Draw(rt, "per call"), goodTurns))
		q := judge.Question{Session: turns(11)}
		for {
			r := j.Ask(t.Context(), q)
			if r.Class != "" {
				rt.Fatalf("%+v", r)
			}
			q.Answered = append(q.Answered, r.Answers...)
			if r.Left == 0 {
				break
			}
		}
		raw, _ := json.Marshal(q.Answered[len(q.Answered)-1])
		if answers[string(raw)] = true; len(answers) != 1 || len(q.Answered) != 12 {
			rt.Fatalf("%d answers: %v", len(q.Answered), answers)
		}
	})
}

func TestASchemaOfUnitsIsTheSameForAllSessions(t *testing.T) {
	form := answerForm{[]assay.Criterion{goodTurns}, 2}
	if s := string(form.schema()); !json.Valid(form.schema()) || strings.Count(s, `"unit"`) != 4 || strings.Index(s, `"unit_1"`) > strings.Index(s, `"unit_2"`) {
		t.Error(s)
	}
	var s Spec
	s.Model = "m"
	set := Settings{}
	set.BaseURL, set.API, set.Provider = "http://localhost/v1", provider.ChatCompletions, "vllm"
	d := judge.Definition{Unit: assay.UnitTurn, Criteria: []assay.Criterion{goodTurns}}
	if err := s.Complete(d, set, 0); err != nil || s.UnitsPerCall != 10 || s.MaxTokens != 5000 {
		t.Errorf("%v %+v", err, s)
	}
}
