package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"assay/internal/judge"
	"assay/internal/judge/llm/llmtest"
)

func tried(t *testing.T, script llmtest.Script, args ...string) (out string, err error) {
	t.Helper()
	server := llmtest.New(t, script)
	variables := map[string]string{"ASSAY_JUDGE_BASE_URL": server.BaseURL, "OPENAI_API_KEY": "x"}
	var b bytes.Buffer
	err = run(t.Context(), args, func(n string) (string, bool) { v, ok := variables[n]; return v, ok }, &b)
	return b.String(), err
}

// never is a model that finds every session a failure of the same type, and gives a quote that is none.
func never(*llmtest.Request) llmtest.Step {
	return llmtest.Verdict(map[string]any{
		"task_success": llmtest.Finding{Value: false, Reason: "I never like it", Status: judge.StatusAnswered, Quotes: []string{"words that nobody said"}},
		"failure_type": llmtest.Finding{Value: "other", Reason: "I never like it", Status: judge.StatusAnswered},
	})
}

func TestAgreementIsCounted(t *testing.T) {
	out, err := tried(t, never, "task-success")
	if err != nil {
		t.Fatal(err, out)
	}
	for _, want := range []string{
		"gpt-4.1-mini-2025-04-14 at http://127.0.0.1", ": 17 sessions",
		"flight-moved-after-consent  task_success: right is true, the judge says false", "its reason: I never like it",
		"0 sessions not graded; 0 of 17 quotes stand in their session; 17 calls",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	for _, want := range []string{`(?m)^task_success +9 +17 +53 %$`, `(?m)^failure_type +1 +17 +6 %$`, `(?m)^pass +9 +17 +53 %$`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%s is missing in\n%s", want, out)
		}
	}
}

func TestUnreadableAnswersAreAskedForAgain(t *testing.T) {
	script := func(r *llmtest.Request) llmtest.Step {
		if r.Repeated() {
			return never(r)
		}
		return llmtest.Garbage()
	}
	out, err := tried(t, script, "task-success", "shop-refund-only-claimed")
	if err != nil || !strings.Contains(out, "2 calls") || strings.Contains(out, "task_success: right") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWhatCannotBeGradedIsTold(t *testing.T) {
	out, err := tried(t, llmtest.Always(llmtest.BadKey("x")), "user-corrections", "shop-wrong-colour")
	if err == nil || !strings.Contains(out, "shop-wrong-colour: NOT GRADED, bad_credentials") || !strings.Contains(out, "1 sessions not graded") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestARulesJudgeNeedsNoModel(t *testing.T) {
	out, err := tried(t, llmtest.Always(llmtest.Empty()), "resolved")
	if err != nil || strings.Count(out, "100 %") != 3 || strings.Contains(out, "the judge says") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWrongCallsAreRefused(t *testing.T) {
	for _, args := range [][]string{{}, {"none"}, {"resolved", "no-such-session"}, {"-parallel", "0", "resolved"}} {
		if out, err := tried(t, llmtest.Always(llmtest.Empty()), args...); err == nil {
			t.Errorf("%q is taken\n%s", args, out)
		}
	}
}
