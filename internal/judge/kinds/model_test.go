package kinds

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/judge/llm"
)

const shortYAML = `name: short
kind: llm
criteria:
  - name: good
    type: boolean
    question: Is it good?
llm:
  provider: openai
  model: gpt-4.1-mini-2025-04-14
`

const unitsYAML = `name: calls
kind: llm
unit: tool_call
criteria:
  - name: needed
    type: boolean
    may_not_apply: true
    roll_up: share
    question: Was it needed?
  - name: tone
    type: ordinal
    values: [bad, fair, good]
    roll_up: min
    question: How was it said?
pass: needed >= 0.9 && tone != "bad"
llm:
  provider: anthropic
  model: claude-sonnet-4-5-20250929
  units_per_call: 5
`

func specOf(t *testing.T, text string, env Env) (s llm.Spec, set llm.Settings) {
	t.Helper()
	j, v := parse(t, text, env)
	var d struct{ Spec llm.Spec }
	if err := json.Unmarshal(v.Canonical, &d); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(j.Settings, &set); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(v, j.Settings, env); err != nil {
		t.Fatalf("what was parsed cannot be built: %v", err)
	}
	return d.Spec, set
}

func TestAProviderGivesItsDefaults(t *testing.T) {
	s, set := specOf(t, shortYAML, Env{})
	if set.BaseURL != "https://api.openai.com/v1" || set.KeyEnv != "OPENAI_API_KEY" || s.API != "chat_completions" || s.ResponseFormat != "json_schema" || s.MaxTokens != 2000 || s.Endpoint != set.BaseURL || s.LongTranscripts != "refuse" {
		t.Errorf("%+v %+v", s, set)
	}
	s, set = specOf(t, replaced(t, shortYAML, "  provider: openai", "  provider: openai\n  api: responses\n  base_url: https://proxy.example.com/v1\n  api_key_env: PROXY_API_KEY\n  reasoning: low\n  response_format: tool"), Env{})
	if set.BaseURL != "https://proxy.example.com/v1" || set.KeyEnv != "PROXY_API_KEY" || s.API != "responses" || s.Reasoning != "low" || s.MaxTokens != 16_000 || s.ResponseFormat != "tool" {
		t.Errorf("%+v %+v", s, set)
	}
	s, set = specOf(t, replaced(t, shortYAML, "  provider: openai", "  provider: azure\n  base_url: https://name.openai.azure.com\n  api_version: 2024-10-21\n  max_completion_tokens: 900"), Env{})
	if set.Query["api-version"] != "2024-10-21" || s.MaxTokens != 900 || s.MaxTokensField != "max_completion_tokens" {
		t.Errorf("%+v %+v", s, set)
	}
	dir := t.TempDir()
	_, set = specOf(t, replaced(t, shortYAML, "  provider: openai", "  provider: openai\n  api_key_file: key.txt"), Env{Folder: dir})
	if set.KeyEnv != "" || set.KeyFile != filepath.Join(dir, "key.txt") {
		t.Errorf("%+v", set)
	}
	_, set = specOf(t, replaced(t, shortYAML, "  provider: openai", "  provider: openai\n  api_key_command: [pass, show, openai]"), Env{})
	if set.KeyEnv != "" || strings.Join(set.KeyCommand, " ") != "pass show openai" {
		t.Errorf("%+v", set)
	}
}

func TestWhatIsKnownOfAModelFillsIn(t *testing.T) {
	asked := ""
	env := Env{ContextTokens: func(provider string, key assay.ModelKey) int64 {
		asked = provider + " " + key.String()
		return 32_000
	}}
	s, _ := specOf(t, replaced(t, shortYAML, "  provider: openai", "  provider: openai\n  long_transcripts: head_and_tail"), env)
	if asked != "openai gpt-4.1-mini-2025-04-14 at https://api.openai.com/v1" || s.CountedBy != "o200k_base" || s.TranscriptTokens < 25_000 || s.TranscriptTokens > 30_000 {
		t.Errorf("asked about %q: %+v", asked, s)
	}
	smaller, _ := specOf(t, replaced(t, shortYAML, "  provider: openai", "  provider: openai\n  long_transcripts: head_and_tail\n  context_tokens: 16000"), env)
	if smaller.TranscriptTokens != s.TranscriptTokens-16_000 {
		t.Errorf("context_tokens does not go before what is known: %d, %d", smaller.TranscriptTokens, s.TranscriptTokens)
	}
	// What became known later changes no stored version.
	_, v := parse(t, replaced(t, shortYAML, "  provider: openai", "  provider: openai\n  max_tokens: 2000"), Env{})
	if _, later := parse(t, replaced(t, shortYAML, "  provider: openai", "  provider: openai\n  max_tokens: 2000"), env); later.ID != v.ID {
		t.Error("a fact moved a version that says all itself")
	}
}

func TestAJudgeOfUnitsListsItsCriteriaRolledUp(t *testing.T) {
	j, v := parse(t, unitsYAML, Env{})
	if v.Unit != assay.UnitToolCall || v.Criteria[0].Type != assay.Number || *v.Criteria[0].Min != 0 || *v.Criteria[0].Max != 1 || v.Criteria[1].Type != assay.Ordinal || !v.Criteria[0].MayNotApply {
		t.Errorf("%+v", v.Criteria)
	}
	if !strings.Contains(string(v.Canonical), `"needed","type":"boolean"`) || !strings.Contains(string(v.Canonical), `"rollup/1"`) {
		t.Errorf("%s", v.Canonical)
	}
	if _, err := Build(v, j.Settings, Env{}); err != nil {
		t.Error(err)
	}
	for name, tc := range map[string][3]string{
		"no roll_up":        {"    roll_up: share\n", "", "has no roll_up"},
		"of another type":   {"roll_up: min", "roll_up: mean", `no roll_up "mean"`},
		"pass rule":         {"needed >= 0.9", "needed", "pass rule"},
		"unit":              {"unit: tool_call", "unit: tool_calls", `did you mean "tool_call"`},
		"roll_up, session":  {"unit: tool_call\n", "", "rolls nothing up"},
		"units_per_call":    {"units_per_call: 5", "units_per_call: 500", "out of range"},
		"units of sessions": {"unit: tool_call\n", "unit: session\n", ""},
	} {
		_, _, err := Parse([]byte(replaced(t, unitsYAML, tc[0], tc[1])), Env{})
		if assay.CodeOf(err) != assay.CodeInvalid || !strings.Contains(err.Error(), tc[2]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMistakesInAModelBlock(t *testing.T) {
	for name, tc := range map[string][2]string{
		"provider: opnai":                           {"provider: openai", `did you mean "openai"`},
		"api: messages":                             {"", "messages"},
		"reasoning: low\n  temperature: 0":          {"", "reasoning is given together with temperature"},
		"max_tokens: 0":                             {"", "max_tokens 0 is out of range"},
		"long_transcripts: cut":                     {"", "long_transcripts"},
		"transcript_tokens: 5000":                   {"", "long ones are refused"},
		"units_per_call: 3":                         {"", "judges of turns or tool calls"},
		"api_key_env: A_API_KEY\n  api_key_file: k": {"", "more than one source"},
		"response_format: xml":                      {"", "response_format"},
		"api_key_command: pass show key":            {"", "must be a list"},
	} {
		text := replaced(t, shortYAML, "  provider: openai\n", "  provider: openai\n  "+name+"\n")
		if tc[0] != "" {
			text = replaced(t, shortYAML, tc[0], name)
		}
		_, _, err := Parse([]byte(text), Env{})
		if assay.CodeOf(err) != assay.CodeInvalid || !strings.Contains(err.Error(), tc[1]) || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatReachesIntoTheMachine(t *testing.T) {
	const command = "name: c\nkind: command\ncriteria:\n  - {name: good, type: boolean}\ncommand:\n  argv: [./grade.sh]\n"
	for text, want := range map[string]string{
		shortYAML: "", rulesYAML: "", llmYAML: "", unitsYAML: "", "": "", "][": "", "- a": "", "kind: [command]": "",
		command:                          "a command",
		"kind: command":                  "a command",
		"kind: rules\ncommand: {}":       "a command",
		"kind: 'command'":                "a command",
		"llm: {}\nllm: {ca_file: /x}":    "ca_file",
		"llm: {\"api_key_file\": /x}":    "api_key_file",
		"llm: {? api_key_command : [x]}": "api_key_command",
		replaced(t, shortYAML, "provider: openai", "api_key_file: /etc/passwd"):    "api_key_file",
		replaced(t, shortYAML, "provider: openai", "api_key_command: [sh, -c, x]"): "api_key_command",
		replaced(t, shortYAML, "provider: openai", "ca_file: /x.pem"):              "ca_file",
	} {
		what, does := Reaches([]byte(text))
		if what != want || does != (want != "") {
			t.Errorf("%q, %v of\n%s", what, does, text)
		}
	}
}

// What reaches into the machine by Build is known by Reaches.
func FuzzReaches(f *testing.F) {
	for _, seed := range []string{shortYAML, "kind: command", "llm: {ca_file: /x}", "<<: {kind: command}", "!!str kind: command", "kind: !!str command", "\"kind\": \"comm\\u0061nd\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		j, v, err := Parse([]byte(text), Env{})
		if err != nil {
			return
		}
		var set llm.Settings
		if len(j.Settings) > 0 {
			_ = json.Unmarshal(j.Settings, &set) // another kind's settings have none of these
		}
		if _, does := Reaches([]byte(text)); !does && (v.Kind == assay.JudgeCommand || set.KeyFile != "" || len(set.KeyCommand) > 0 || set.CAFile != "") {
			t.Fatal("it reaches into the machine and nobody knows")
		}
	})
}
