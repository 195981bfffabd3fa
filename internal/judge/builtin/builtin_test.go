package builtin

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/kinds"
	"assay/internal/judge/llm/llmtest"
)

func TestEveryBuiltinParsesAndBuilds(t *testing.T) {
	if names := strings.Join(Names(), " "); names != "resolved task-success" {
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

func TestTaskSuccessAsksTheEndpointThatTheEnvironmentNames(t *testing.T) {
	server := llmtest.New(t, llmtest.ByTranscript(func(text string) map[string]any {
		return map[string]any{"task_success": llmtest.Finding{Value: strings.Contains(text, "refunded"), Reason: "r", Status: "answered", Quotes: []string{"refunded"}}}
	}))
	variables := map[string]string{"ASSAY_JUDGE_BASE_URL": server.BaseURL, "ASSAY_JUDGE_MODEL": "local", "ASSAY_JUDGE_KEY_ENV": "ASSAY_JUDGE_KEY", "ASSAY_JUDGE_KEY": "x"}
	env := kinds.Env{LookupEnv: func(n string) (string, bool) { v, ok := variables[n]; return v, ok }}
	j, v, err := Get("task-success", env)
	if err != nil || !v.Alias {
		t.Fatal(v.Alias, err)
	}
	asked, err := kinds.Build(v, j.Settings, env)
	if err != nil {
		t.Fatal(err)
	}
	s := &assay.Session{Turns: []assay.Turn{{Messages: []assay.Message{{Role: assay.RoleUser, Content: "refund please"}, {Role: assay.RoleAssistant, Content: "It is refunded."}}}}}
	r := asked.Ask(t.Context(), judge.Question{Session: s})
	if r.Class != "" || !*r.Answers[0].Pass || !r.Answers[0].Findings[0].Evidence[0].Verified {
		t.Fatalf("%+v", r)
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
