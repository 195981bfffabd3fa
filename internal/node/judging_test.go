package node

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge/llm/llmtest"
)

const fiveTurns = `{"format":"assay.session/1","user_id":"ann","session_id":"s1","turns":[` +
	`{"started_at":"2026-03-01T10:00:00Z","messages":[{"role":"user","content":"my lost parcel"},{"role":"assistant","content":"I look"}]},` +
	`{"messages":[{"role":"user","content":"two"},{"role":"assistant","content":"b"}]},` +
	`{"messages":[{"role":"user","content":"three"},{"role":"assistant","content":"c"}]},` +
	`{"messages":[{"role":"user","content":"four"},{"role":"assistant","content":"d"}]},` +
	`{"messages":[{"role":"user","content":"five"},{"role":"assistant","content":"e"}]}]}` + "\n"

// sent are the bodies that a scripted model was sent.
type sent struct {
	mu     sync.Mutex
	bodies []string
}

func (s *sent) script(steps ...llmtest.Step) llmtest.Script {
	return func(r *llmtest.Request) llmtest.Step {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bodies = append(s.bodies, string(r.Body))
		return steps[min(len(s.bodies), len(steps))-1]
	}
}

func (s *sent) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

// driving is a node that drives, with one session and the judge of a text with the model's address.
func driving(t *testing.T, judge, baseURL string) *client.Client {
	t.Helper()
	cfg, _ := config(filepath.Join(shortDir(t), "data"), "serve", true)
	c := client.New("http://assay", &http.Client{Transport: connected(t, cfg)})
	if _, err := c.Import(t.Context(), DefaultProject, assay.ImportOptions{File: "one.jsonl"}, strings.NewReader(fiveTurns), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ApplyJudge(t.Context(), DefaultProject, fmt.Sprintf(judge, baseURL)); err != nil {
		t.Fatal(err)
	}
	return c
}

func units(names ...string) llmtest.Step {
	return llmtest.Wrote(func(r *llmtest.Request) string {
		parts := []string{fmt.Sprintf(`"answer_token":%q`, r.Token())}
		for i, name := range names {
			parts = append(parts, fmt.Sprintf(`"unit_%d":{"unit":%q,"ok":{"evidence":[],"reason":"as scripted","value":true}}`, i+1, name))
		}
		return "{" + strings.Join(parts, ",") + "}"
	})
}

const (
	sessionJudge = "name: ok\nkind: llm\ncriteria:\n  - {name: ok, type: boolean, question: 'Did the agent help?'}\nllm:\n  base_url: %s\n  model: test-2026-01-01\n  api_key_env: ASSAY_JUDGE_KEY\n"
	turnJudge    = "name: ok\nkind: llm\nunit: turn\ncriteria:\n  - {name: ok, type: boolean, question: 'Did the agent help?', roll_up: all}\nllm:\n  base_url: %s\n  model: test-2026-01-01\n  api_key_env: ASSAY_JUDGE_KEY\n  units_per_call: 2\n"
)

// The exchange shows byte for byte what the provider was sent, and never the key.
func TestTheExchangeIsWhatWasSent(t *testing.T) {
	t.Setenv("ASSAY_JUDGE_KEY", "sk-very-secret")
	for name, c := range map[string]struct {
		judge string
		steps []llmtest.Step
		class []assay.Class
	}{
		"asked again": {sessionJudge, []llmtest.Step{llmtest.Garbage(), llmtest.Verdict(map[string]any{"ok": true})}, []assay.Class{assay.ClassMalformed, ""}},
		"units": {turnJudge, []llmtest.Step{units("t0", "t1"), llmtest.Garbage(), units("t2", "t3"), units("t4")},
			[]assay.Class{"", assay.ClassMalformed, "", ""}},
		"a server error between": {sessionJudge, []llmtest.Step{llmtest.Garbage(), llmtest.ServerError(), llmtest.Verdict(map[string]any{"ok": true})},
			[]assay.Class{assay.ClassMalformed, assay.ClassProviderError, ""}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := &sent{}
			model := llmtest.New(t, seen.script(c.steps...))
			door := driving(t, c.judge, model.BaseURL)
			g, err := door.Grade(t.Context(), DefaultProject, engine.GradeRequest{Judges: []string{"ok"}}, "")
			if err != nil {
				t.Fatal(err)
			}
			if v, err := door.Watch(t.Context(), g.ID, func(api.RunView) bool { return true }); err != nil || v.State != assay.RunCompleted {
				x, _ := door.Exchange(t.Context(), g.ID, 1)
				t.Fatalf("%s %s: %+v, %v", v.State, v.Sentence, x.Attempts, err)
			}
			x, err := door.Exchange(t.Context(), g.ID, 1)
			bodies := seen.all()
			if err != nil || len(x.Attempts) != len(c.class) || len(bodies) != len(c.class) {
				t.Fatalf("%d attempts, %d requests, %v", len(x.Attempts), len(bodies), err)
			}
			for i, a := range x.Attempts {
				if a.Class != c.class[i] || string(a.Request) != bodies[i] || a.NotRebuilt != "" {
					shown, was := apart(string(a.Request), bodies[i])
					t.Errorf("call %d (%s, want %s), %s: shown %q, was sent %q", i+1, a.Class, c.class[i], a.NotRebuilt, shown, was)
				}
				if a.Raw == "" || !strings.Contains(x.Seen[a.Seen], "my lost parcel") {
					t.Errorf("call %d: raw %q, seen %q", i+1, a.Raw, x.Seen[a.Seen])
				}
			}
			if all, err := json.Marshal(x); err != nil || strings.Contains(string(all), "very-secret") {
				t.Errorf("the key stands in the exchange: %v", err)
			}
		})
	}
}

// apart cuts two texts to where they part.
func apart(a, b string) (string, string) {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return a[max(0, i-40):min(len(a), i+200)], b[max(0, i-40):min(len(b), i+200)]
}

// A dry run shows what a real one then sends.
func TestADryRunIsWhatWouldBeSent(t *testing.T) {
	t.Setenv("ASSAY_JUDGE_KEY", "sk-very-secret")
	seen := &sent{}
	model := llmtest.New(t, seen.script(llmtest.Verdict(map[string]any{"ok": true})))
	door := driving(t, sessionJudge, model.BaseURL)
	if _, err := door.PutModel(t.Context(), api.ModelPut{ModelKey: assay.ModelKey{Endpoint: model.BaseURL, Model: "test-2026-01-01"},
		Price: &assay.Price{Input: assay.Dollar, Output: 2 * assay.Dollar}}); err != nil {
		t.Fatal(err)
	}
	dry, err := door.TryJudge(t.Context(), DefaultProject, api.TryRequest{Judge: "ok", Session: "ann/s1", DryRun: true}, "")
	if err != nil || model.Count() != 0 {
		t.Fatalf("%v, %d calls", err, model.Count())
	}
	p := dry.Prompt
	if p.Worst == nil || *p.Worst != p.Price.Worst(p.Most, p.Output) || p.Input == 0 || p.Output == 0 || p.Units != 1 {
		t.Errorf("%+v", p)
	}
	real, err := door.TryJudge(t.Context(), DefaultProject, api.TryRequest{Judge: "ok", Session: "ann/s1"}, "")
	if err != nil || len(real.Verdicts) != 1 {
		t.Fatalf("%+v, %v", real, err)
	}
	if body := seen.all()[0]; string(p.Request) != body {
		t.Errorf("dry:\n%s\nsent:\n%s", p.Request, body)
	}
	a := real.Exchange.Attempts[0]
	if a.Cost == nil || a.Reserved == nil || *a.Cost > *a.Reserved || *a.Reserved > *p.Worst {
		t.Errorf("cost %v, set aside %v, dry run's worst %v", a.Cost, a.Reserved, p.Worst)
	}
}

func TestReachingDefinitionsAreForTheSocket(t *testing.T) {
	j := newModels(nil, nil).judges
	for name, block := range map[string]string{
		"a key's file":    "  api_key_file: /etc/passwd\n",
		"a key's command": "  api_key_command: [cat, /etc/passwd]\n",
		"a CA file":       "  ca_file: /etc/passwd\n",
	} {
		source := api.JudgeSource{Source: "name: ok\nkind: llm\ncriteria:\n  - {name: ok, type: boolean, question: 'Is it ok?'}\nllm:\n  base_url: http://127.0.0.1:1/v1\n  model: m\n" + block}
		if _, _, err := j.compile(source, false); assay.CodeOf(err) != assay.CodeForbidden {
			t.Errorf("%s over the network: %v", name, err)
		}
		if _, _, err := j.compile(source, true); assay.CodeOf(err) == assay.CodeForbidden && err != nil {
			t.Errorf("%s over the socket: %v", name, err)
		}
	}
}
