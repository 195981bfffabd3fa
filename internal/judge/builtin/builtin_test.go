package builtin

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/kinds"
	"assay/internal/judge/llm/llmtest"
)

func TestEveryBuiltinParsesAndBuilds(t *testing.T) {
	if names := strings.Join(Names(), " "); names != "escalation groundedness policy-compliance resolved task-success tool-call-correctness user-corrections" {
		t.Fatal(names)
	}
	for _, name := range Names() {
		j, v, err := Get(name, kinds.Env{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if j.Name != name || v.Alias || j.Description == "" || len(j.Description) > 80 {
			t.Errorf("%+v %+v", j, v)
		}
		if _, err := kinds.Build(v, j.Settings, kinds.Env{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"none", "", "../builtin"} {
		if _, err := Source(name); assay.CodeOf(err) != assay.CodeNotFound {
			t.Errorf("%q: %v", name, err)
		}
	}
}

var update = flag.Bool("update", false, "write the pinned versions anew")

// A judge's version changes with every change of its text and of what this program puts around it. Such
// a change makes all old verdicts another judge's, so it is made on purpose: go test -update.
func TestVersionsArePinned(t *testing.T) {
	const file = "testdata/versions.txt"
	var now strings.Builder
	for _, name := range Names() {
		_, v, err := Get(name, kinds.Env{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&now, "%s %s\n", v.ID, name)
	}
	if *update {
		if err := os.WriteFile(file, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pinned, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(pinned) != now.String() {
		t.Errorf("versions changed; if that is meant: go test ./internal/judge/builtin -run Pinned -update\npinned:\n%snow:\n%s", pinned, now.String())
	}
}

// Every judge that asks a model reaches the provider that the environment names, in its own protocol and
// with the key from its own variable.
func TestTheEnvironmentNamesTheProvider(t *testing.T) {
	for name, c := range map[string]struct {
		variables        map[string]string
		provider, header string
		key              string
		api              llmtest.API
		alias            bool
	}{
		"openai": {map[string]string{"OPENAI_API_KEY": "sk-1"}, "openai", "Authorization", "Bearer sk-1", llmtest.ChatCompletions, false},
		"anthropic": {map[string]string{"ASSAY_JUDGE_PROVIDER": "anthropic", "ASSAY_JUDGE_MODEL": "claude-haiku-4-5-20251001", "ANTHROPIC_API_KEY": "ak-1"},
			"anthropic", "X-Api-Key", "ak-1", llmtest.Messages, false},
		"any compatible server": {map[string]string{"ASSAY_JUDGE_PROVIDER": "compatible", "ASSAY_JUDGE_MODEL": "local", "ASSAY_JUDGE_KEY_ENV": "ASSAY_JUDGE_KEY", "ASSAY_JUDGE_KEY": "k"}, "compatible", "Authorization", "Bearer k", llmtest.ChatCompletions, true},
		"a server of one's own": {map[string]string{"ASSAY_JUDGE_PROVIDER": "vllm", "ASSAY_JUDGE_MODEL": "local"}, "vllm", "Authorization", "", llmtest.ChatCompletions, true},
		"a key of another name": {map[string]string{"ASSAY_JUDGE_KEY_ENV": "ASSAY_JUDGE_KEY", "ASSAY_JUDGE_KEY": "k"}, "openai", "Authorization", "Bearer k", llmtest.ChatCompletions, false},
	} {
		t.Run(name, func(t *testing.T) {
			var got *llmtest.Request
			server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step {
				got = r
				return llmtest.ServerError()
			})
			c.variables["ASSAY_JUDGE_BASE_URL"] = server.BaseURL
			env := kinds.Env{LookupEnv: func(n string) (string, bool) { v, ok := c.variables[n]; return v, ok }}
			for _, judgeName := range models(t) {
				j, v, err := Get(judgeName, env)
				if err != nil || v.Alias != c.alias {
					t.Fatal(judgeName, v.Alias, err)
				}
				asked, err := kinds.Build(v, j.Settings, env)
				if err != nil {
					t.Fatal(err)
				}
				if m := asked.(judge.Metered); m.Model().Model != cmp.Or(c.variables["ASSAY_JUDGE_MODEL"], "gpt-4.1-mini-2025-04-14") {
					t.Error(m.Model())
				}
				r := asked.Ask(t.Context(), judge.Question{Session: set(t, judgeName)[0].Session})
				if r.Class != assay.ClassProviderError || got.API() != c.api || got.Header.Get(c.header) != c.key {
					t.Errorf("%s: %s %s; %s, %s %q", judgeName, r.Class, r.Error, got.API(), c.header, got.Header.Get(c.header))
				}
			}
		})
	}
}

// The environment alone makes every judge suit a reasoning model, a model without json_schema, a server
// of one's own.
func TestTheEnvironmentSaysHowTheModelIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		variables map[string]string
		want      map[string]string // of the body; "" is not there
	}{
		"nothing":              {nil, map[string]string{"temperature": "0", "reasoning_effort": "", "response_format.type": `"json_schema"`}},
		"a reasoning model":    {map[string]string{"MODEL": "gpt-5-mini-2025-08-07", "REASONING": "low"}, map[string]string{"temperature": "", "reasoning_effort": `"low"`}},
		"its other protocol":   {map[string]string{"MODEL": "gpt-5-mini-2025-08-07", "REASONING": "low", "API": "responses"}, map[string]string{"temperature": "", "reasoning.effort": `"low"`}},
		"no temperature":       {map[string]string{"TEMPERATURE": ""}, map[string]string{"temperature": "", "reasoning_effort": ""}},
		"another temperature":  {map[string]string{"TEMPERATURE": "1"}, map[string]string{"temperature": "1"}},
		"an older Claude":      {map[string]string{"PROVIDER": "anthropic", "MODEL": "claude-3-5-haiku-20241022", "RESPONSE_FORMAT": "tool"}, map[string]string{"output_config": "", "tool_choice.type": `"tool"`, "temperature": "0"}},
		"a newer Claude":       {map[string]string{"PROVIDER": "anthropic", "MODEL": "claude-opus-4-7", "REASONING": "medium"}, map[string]string{"output_config.effort": `"medium"`, "thinking.type": `"adaptive"`, "temperature": ""}},
		"a small server":       {map[string]string{"PROVIDER": "compatible", "MODEL": "m", "RESPONSE_FORMAT": "none", "MAX_TOKENS": "900", "CONTEXT_TOKENS": "32000"}, map[string]string{"response_format": "", "max_tokens": "900"}},
		"OpenRouter, thinking": {map[string]string{"PROVIDER": "openrouter", "MODEL": "vendor/m", "REASONING": "high"}, map[string]string{"reasoning.effort": `"high"`, "temperature": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var body []byte
			server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step { body = r.Body; return llmtest.ServerError() })
			env := kinds.Env{LookupEnv: func(n string) (string, bool) {
				switch short := strings.TrimPrefix(n, "ASSAY_JUDGE_"); {
				case short == "BASE_URL":
					return server.BaseURL, true
				case strings.HasSuffix(n, "_API_KEY"):
					return "k", true
				default:
					v, ok := c.variables[short]
					return v, ok
				}
			}}
			for _, judgeName := range models(t) {
				j, v, err := Get(judgeName, env)
				if err != nil {
					t.Fatal(judgeName, err)
				}
				asked, err := kinds.Build(v, j.Settings, env)
				if err != nil {
					t.Fatal(judgeName, err)
				}
				if r := asked.Ask(t.Context(), judge.Question{Session: set(t, judgeName)[0].Session}); r.Class != assay.ClassProviderError {
					t.Fatalf("%s: %+v", judgeName, r)
				}
				for path, want := range c.want {
					if got := gjson.GetBytes(body, path).Raw; got != want {
						t.Errorf("%s: %s is %q, want %q", judgeName, path, got, want)
					}
				}
			}
		})
	}
}

// Every judge that asks a model tells of the same variables and reads all of them.
func TestEveryModelJudgeReadsTheSameVariables(t *testing.T) {
	part := func(text, from, to string) string {
		_, rest, _ := strings.Cut(text, from)
		inside, _, found := strings.Cut(rest, to)
		if !found {
			t.Fatalf("%q is not there", from)
		}
		return inside
	}
	var head, block string
	for _, name := range models(t) {
		text, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		h, b := part(string(text), "# The environment", "# To begin"), part(string(text), "\nllm:\n", "  rubric:")
		b = regexp.MustCompile(`  units_per_call: \d+\n`).ReplaceAllString(b, "")
		if head == "" {
			head, block = h, b
		}
		if h != head || b != block {
			t.Errorf("%s is not as the others:\n%s%s", name, h, b)
		}
	}
	doc, err := os.ReadFile("../../../docs/BUILTINS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range regexp.MustCompile(`ASSAY_JUDGE_\w+`).FindAllString(block, -1) {
		if !strings.Contains(string(doc), "`"+v+"`") || !strings.Contains(head, strings.TrimPrefix(v, "ASSAY_JUDGE")) {
			t.Errorf("docs/BUILTINS.md or the judges' own words do not tell of %s", v)
		}
	}
}

// Without any variable the default provider's own endpoint and key are asked for.
func TestTheDefaultEndpoint(t *testing.T) {
	for _, name := range models(t) {
		for provider, want := range map[string]string{"": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com", "ollama": "http://localhost:11434/v1"} {
			env := kinds.Env{LookupEnv: func(n string) (string, bool) { return provider, n == "ASSAY_JUDGE_PROVIDER" }}
			j, v, err := Get(name, env)
			if err != nil {
				t.Fatal(err)
			}
			asked, err := kinds.Build(v, j.Settings, env)
			if err != nil {
				t.Fatal(err)
			}
			if got := asked.(judge.Metered).Model().Endpoint; got != want {
				t.Errorf("%s with the provider %q asks %s", name, provider, got)
			}
		}
	}
}

// On real sessions: the answers must equal those of a plain count over the file.
func TestResolvedOnCustomerServiceSessions(t *testing.T) {
	sessions := recorded(t)
	j, v, err := Get("resolved", kinds.Env{})
	if err != nil {
		t.Fatal(err)
	}
	asked, err := kinds.Build(v, j.Settings, kinds.Env{})
	if err != nil {
		t.Fatal(err)
	}
	passed, handedOver, failedTools, noTools := 0, 0, 0, 0
	for i, s := range sessions {
		r := asked.Ask(t.Context(), judge.Question{Session: s})
		if r.Class != "" {
			t.Fatalf("session %d: %+v", i, r)
		}
		transfer, bad, tools := false, false, false
		for _, m := range s.Turns[0].Messages {
			for _, c := range m.ToolCalls {
				transfer = transfer || c.Name == "transfer_to_human_agents"
			}
			tools = tools || m.Role == assay.RoleTool
			bad = bad || m.Role == assay.RoleTool && strings.HasPrefix(m.Content, "Error")
		}
		a := r.Answers[0]
		if *a.Pass != (!transfer && !bad) || a.Findings[1].Applies != tools {
			t.Errorf("session %d: transfer %v error %v tools %v, answer %+v", i, transfer, bad, tools, a)
		}
		for _, f := range a.Findings {
			for _, e := range f.Evidence {
				if !e.Verified {
					t.Errorf("session %d: %q was not found", i, e.Quote)
				}
			}
			if f.Applies && string(f.Value) == "false" && len(f.Evidence) == 0 {
				t.Errorf("session %d: %s is false without evidence", i, f.Criterion)
			}
		}
		for _, b := range []struct {
			is bool
			n  *int
		}{{*a.Pass, &passed}, {transfer, &handedOver}, {bad, &failedTools}, {!tools, &noTools}} {
			if b.is {
				*b.n++
			}
		}
	}
	if len(sessions) != 100 || passed != 64 || handedOver != 22 || failedTools != 16 || noTools != 11 {
		t.Errorf("%d sessions: %d pass, %d handed over, %d with tool errors, %d without tools", len(sessions), passed, handedOver, failedTools, noTools)
	}
}

func BenchmarkResolved(b *testing.B) {
	sessions := recorded(b)
	j, v, err := Get("resolved", kinds.Env{})
	if err != nil {
		b.Fatal(err)
	}
	asked, err := kinds.Build(v, j.Settings, kinds.Env{})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		asked.Ask(b.Context(), judge.Question{Session: sessions[i%len(sessions)]})
	}
}

// recorded reads the sessions' messages, no more: importing is another package's affair.
func recorded(t testing.TB) []*assay.Session {
	const file = "../../../../shared/data/tau-bench/historical_trajectories/gpt-4o-airline.trials-0-1.json"
	raw, err := os.ReadFile(file)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("the shared data is not there:", err)
	}
	var rows []struct {
		Traj []struct {
			Role       assay.Role `json:"role"`
			Content    string     `json:"content"`
			ToolCallID string     `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string `json:"id"`
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		} `json:"traj"`
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	sessions := make([]*assay.Session, len(rows))
	for i, row := range rows {
		var turn assay.Turn
		for _, m := range row.Traj {
			message := assay.Message{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID}
			for _, c := range m.ToolCalls {
				message.ToolCalls = append(message.ToolCalls, assay.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
			}
			turn.Messages = append(turn.Messages, message)
		}
		sessions[i] = &assay.Session{Turns: []assay.Turn{turn}}
	}
	return sessions
}
