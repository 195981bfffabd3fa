package provider

import (
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

// A parameter that a model refuses ends the item as judge_error, and the sentence says what to set.
func TestARefusedParameterIsNamedWithWhatToSet(t *testing.T) {
	openai := func(message string) llmtest.Step {
		return llmtest.Problem(400, "invalid_request_error", "unsupported_value", message)
	}
	claude := func(message string) llmtest.Step {
		return llmtest.ClaudeProblem(400, "invalid_request_error", message)
	}
	for message, tc := range map[string]struct {
		step llmtest.Step
		says string // "" where nothing is known to do
	}{
		"OpenAI, value":      {openai("Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."), "ASSAY_JUDGE_TEMPERATURE"},
		"OpenAI, parameter":  {llmtest.Refuses("temperature"), "ASSAY_JUDGE_TEMPERATURE"},
		"Anthropic, newer":   {claude("`temperature` is deprecated for this model."), "leave temperature out (of a built-in judge by ASSAY_JUDGE_TEMPERATURE, which may be empty)"},
		"Anthropic, thinks":  {claude("`temperature` may only be set to 1 when thinking is enabled."), "ASSAY_JUDGE_TEMPERATURE"},
		"LiteLLM":            {openai("litellm.UnsupportedParamsError: gpt-5 models don't support temperature=0. Only temperature=1 is supported."), "ASSAY_JUDGE_TEMPERATURE"},
		"no reasoning":       {openai("Unrecognized request argument supplied: reasoning_effort"), "ASSAY_JUDGE_REASONING"},
		"an effort":          {openai("Unsupported value: 'reasoning_effort' does not support 'minimal' with this model."), "ASSAY_JUDGE_REASONING"},
		"no adaptive":        {claude("adaptive thinking is not supported on this model"), "ASSAY_JUDGE_REASONING"},
		"no json_schema":     {openai("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."), "set response_format: tool, or none (of a built-in judge by ASSAY_JUDGE_RESPONSE_FORMAT)"},
		"Anthropic, older":   {claude("output_config.format: Extra inputs are not permitted"), "ASSAY_JUDGE_RESPONSE_FORMAT"},
		"too long an answer": {openai("max_tokens is too large: 20000. This model supports at most 16384 completion tokens, whereas you provided 20000."), "ASSAY_JUDGE_MAX_TOKENS"},
		"the other limit":    {openai("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."), "ASSAY_JUDGE_MAX_TOKENS"},
		"something else":     {openai("Unrecognized request argument supplied: seed"), ""},
	} {
		server := llmtest.New(t, llmtest.Always(tc.step))
		c := newClient(t, server.BaseURL)
		_, r := c.Send(t.Context(), ask(c))
		if r.Class != assay.ClassJudgeError || !strings.Contains(r.Error, "the judge's parameters do not suit this model") || !strings.Contains(r.Error, tc.says) || tc.says == "" && strings.Contains(r.Error, "ASSAY_JUDGE") {
			t.Errorf("%s: %s %s", message, r.Class, r.Error)
		}
	}
}
