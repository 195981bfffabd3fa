package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/assay"
)

func TestProfilesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Profiles() {
		if seen[p.Name] || len(p.APIs) == 0 || p.Format == "" || p.System == "" || !strings.HasSuffix(p.Notes, ".") {
			t.Errorf("%+v", p)
		}
		seen[p.Name] = true
		if got, ok := ProfileOf(p.Name); !ok || got.Notes != p.Notes {
			t.Errorf("%s is not found by its name", p.Name)
		}
		if p.APIs[0] == ChatCompletions && (p.MaxTokensField == "" || p.reasoningField == "") {
			t.Errorf("%s does not say how its output is bounded", p.Name)
		}
		if p.BaseURL == "" {
			continue
		}
		s, err := Settings{Provider: p.Name}.Complete()
		if err != nil || s.BaseURL != p.BaseURL || s.API != p.APIs[0] || s.KeyEnv != p.KeyEnv || s.Timeout != defaultTimeout {
			t.Errorf("%+v %v", s, err)
		}
		if again, err := s.Complete(); err != nil || !same(again, s) {
			t.Errorf("%s: completed twice it is %+v, %v", p.Name, again, err)
		}
	}
	for _, name := range []string{"openai", "anthropic", "azure", "gemini", "vllm", "ollama", "openrouter", "litellm", "compatible"} {
		if !seen[name] {
			t.Errorf("there is no profile %q", name)
		}
	}
}

func same(a, b Settings) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

func TestComplete(t *testing.T) {
	for base, want := range map[string]struct {
		provider string
		api      API
		base     string
	}{
		"https://api.openai.com/v1/":                              {"openai", ChatCompletions, "https://api.openai.com/v1"},
		"https://API.Anthropic.com/v1":                            {"anthropic", Messages, "https://api.anthropic.com"},
		"https://api.anthropic.com":                               {"anthropic", Messages, "https://api.anthropic.com"},
		"https://mine.openai.azure.com/":                          {"azure", ChatCompletions, "https://mine.openai.azure.com/openai/v1"},
		"https://mine.openai.azure.com/openai/v1":                 {"azure", ChatCompletions, "https://mine.openai.azure.com/openai/v1"},
		"https://generativelanguage.googleapis.com/v1beta/openai": {"gemini", ChatCompletions, "https://generativelanguage.googleapis.com/v1beta/openai"},
		"https://openrouter.ai/api/v1":                            {"openrouter", ChatCompletions, "https://openrouter.ai/api/v1"},
		"http://localhost:8000/v1":                                {"compatible", ChatCompletions, "http://localhost:8000/v1"},
		"https://notopenrouter.ai/api/v1":                         {"compatible", ChatCompletions, "https://notopenrouter.ai/api/v1"},
	} {
		s, err := Settings{BaseURL: base}.Complete()
		if err != nil || s.Provider != want.provider || s.API != want.api || s.BaseURL != want.base {
			t.Errorf("%s: %+v %v", base, s, err)
		}
		if again, err := s.Complete(); err != nil || !same(again, s) {
			t.Errorf("%s: completed twice it is %+v, %v", base, again, err)
		}
	}
	for field, s := range map[string]Settings{
		"provider":    {Provider: "opneai"},
		"api":         {Provider: "anthropic", API: Responses},
		"base_url":    {},
		"api_key_env": {Provider: "openai", KeyEnv: "A", KeyFile: "b"},
		"timeout":     {Provider: "openai", Timeout: -1},
	} {
		_, err := s.Complete()
		e, ok := err.(*assay.Error)
		if !ok || e.Code != assay.CodeInvalid || e.Details[DetailField] != field || e.Hint == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := (Settings{Provider: "opneai"}).Complete(); !strings.Contains(err.Error(), `"openai"`) {
		t.Errorf("%v", err)
	}
}

// Any server has a name too, so that an environment can say it; and who says it means it.
func TestTheNameOfAnyCompatibleServer(t *testing.T) {
	unnamed, _ := ProfileOf("")
	named, ok := ProfileOf("compatible")
	if !ok || named.Notes != unnamed.Notes || named.KeyEnv != "" {
		t.Errorf("%+v %+v", named, unnamed)
	}
	s, err := Settings{Provider: "compatible", BaseURL: "https://api.openai.com/v1"}.Complete()
	if err != nil || s.Provider != "compatible" || s.KeyEnv != "" {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := (Settings{Provider: "compatible"}).Complete(); err == nil || !strings.Contains(err.Error(), "no base_url") {
		t.Error(err)
	}
	_, err = Settings{Provider: "my-server"}.Complete()
	if e, ok := err.(*assay.Error); !ok || !strings.Contains(e.Hint, "litellm, compatible") {
		t.Errorf("%+v", err)
	}
}

func TestLogicalEndpoint(t *testing.T) {
	for base, want := range map[string]string{
		"https://API.openai.com/v1/": "https://api.openai.com/v1", "https://api.openai.com:443/v1": "https://api.openai.com/v1",
		"http://localhost:8000/v1": "http://localhost:8000/v1", "http://h:80": "http://h",
		"ftp://x": "", "localhost:8000": "", "https://u:p@x/v1": "", "https://x/v1?key=1": "", "": "",
	} {
		got, err := LogicalEndpoint(base)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v", base, got, err)
		}
	}
}

func TestKeyAndName(t *testing.T) {
	c := newClient(t, "https://api.anthropic.com/v1/", as("anthropic", "", FormatSchema))
	if c.Key() != (assay.ModelKey{Endpoint: "https://api.anthropic.com", Model: "m-1"}) || c.Name() != "anthropic" {
		t.Errorf("%v %s", c.Key(), c.Name())
	}
}
