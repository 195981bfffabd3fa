package rules

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
)

func at(s string) *time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return &t
}

func session() *assay.Session {
	return &assay.Session{UserID: "u1", SessionID: "s1", Turns: []assay.Turn{
		{StartedAt: at("2026-03-01T10:00:00Z"), EndedAt: at("2026-03-01T10:00:30Z"), AgentVersion: "v7", Source: "chat",
			Metadata: map[string]json.RawMessage{"arm": json.RawMessage(`"treatment"`), "tier": json.RawMessage(`"gold"`), "n": json.RawMessage(`3`)},
			Messages: []assay.Message{
				{Role: assay.RoleSystem, Content: "Policy: be kind."},
				{Role: assay.RoleUser, Content: "Please CANCEL my Ärger booking ABC123"},
				{Role: assay.RoleAssistant, ToolCalls: []assay.ToolCall{{ID: "c1", Name: "cancel", Arguments: `{"id":"ABC123","fee":12.5}`}}},
				{Role: assay.RoleTool, ToolCallID: "c1", Content: "Error: not found"},
			}},
		{Messages: []assay.Message{
			{Role: assay.RoleAssistant, ToolCalls: []assay.ToolCall{{ID: "c1", Name: "cancel", Arguments: `{"id":"ABC124"}`}}},
			{Role: assay.RoleTool, ToolCallID: "c1", Content: "ok"},
			{Role: assay.RoleAssistant, Content: "Done, refund of 20 EUR.", Parts: []assay.Part{{Kind: "image"}}},
		}},
	}}
}

func criterion(typ assay.CriterionType, values ...string) assay.Criterion {
	return assay.Criterion{Name: "c", Type: typ, Values: values, Evidence: assay.EvidenceOptional, MayNotApply: true}
}

func build(t testing.TB, c assay.Criterion, r Rule, fields ...string) *Judge {
	t.Helper()
	j, err := New(judge.Definition{Criteria: []assay.Criterion{c}, Fields: fields}, Spec{Rules: []Rule{r}})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestWhatExpressionsSee(t *testing.T) {
	for _, expr := range []string{
		`size(turns) == 2 && size(messages) == 7`,
		`size(user_messages) == 1 && user_messages[0].index == 1 && user_messages[0].turn == 0`,
		`size(assistant_messages) == 3`,
		`tool_results.exists(r, r.content.startsWith("Error"))`,
		`tool_calls.map(c, c.result) == ["Error: not found", "ok"]`,
		`json(tool_calls[0].arguments).fee > 12`,
		`user_messages[0].lower.contains("cancel my ärger")`,
		`lower_text.contains("ärger") && !text.contains("Policy")`,
		`"ÄRGER".lower() == "ärger"`,
		`messages[0].role == "system"`,
		`has(turns[0].started_at) && !has(turns[1].started_at)`,
		`turns[0].ended_at - turns[0].started_at == duration("30s")`,
		`turns[1].messages[2].parts == ["image"]`,
		`messages.filter(m, has(m.tool_calls)).size() == 2`,
		`text.find("[0-9]+ EUR") == ["20 EUR"]`,
		`text.matches("refund of \\d+")`,
		`messages.exists(m, m.content.split(" ").size() > 3)`,
	} {
		r := build(t, criterion(assay.Boolean), Rule{Expr: expr}).Ask(t.Context(), judge.Question{Session: session()})
		if r.Class != "" || string(r.Answers[0].Findings[0].Value) != "true" || !*r.Answers[0].Pass {
			t.Errorf("%s: %+v", expr, r)
		}
	}
}

func TestHiddenFieldsAreUnknownUntilListed(t *testing.T) {
	for expr, hint := range map[string]string{
		`arm == "treatment"`:        "never sees the arm",
		`agent_version == "v7"`:     "`fields:`",
		`metadata.tier == "gold"`:   "metadata.KEY",
		`session_id == "s1"`:        "`fields:`",
		`mesages.size() == 0`:       `did you mean "messages"?`,
		`turns[0].metadata == {}`:   "",
		`messages[0].conten == ""`:  "",
		`messages[0]`:               "",
		`size(messages)`:            "",
		`text.find("(").size() > 0`: "",
		`text.matches("(")`:         "",
	} {
		_, err := New(judge.Definition{Criteria: []assay.Criterion{criterion(assay.Boolean)}}, Spec{Rules: []Rule{{Expr: expr}}})
		var x *ExprError
		if !errors.As(err, &x) || !strings.Contains(x.Hint, hint) {
			t.Errorf("%s: %v (hint %q)", expr, err, func() string {
				if x != nil {
					return x.Hint
				}
				return ""
			}())
		}
	}
	j := build(t, criterion(assay.Boolean), Rule{Expr: `metadata == {"tier": "gold"} && agent_version == "v7" && user_id == "u1"`}, "metadata.tier", "agent_version", "user_id")
	if r := j.Ask(t.Context(), judge.Question{Session: session()}); r.Class != "" || !*r.Answers[0].Pass {
		t.Errorf("%+v", r)
	}
}

func TestAnExpressionThatBreaksIsNeverAFail(t *testing.T) {
	for _, expr := range []string{
		`messages[99].content == ""`,
		`turns[1].started_at > timestamp("2026-01-01T00:00:00Z")`,
		`json(text).a == 1`,
		`json(tool_calls[1].arguments).fee > 1.0`,
		`messages.map(a, messages.map(b, messages.map(c, messages.map(d, messages.map(e, messages.map(f, messages.map(g, messages.map(h, messages.map(i, text + text))))))))).size() > 0`,
	} {
		r := build(t, criterion(assay.Boolean), Rule{Expr: expr}).Ask(t.Context(), judge.Question{Session: session()})
		if r.Class != assay.ClassJudgeError || r.Error == "" || r.Answers != nil {
			t.Errorf("%s: %+v", expr, r)
		}
	}
	low := 1.0
	n := criterion(assay.Number)
	n.Max = &low
	for _, tc := range []struct {
		c assay.Criterion
		e string
	}{{n, `size(messages)`}, {n, `0.0 / 0.0`}, {criterion(assay.Category, "a", "b"), `"z"`}} {
		if r := build(t, tc.c, Rule{Expr: tc.e}).Ask(t.Context(), judge.Question{Session: session()}); r.Class != assay.ClassJudgeError {
			t.Errorf("%s: %+v", tc.e, r)
		}
	}
}

func TestReasonEvidenceAndApplies(t *testing.T) {
	rule := Rule{
		Expr:     `size(tool_results.filter(r, r.content.startsWith("Error"))) == 0`,
		Reason:   `value ? "no tool failed" : "a tool failed"`,
		Evidence: `value ? [] : tool_results.filter(r, r.content.startsWith("Error")).map(r, r.content)`,
	}
	r := build(t, criterion(assay.Boolean), rule).Ask(t.Context(), judge.Question{Session: session()})
	f := r.Answers[0].Findings[0]
	if f.Reason != "a tool failed" || len(f.Evidence) != 1 || !f.Evidence[0].Verified || f.Evidence[0].Message != 3 || f.Evidence[0].End != 16 {
		t.Errorf("%+v", f)
	}
	rule.Applies = `size(tool_calls) > 5`
	r = build(t, criterion(assay.Boolean), rule).Ask(t.Context(), judge.Question{Session: session()})
	if f := r.Answers[0].Findings[0]; f.Applies || f.Value != nil || r.Answers[0].Pass != nil {
		t.Errorf("%+v", r)
	}
	r = build(t, criterion(assay.Boolean), Rule{Expr: "false", Evidence: `"never said"`}).Ask(t.Context(), judge.Question{Session: session()})
	if e := r.Answers[0].Findings[0].Evidence[0]; e.Verified || e.Quote != "never said" {
		t.Errorf("%+v", e)
	}
}

func TestNeedsBody(t *testing.T) {
	constant := build(t, criterion(assay.Boolean), Rule{Expr: "1 + 1 == 2", Reason: `value ? "always" : ""`})
	if constant.NeedsBody() {
		// `value` is the criterion's own and no part of the session.
		t.Error("a constant needs no body")
	}
	if r := constant.Ask(t.Context(), judge.Question{}); r.Class != "" || !*r.Answers[0].Pass {
		t.Errorf("%+v", r)
	}
	reads := build(t, criterion(assay.Boolean), Rule{Expr: "size(messages) >= 0"})
	if !reads.NeedsBody() {
		t.Error("an expression over messages needs the body")
	}
	if r := reads.Ask(t.Context(), judge.Question{}); r.Class != assay.ClassSessionMissing {
		t.Errorf("%+v", r)
	}
	quotes := build(t, criterion(assay.Boolean), Rule{Expr: "true", Evidence: `["x"]`})
	if !quotes.NeedsBody() {
		t.Error("a quote is looked up in the body")
	}
}

func TestOneJudgeServesManyAtOnce(t *testing.T) {
	j := build(t, criterion(assay.Boolean), Rule{Expr: `lower_text.contains("refund") && tool_calls.exists(c, c.result == "ok")`})
	done := make(chan judge.Reply)
	for range 16 {
		go func() { done <- j.Ask(t.Context(), judge.Question{Session: session()}) }()
	}
	for range 16 {
		if r := <-done; r.Class != "" || !*r.Answers[0].Pass {
			t.Errorf("%+v", r)
		}
	}
}

func BenchmarkSmallSession(b *testing.B) {
	for name, expr := range map[string]string{
		"constant": `true`,
		"exists":   `!tool_results.exists(r, r.content.startsWith("Error"))`,
		"text":     `lower_text.contains("refund")`,
	} {
		b.Run(name, func(b *testing.B) {
			j := build(b, criterion(assay.Boolean), Rule{Expr: expr})
			s := session()
			b.ReportAllocs()
			for b.Loop() {
				j.Ask(b.Context(), judge.Question{Session: s})
			}
		})
	}
}
