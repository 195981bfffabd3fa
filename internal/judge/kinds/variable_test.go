package kinds

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge/llm/provider"
)

const variableYAML = `name: good
kind: llm
criteria:
  - {name: good, type: boolean,
     question: 'Is it good?'}
llm:
  provider: ${ASSAY_JUDGE_PROVIDER:-openai}
  api: ${ASSAY_JUDGE_API:-}
  base_url: ${ASSAY_JUDGE_BASE_URL:-}
  model: ${ASSAY_JUDGE_MODEL:-gpt-4.1-mini-2025-04-14}
  api_key_env: ${ASSAY_JUDGE_KEY_ENV:-}
  response_format: ${ASSAY_JUDGE_RESPONSE_FORMAT:-}
  temperature: ${ASSAY_JUDGE_TEMPERATURE-0}
  reasoning: ${ASSAY_JUDGE_REASONING:-}
  max_tokens: ${ASSAY_JUDGE_MAX_TOKENS:-}
  context_tokens: ${ASSAY_JUDGE_CONTEXT_TOKENS:-}
  timeout: ${ASSAY_JUDGE_TIMEOUT:-3m}
`

// environment is one of ASSAY_JUDGE_ variables, named without that.
func environment(variables map[string]string) Env {
	return Env{LookupEnv: func(name string) (string, bool) {
		short, ours := strings.CutPrefix(name, variablePrefix)
		value, ok := variables[short]
		return value, ours && ok
	}}
}

func TestVariablesFillIn(t *testing.T) {
	s, set := specOf(t, variableYAML, environment(nil))
	if s.Temperature == nil || *s.Temperature != 0 || s.Reasoning != "" || s.MaxTokens != 2000 || s.ResponseFormat != provider.FormatSchema || set.ContextTokens != 0 || set.Timeout != 3*time.Minute || set.Provider != "openai" {
		t.Errorf("nothing set: %+v %+v", s, set)
	}
	s, set = specOf(t, variableYAML, environment(map[string]string{
		"PROVIDER": "compatible", "API": "responses", "BASE_URL": "http://localhost:8000/v1", "MODEL": "local", "KEY_ENV": "ASSAY_JUDGE_KEY",
		"RESPONSE_FORMAT": "tool", "TEMPERATURE": " 0.3 ", "MAX_TOKENS": "700", "CONTEXT_TOKENS": "8192", "TIMEOUT": "10m",
	}))
	if *s.Temperature != 0.3 || s.API != provider.Responses || s.MaxTokens != 700 || s.ResponseFormat != provider.FormatTool || set.ContextTokens != 8192 || set.Timeout != 10*time.Minute || set.Provider != "compatible" || set.KeyEnv != "ASSAY_JUDGE_KEY" {
		t.Errorf("all set: %+v %+v", s, set)
	}
	empty := map[string]string{}
	for _, name := range []string{"PROVIDER", "API", "BASE_URL", "MODEL", "KEY_ENV", "RESPONSE_FORMAT", "REASONING", "MAX_TOKENS", "CONTEXT_TOKENS", "TIMEOUT"} {
		empty[name] = ""
	}
	_, unset := parse(t, variableYAML, environment(nil))
	if _, v := parse(t, variableYAML, environment(empty)); v.ID != unset.ID {
		t.Error("an empty variable is not as one that is not set")
	}
	empty["TEMPERATURE"] = ""
	if s, _ := specOf(t, variableYAML, environment(empty)); s.Temperature != nil {
		t.Errorf("an empty ASSAY_JUDGE_TEMPERATURE leaves a temperature: %v", *s.Temperature)
	}
	literal := replaced(t, variableYAML, "${ASSAY_JUDGE_TEMPERATURE-0}", "0")
	if _, v := parse(t, literal, environment(nil)); v.ID != unset.ID {
		t.Error("a default is not the same as what it stands for")
	}
}

// A temperature that nobody asked for gives way to reasoning; one that somebody asked for does not.
func TestReasoningAndTemperature(t *testing.T) {
	s, _ := specOf(t, variableYAML, environment(map[string]string{"REASONING": "low"}))
	if s.Temperature != nil || s.Reasoning != "low" || s.MaxTokens != 16_000 {
		t.Errorf("%+v", s)
	}
	for name, tc := range map[string]struct {
		text      string
		variables map[string]string
	}{
		"by the environment":              {variableYAML, map[string]string{"REASONING": "low", "TEMPERATURE": "0"}},
		"written out":                     {replaced(t, variableYAML, "${ASSAY_JUDGE_TEMPERATURE-0}", "0"), map[string]string{"REASONING": "low"}},
		"both written out":                {replaced(t, replaced(t, variableYAML, "${ASSAY_JUDGE_TEMPERATURE-0}", "0"), "${ASSAY_JUDGE_REASONING:-}", "low"), nil},
		"written out beside a variable":   {replaced(t, variableYAML, "${ASSAY_JUDGE_TEMPERATURE-0}", "0${ASSAY_JUDGE_MORE-.5}"), map[string]string{"REASONING": "low"}},
		"top_p":                           {replaced(t, variableYAML, "  timeout", "  top_p: 1\n  timeout"), map[string]string{"REASONING": "low"}},
		"a default, but set to the value": {variableYAML, map[string]string{"REASONING": "none", "TEMPERATURE": "1"}},
	} {
		_, _, err := Parse([]byte(tc.text), environment(tc.variables))
		var e *assay.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, "line 14: reasoning is given together with temperature") || !strings.Contains(e.Hint, "ASSAY_JUDGE_TEMPERATURE") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVariablesThatCannotBe(t *testing.T) {
	const key = "sk-in-a-wrong-variable"
	for name, tc := range map[string]struct {
		from, to  string
		variables map[string]string
		says      string
	}{
		"a number of words":  {"", "", map[string]string{"TEMPERATURE": key}, "line 13: temperature cannot be what ASSAY_JUDGE_TEMPERATURE holds"},
		"not a number":       {"", "", map[string]string{"TEMPERATURE": "nan"}, "line 13: temperature cannot be"},
		"half a token":       {"", "", map[string]string{"MAX_TOKENS": "1.5"}, "line 15: max_tokens cannot be"},
		"no token":           {"", "", map[string]string{"MAX_TOKENS": "0"}, "line 15: max_tokens 0 is out of range"},
		"too many":           {"", "", map[string]string{"CONTEXT_TOKENS": "999999999999"}, "line 16: context_tokens 999999999999 is out of range"},
		"a time of no unit":  {"", "", map[string]string{"TIMEOUT": "90"}, "line 17: timeout cannot be what ASSAY_JUDGE_TIMEOUT holds"},
		"another variable":   {"${ASSAY_JUDGE_TEMPERATURE-0}", "${OPENAI_API_KEY}", nil, "line 13: temperature names the variable"},
		"a default of words": {"${ASSAY_JUDGE_TEMPERATURE-0}", "${ASSAY_JUDGE_TEMPERATURE-hot}", nil, "line 13: temperature cannot be"},
		"no default":         {"${ASSAY_JUDGE_MAX_TOKENS:-}", "${ASSAY_JUDGE_MAX_TOKENS}", map[string]string{"MAX_TOKENS": ""}, "line 15: max_tokens needs the variable ASSAY_JUDGE_MAX_TOKENS, which is not set or empty"},
		"another operator":   {"${ASSAY_JUDGE_MODEL:-gpt", "${ASSAY_JUDGE_MODEL:?gpt", nil, "line 10: model holds ${ASSAY_JUDGE_MODEL:?gpt-4.1-mini-2025-04-14}, which is not understood"},
		"a list":             {"${ASSAY_JUDGE_MAX_TOKENS:-}", "[1]", nil, "line 15: max_tokens must be a whole number"},
		"an unknown format":  {"", "", map[string]string{"RESPONSE_FORMAT": "xml"}, "line 12: response_format"},
		"no address":         {"", "", map[string]string{"PROVIDER": "compatible"}, "no base_url is given"},
	} {
		text := variableYAML
		if tc.from != "" {
			text = replaced(t, text, tc.from, tc.to)
		}
		_, _, err := Parse([]byte(text), environment(tc.variables))
		var e *assay.Error
		if !errors.As(err, &e) || e.Code != assay.CodeInvalid || !strings.Contains(e.Message, tc.says) || e.Hint == "" || strings.Contains(e.Message+e.Hint, key) {
			t.Errorf("%s: %v (%+v)", name, err, e)
		}
	}
}
