package llm

import (
	"fmt"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/llm/llmtest"
)

// A key that the model repeats in its answer is masked in what is read from it, in an escaped spelling too.
func TestAVerdictHoldsNoKey(t *testing.T) {
	escaped := ""
	for _, r := range secret {
		escaped += fmt.Sprintf(`\u%04x`, r)
	}
	server := llmtest.New(t, llmtest.Always(llmtest.Wrote(func(r *llmtest.Request) string {
		return fmt.Sprintf(`{"answer_token":%q,"resolved":{"evidence":[{"turn":0,"message":0,"quote":"it said %s"}],"reason":"I was called with %s","value":true}}`, r.Token(), escaped, escaped)
	})))
	r := newJudge(t, server.BaseURL).Ask(t.Context(), judge.Question{Session: session("please")})
	if r.Class != assay.ClassNone || len(r.Answers) != 1 {
		t.Fatalf("%+v", r)
	}
	f := r.Answers[0].Findings[0]
	if said := fmt.Sprintf("%+v %s", f, r.Error); strings.Contains(said, secret) || f.Reason != "I was called with [key]" || f.Evidence[0].Quote != "it said [key]" {
		t.Errorf("%s", said)
	}
}
