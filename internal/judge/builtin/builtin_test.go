package builtin

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

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
		if j.Name != name || v.Alias || j.Description == "" {
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
