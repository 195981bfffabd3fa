package docstest

import (
	"testing"

	"assay/internal/judge/llm/llmtest"
)

// newModel is a scripted endpoint that answers the judge of README.md.
func newModel(t *testing.T) (baseURL string) {
	t.Helper()
	answer := llmtest.Verdict(map[string]any{"solved": llmtest.Finding{Value: true, Reason: "as scripted"}})
	return llmtest.New(t, func(*llmtest.Request) llmtest.Step { return answer }).BaseURL
}
