package provider

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assay/internal/judge/llm/llmtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(caller) != "" {
		callThroughProxy()
		return
	}
	if llmtest.ServedElsewhere(llmtest.Fixed(yes)) {
		return
	}
	goleak.VerifyTestMain(m)
}

const secret = "sk-very-secret-0123456789"

const token = "0123456789abcdef"

// schema is like those of judges: bounds that some strict modes refuse, properties in a chosen order,
// and properties that are named like keywords.
const schema = `{"type":"object","properties":{"answer_token":{"type":"string"},"resolved":{"type":"object","properties":{"evidence":{"type":"array","items":{"type":"string","minLength":1},"maxItems":5},"reason":{"type":"string","maxLength":600},"value":{"type":["boolean","null"]}},"required":["evidence","reason","value"],"additionalProperties":false},"minimum":{"type":"number","minimum":0,"maximum":10}},"required":["answer_token","resolved","minimum"],"additionalProperties":false}`

var yes = map[string]any{"resolved": true}

func lookup(name string) (string, bool) {
	if strings.HasSuffix(name, "_KEY") {
		return secret, true
	}
	return "", false
}

type change func(*Settings, *Params)

// newClient makes a client of the endpoint at base.
func newClient(t testing.TB, base string, changes ...change) *Client {
	t.Helper()
	s := Settings{BaseURL: base, KeyEnv: "TEST_KEY", Timeout: 10 * time.Second}
	p := Params{Model: "m-1", Schema: json.RawMessage(schema), MaxTokens: 900}
	for _, c := range changes {
		c(&s, &p)
	}
	transport := NewTransport()
	t.Cleanup(transport.CloseIdleConnections)
	c, err := New(s, p, "You grade.", user, Env{LookupEnv: lookup, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var user = []Part{{Text: "Grade this:\n"}, {Place: 1}, {Text: "\n- \"answer_token\": \""}, {Place: 2}, {Text: "\", copied exactly."}}

func ask(c *Client) []byte { return c.Body([]string{"[turn 0] \"hello\"", token}, nil) }

// spoken runs a test for each provider, API and format.
func spoken(t *testing.T, f func(t *testing.T, provider string, api API, format string)) {
	for _, p := range Profiles() {
		for _, api := range p.APIs {
			for _, format := range []string{FormatSchema, FormatTool} {
				t.Run(p.Name+"/"+string(api)+"/"+format, func(t *testing.T) { f(t, p.Name, api, format) })
			}
		}
	}
}

func as(provider string, api API, format string) change {
	return func(s *Settings, p *Params) { s.Provider, s.API, p.Format = provider, api, format }
}

func TestAnAnswerArrivesFromEveryProvider(t *testing.T) {
	spoken(t, func(t *testing.T, provider string, api API, format string) {
		var path string
		server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step {
			path = r.Path
			if r.Token() != token || r.System() != "You grade." || !strings.Contains(r.Prompt(), "[turn 0] \"hello\"") || r.Model() != "m-1" || r.Tool() != (format == FormatTool) {
				t.Errorf("%s", r.Body)
			}
			return llmtest.Verdict(yes)
		})
		c := newClient(t, server.BaseURL, as(provider, api, format))
		body := ask(c)
		content, r := c.Send(t.Context(), body)
		if want := llmtest.Answer(token, yes); r.Class != "" || content != want {
			t.Fatalf("%q %q, want %q; %+v", r.Error, content, want, r)
		}
		in := int64(len(body) / 4)
		if u := r.Usage; !u.Known || u.Input != in || u.Cached != 16 || u.CacheWrite != 0 || u.Output != int64(len(content)/4+4) || u.Reasoning != 4 {
			t.Errorf("%+v, want %d in", u, in)
		}
		if r.HTTPStatus != 200 || r.Model != "m-1-2025-01-01" || r.Raw == "" || c.Content(r.Raw) != content || r.CallAt.IsZero() || r.EndedAt.Before(r.CallAt) || r.Answers != nil {
			t.Errorf("%+v", r)
		}
		if want := map[API]string{ChatCompletions: "/v1/chat/completions", Responses: "/v1/responses", Messages: "/v1/messages"}[api]; path != want {
			t.Errorf("asked at %s", path)
		}
	})
}
