package llmtest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

func post(t *testing.T, url, body string) (*http.Response, string, error) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp, string(raw), err
}

// requests of each protocol, with the system's text and a user's message in the forms that it allows.
var requests = map[string][]string{
	"/chat/completions": {`{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":PROMPT}]}`, `{"model":"m","messages":[{"role":"system","content":[{"type":"text","text":"S"}]},{"role":"user","content":[{"type":"text","text":PROMPT}]}]}`},
	"/responses":        {`{"model":"m","instructions":"S","input":[{"role":"user","content":PROMPT}]}`, `{"model":"m","instructions":"S","input":[{"role":"user","content":[{"type":"input_text","text":PROMPT}]}]}`},
	"/messages":         {`{"model":"m","system":"S","messages":[{"role":"user","content":PROMPT}]}`, `{"model":"m","system":[{"type":"text","text":"S"}],"messages":[{"role":"user","content":[{"type":"text","text":PROMPT}]}]}`},
}

func TestEveryProtocolIsUnderstood(t *testing.T) {
	quoted, err := json.Marshal(prompt)
	if err != nil {
		t.Fatal(err)
	}
	var script Script
	s := New(t, func(r *Request) Step { return script(r) })
	for path, bodies := range requests {
		for _, body := range bodies {
			body = strings.Replace(body, "PROMPT", string(quoted), 1)
			script = func(r *Request) Step {
				if r.Model() != "m" || r.System() != "S" || r.Prompt() != prompt || r.Token() != "0123456789abcdef" || strings.Join(r.Messages(), "|") != "system: S|user: "+prompt || r.Tool() {
					t.Errorf("%s: %q %q %q %q", path, r.Model(), r.System(), r.Prompt(), r.Messages())
				}
				return Verdict(map[string]any{"good": true})
			}
			_, answer, err := post(t, s.BaseURL+path, body)
			if err != nil || !json.Valid([]byte(answer)) || !strings.Contains(answer, `\"good\"`) {
				t.Errorf("%s: %s %v", path, answer, err)
			}
			fixed := Fixed(map[string]any{"good": true})
			script = fixed
			if _, got, err := post(t, s.BaseURL+path, body); err != nil || !json.Valid([]byte(got)) || !strings.Contains(got, `0123456789abcdef`) {
				t.Errorf("%s, fixed: %s %v", path, got, err)
			}
			tool := strings.Replace(body, `{"model"`, `{"tool_choice":{"type":"tool"},"model"`, 1)
			if _, got, err := post(t, s.BaseURL+path, tool); err != nil || !json.Valid([]byte(got)) || !strings.Contains(got, `verdict`) || strings.Contains(got, "output_text") {
				t.Errorf("%s, tool: %s %v", path, got, err)
			}
		}
	}
}

func TestEveryFaultHasItsStatusAndAName(t *testing.T) {
	var step Step
	s := New(t, func(*Request) Step { return step })
	for _, provider := range []string{"openai", "anthropic", "azure", "gemini", "vllm", "ollama", "openrouter", "litellm", ""} {
		seen := map[string]bool{}
		for _, fault := range Faults(provider, map[string]any{"good": true}) {
			if seen[fault.Name] || fault.Name == "" || !fault.Text && fault.Class == assay.ClassNone {
				t.Errorf("%s: %+v", provider, fault)
			}
			seen[fault.Name] = true
			step = fault.Step
			for path, bodies := range requests {
				resp, body, err := post(t, s.BaseURL+path, strings.Replace(bodies[0], "PROMPT", `"x"`, 1))
				broken := fault.Name == FaultCut || fault.Name == FaultCutBody || fault.Name == FaultCutChunk || fault.Name == FaultCutStream
				if (err != nil) != broken {
					t.Errorf("%s %s %s: %v", provider, path, fault.Name, err)
				}
				if resp != nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") && body != "" && !json.Valid([]byte(body)) && fault.Name != FaultHalf && !broken {
					t.Errorf("%s %s %s: no JSON: %s", provider, path, fault.Name, body)
				}
			}
		}
		if f := FaultOf(provider, FaultMinute, nil); f.Class != assay.ClassRateLimited {
			t.Errorf("%s: %+v", provider, f)
		}
	}
}

func TestADripTakesItsTime(t *testing.T) {
	s := New(t, Always(Status(200, "0123456789").Drip(2*time.Millisecond)))
	began := time.Now()
	if _, body, err := post(t, s.BaseURL+"/responses", "{}"); err != nil || body != "0123456789" || time.Since(began) < 15*time.Millisecond {
		t.Errorf("%q %v after %s", body, err, time.Since(began))
	}
}
