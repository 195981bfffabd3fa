package builtin

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/kinds"
	"assay/internal/session/native"
	"assay/internal/session/piece"
)

func set(t testing.TB, name string) []Example {
	t.Helper()
	examples, err := Set(name)
	if err != nil {
		t.Fatal(err)
	}
	return examples
}

// models are the built-ins that ask one.
func models(t testing.TB) (names []string) {
	for _, name := range Names() {
		if _, v, err := Get(name, kinds.Env{}); err != nil {
			t.Fatal(err)
		} else if v.Kind == assay.JudgeLLM {
			names = append(names, name)
		}
	}
	return names
}

func TestEverySetHasBothAnswersAndTheHardOnes(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			examples := set(t, name)
			if len(examples) < 12 || len(examples) > 20 {
				t.Errorf("it has %d sessions", len(examples))
			}
			ids := map[string]bool{}
			for _, e := range examples {
				id := e.Session.SessionID
				if ids[id] || id == "" || e.Session.UserID != name || strings.TrimSpace(e.Why) == "" {
					t.Errorf("%q: it is there twice, or has no name, or no why", id)
				}
				ids[id] = true
			}
			balanced(t, name, examples)
		})
	}
}

// balanced wants both answers of each boolean at least four times and each value of a category once,
// and the ways not to answer where the judge allows them.
func balanced(t *testing.T, name string, examples []Example) {
	f, err := formOf(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range f.criteria {
		seen := map[string]int{}
		for _, e := range examples {
			for _, a := range e.Answers {
				if a.Unit == "" && f.unit != assay.UnitSession {
					continue // rolled up
				}
				w := word(a.Findings[i])
				seen[w]++
				if c.Evidence == assay.EvidenceRequired && len(a.Findings[i].Evidence) == 0 && a.Findings[i].Value != nil {
					t.Errorf("%s %s: %s is answered without a quote", e.Session.SessionID, a.Unit, c.Name)
				}
			}
		}
		least := map[string]int{}
		if c.Type == assay.Boolean {
			least["true"], least["false"] = 4, 4
		}
		for _, v := range c.Values {
			least[v] = 1
		}
		if c.MayAbstain {
			least[judge.StatusCannotTell] = 1
		}
		if c.MayNotApply && f.unit != assay.UnitToolCall {
			least[judge.StatusNotApplicable] = 1
		}
		for v, n := range least {
			if seen[v] < n {
				t.Errorf("%s is %s %d times: %v", c.Name, v, seen[v], seen)
			}
		}
	}
	pass := map[string]int{}
	for _, e := range examples {
		pass[passed(e.Own().Pass)]++
	}
	if pass["true"] < 4 || pass["false"] < 4 {
		t.Errorf("pass is %v", pass)
	}
}

// What is written in a set's form is what a judge is asked about.
func TestReadSetMakesSessions(t *testing.T) {
	examples := set(t, "tool-call-correctness")
	i := slices.IndexFunc(examples, func(e Example) bool { return e.Session.SessionID == "shop-two-orders-in-one-message" })
	e := examples[i]
	if turns := e.Session.Turns; len(turns) != 1 || len(turns[0].Messages) != 5 || len(turns[0].Messages[1].ToolCalls) != 2 {
		t.Fatalf("%+v", turns)
	}
	call, result := e.Session.Turns[0].Messages[1].ToolCalls[1], e.Session.Turns[0].Messages[3]
	if call != (assay.ToolCall{ID: "c2", Name: "get_order", Arguments: `{"id": 12}`}) || result.ToolCallID != "c2" || result.Name != "get_order" || result.Role != assay.RoleTool {
		t.Errorf("%+v %+v", call, result)
	}
	if a := e.Answers; len(a) != 3 || a[0].Unit != "t0m1c0" || a[1].Unit != "t0m1c1" || a[2].Unit != "" {
		t.Errorf("%+v", a)
	}
}

// What roll-ups and pass rules make of right answers, worked out by hand.
func TestRollUpsAndPassRules(t *testing.T) {
	for _, c := range []struct{ name, session, want string }{
		{"tool-call-correctness", "flight-search-then-book", "right_tool 1, arguments_right 1, needed 1, result_used 1, pass true"},
		{"tool-call-correctness", "shop-two-orders-in-one-message", "right_tool 1, arguments_right 0.5, needed 1, result_used 0.5, pass false"},
		{"tool-call-correctness", "helpdesk-same-error-again-and-again", "right_tool 1, arguments_right 1, needed 0.5, result_used 0, pass false"},
		{"tool-call-correctness", "helpdesk-cut-after-the-call", "right_tool 1, arguments_right cannot_tell, needed 1, result_used not_applicable, pass neither"},
		{"tool-call-correctness", "chat-without-calls", "right_tool not_applicable, arguments_right not_applicable, needed not_applicable, result_used not_applicable, pass neither"},
		{"groundedness", "flight-expected-made-certain", "grounded false, contradicted false, pass false"},
		{"groundedness", "shop-policy-in-the-rules", "grounded true, contradicted false, pass true"},
		{"groundedness", "coding-tests-said-to-pass", "grounded false, contradicted true, pass false"},
		{"groundedness", "chat-nothing-claimed", "grounded not_applicable, contradicted not_applicable, pass neither"},
		{"groundedness", "insurance-picture-not-shown", "grounded cannot_tell, contradicted cannot_tell, pass neither"},
		{"escalation", "insurance-rule-first-try-kept", "asked_for true, handed_over false, warranted false, pass true"},
		{"escalation", "flight-asked-and-put-off", "asked_for true, handed_over false, warranted true, pass false"},
		{"escalation", "travel-cut-during-transfer", "asked_for true, handed_over cannot_tell, warranted true, pass neither"},
		{"policy-compliance", "chat-without-rules", "compliant not_applicable, breach not_applicable, pass neither"},
		{"task-success", "bank-two-of-three-done", "task_success false, failure_type incomplete, pass false"},
		{"user-corrections", "coding-still-fails", "corrections 2, pass false"},
		{"user-corrections", "shop-mind-changed", "corrections 0, pass true"},
		{"user-corrections", "chat-one-turn", "corrections not_applicable, pass neither"},
		{"user-corrections", "clinic-garbled", "corrections cannot_tell, pass neither"},
	} {
		examples := set(t, c.name)
		i := slices.IndexFunc(examples, func(e Example) bool { return e.Session.SessionID == c.session })
		if i < 0 {
			t.Errorf("%s has no session %s", c.name, c.session)
			continue
		}
		var got []string
		for _, f := range examples[i].Own().Findings {
			got = append(got, f.Criterion+" "+word(f))
		}
		got = append(got, "pass "+passed(examples[i].Own().Pass))
		if g := strings.Join(got, ", "); g != c.want {
			t.Errorf("%s %s: %s, want %s", c.name, c.session, g, c.want)
		}
	}
}

func TestReadSetRefusesWhatIsWrong(t *testing.T) {
	f, err := formOf("user-corrections")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ lines, want string }{
		"no answer":          {"[{user: hi}]", `no answer about the unit "t0"`},
		"answer about none":  {"[{user: hi, answer: {corrections: true}, quote: hi}, {call: 'x {}', answer: {corrections: true}}]", "answers and the judge asks about"},
		"unknown criterion":  {"[{user: hi, answer: {corrections: true, nice: true}}]", "the answer names"},
		"missing criterion":  {"[{user: hi, answer: {}}]", "corrections has no answer"},
		"wrong type":         {"[{user: hi, answer: {corrections: maybe}}]", "true or false"},
		"quote that is none": {"[{user: hi, answer: {corrections: true}, quote: ho}]", `the quote "ho"`},
		"result of nothing":  {"[{result: x}]", "answers no call"},
		"unknown member":     {"[{robot: hi}]", "robot"},
	} {
		_, err := readSet([]byte("- id: x\n  turns: ["+c.lines+"]"), "user-corrections", f)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"none", "../sets/resolved"} {
		if _, err := Set(name); assay.CodeOf(err) != assay.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An exported set is read back as the same sessions, with a label for every right answer that has a value.
func TestExportIsImported(t *testing.T) {
	for _, name := range Names() {
		lines, err := Export(name)
		if err != nil {
			t.Fatal(err)
		}
		examples := set(t, name)
		n := 0
		for line := range bytes.Lines(lines) {
			r := piece.Piece{Line: int64(n + 1), Raw: line}.Read(native.Parse)
			if r.Fault != nil || r.Repaired {
				t.Fatalf("%s line %d: %+v", name, n+1, r)
			}
			e := examples[n]
			n++
			want, got := mustCanonical(t, e.Session), mustCanonical(t, r.Session)
			if want != got || r.Session.Empty() {
				t.Errorf("%s: %s was written, %s was read", name, want, got)
			}
			labels := map[string]string{}
			for _, l := range r.Labels {
				labels[l.Criterion] = strings.Trim(string(l.Value), `"`)
				if l.Rater != rater || l.Probability != 1 || l.CriterionVersion != "" {
					t.Errorf("%+v", l)
				}
			}
			answered := map[string]string{}
			for _, f := range e.Own().Findings {
				if f.Value != nil {
					answered[f.Criterion] = word(f)
				}
			}
			if p := passed(e.Own().Pass); p != "neither" {
				answered[assay.CriterionPass] = p
			}
			if fmt.Sprint(labels) != fmt.Sprint(answered) {
				t.Errorf("%s %s: labels %v, right answers %v", name, e.Session.SessionID, labels, answered)
			}
		}
		if n != len(examples) {
			t.Errorf("%s: %d of %d sessions", name, n, len(examples))
		}
	}
}

func mustCanonical(t *testing.T, s *assay.Session) string {
	b, err := s.AppendCanonical(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
