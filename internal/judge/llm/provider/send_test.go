package provider

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

func noContext() context.Context { return context.Background() }

// The deadline bounds the whole call, however slowly bytes come.
func TestDeadlineAndCancel(t *testing.T) {
	for name, step := range map[string]llmtest.Step{
		"hang": llmtest.Hang(), "hang in the body": llmtest.HangBody(),
		"slow bytes": llmtest.Verdict(yes).Drip(5 * time.Millisecond), "slow error": llmtest.ServerError().Drip(5 * time.Millisecond), "slow stream": llmtest.Stream().Drip(5 * time.Millisecond),
	} {
		for _, api := range []API{ChatCompletions, Messages} {
			t.Run(name+"/"+string(api), func(t *testing.T) {
				arrived := make(chan struct{}, 8)
				server := llmtest.New(t, func(*llmtest.Request) llmtest.Step { arrived <- struct{}{}; return step })
				c := newClient(t, server.BaseURL, as("", api, FormatSchema), func(s *Settings, _ *Params) { s.Timeout = 40 * time.Millisecond })
				began := time.Now()
				if content, r := c.Send(t.Context(), ask(c)); r.Class != assay.ClassTimeout || content != "" || !strings.Contains(r.Error, "40ms") || r.CallAt.IsZero() {
					t.Errorf("%+v", r)
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("it took %s", took)
				}
				<-arrived
				ctx, cancel := context.WithCancel(t.Context())
				go func() { <-arrived; cancel() }()
				c = newClient(t, server.BaseURL, as("", api, FormatSchema))
				if _, r := c.Send(ctx, ask(c)); r.Class != assay.ClassAborted {
					t.Errorf("%+v", r)
				}
				// A deadline of the caller is not the judge's.
				short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer stop()
				if _, r := c.Send(short, ask(c)); r.Class != assay.ClassAborted {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

func TestEndpointsThatCannotBeReached(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String() + "/v1"
	listener.Close()
	secured, _ := secure(t, nil)
	plain := llmtest.New(t, llmtest.Always(llmtest.Garbage()))
	for base, says := range map[string]string{
		closed:                           "nothing answers",
		"http://no-such-host.invalid/v1": "has no address",
		secured.URL:                      "secure connection",
		strings.Replace(plain.BaseURL, "http:", "https:", 1): "secure connection",
	} {
		for _, api := range []API{ChatCompletions, Messages} {
			c := newClient(t, base, as("", api, FormatSchema))
			_, r := c.Send(t.Context(), ask(c))
			if r.Class != assay.ClassUnreachable || !strings.Contains(r.Error, says) || !r.CallAt.IsZero() {
				t.Errorf("%s: %q %q, call at %s", base, r.Class, r.Error, r.CallAt)
			}
		}
	}
}

// A redirect carries no key to another address.
func TestARedirectIsNotFollowed(t *testing.T) {
	followed := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, api := range []API{ChatCompletions, Messages} {
			server := llmtest.New(t, llmtest.Always(llmtest.Status(status, "", "Location", other.URL+"/v1/chat/completions")))
			c := newClient(t, server.BaseURL, as("", api, FormatSchema))
			if _, r := c.Send(t.Context(), ask(c)); r.Class != assay.ClassUnreachable || !strings.Contains(r.Error, other.URL) || followed {
				t.Errorf("%d: %q %q, followed %v", status, r.Class, r.Error, followed)
			}
		}
	}
}

// What the SDKs would take from the environment, and what they would tell of this machine.
func TestOnlyWhatWasAskedForIsSent(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_BASE_URL": "http://wrong.invalid", "OPENAI_API_KEY": "wrong", "OPENAI_ORG_ID": "wrong", "OPENAI_PROJECT_ID": "wrong", "OPENAI_CUSTOM_HEADERS": "X-Wrong: 1",
		"ANTHROPIC_BASE_URL": "http://wrong.invalid", "ANTHROPIC_API_KEY": "wrong", "ANTHROPIC_AUTH_TOKEN": "wrong", "ANTHROPIC_CUSTOM_HEADERS": "X-Wrong: 1", "AZURE_OPENAI_API_KEY": "wrong",
	} {
		t.Setenv(name, value)
	}
	spoken(t, func(t *testing.T, provider string, api API, format string) {
		var header http.Header
		var body []byte
		server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step { header, body = r.Header, r.Body; return llmtest.Verdict(yes) })
		c := newClient(t, server.BaseURL, as(provider, api, format), func(s *Settings, _ *Params) { s.Query = map[string]string{"api-version": "2024-10-21"} })
		if provider == "azure" {
			return // see TestAzureAddresses
		}
		if _, r := c.Send(t.Context(), ask(c)); r.Class != "" {
			t.Fatalf("%+v", r)
		}
		for name, values := range header {
			if strings.HasPrefix(name, "X-Stainless") || strings.Contains(strings.Join(values, ""), "wrong") || name == "X-Wrong" {
				t.Errorf("%s: %q is sent", name, values)
			}
		}
		want := map[bool][2]string{false: {"Authorization", "Bearer " + secret}, true: {"X-Api-Key", secret}}[api == Messages]
		if header.Get(want[0]) != want[1] || header.Get("Content-Type") != "application/json" || (api == Messages) != (header.Get("Anthropic-Version") == "2023-06-01") {
			t.Errorf("%v", header)
		}
		var sent map[string]json.RawMessage
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"temperature", "top_p", "seed", "stream", "n", "thinking", "reasoning", "reasoning_effort"} {
			if _, given := sent[name]; given {
				t.Errorf("%s is sent although it is not set", name)
			}
		}
	})
}

func TestAzureAddresses(t *testing.T) {
	var path, query string
	var header http.Header
	server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step { path, header = r.Path, r.Header; return llmtest.Verdict(yes) })
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.RawQuery
		http.Redirect(w, r, "/", http.StatusFound)
	}))
	defer front.Close()
	host := strings.TrimSuffix(server.BaseURL, "/v1")
	version := map[string]string{"api-version": "2024-10-21"}
	for _, tc := range []struct {
		base  string
		api   API
		query map[string]string
		path  string
	}{
		{host, ChatCompletions, nil, "/openai/v1/chat/completions"},
		{host + "/openai/v1/", ChatCompletions, nil, "/openai/v1/chat/completions"},
		{host, Responses, nil, "/openai/v1/responses"},
		{host, ChatCompletions, version, "/openai/deployments/my model/chat/completions"},
		{host, Responses, version, "/openai/responses"},
		{host + "/openai/deployments/other", ChatCompletions, version, "/openai/deployments/other/chat/completions"},
	} {
		change := func(s *Settings, p *Params) {
			s.Provider, s.API, s.Query, p.Model = "azure", tc.api, tc.query, "my model"
		}
		c := newClient(t, tc.base, change)
		if _, r := c.Send(t.Context(), ask(c)); r.Class != "" || path != tc.path || header.Get("Api-Key") != secret || header.Get("Authorization") != "" {
			t.Errorf("%s: asked at %s, %v; %q", tc.base, path, header, r.Error)
		}
		c = newClient(t, strings.Replace(tc.base, host, front.URL, 1), change)
		if c.Send(t.Context(), ask(c)); (query == "api-version=2024-10-21") != (tc.query != nil) {
			t.Errorf("%s: query %q", tc.base, query)
		}
	}
	if _, err := (Settings{Provider: "azure", BaseURL: host + "/openai/deployments/x"}).Complete(); err == nil {
		t.Error("a deployment without api-version is taken")
	}
	if _, err := (Settings{Provider: "azure"}).Complete(); err == nil || !strings.Contains(err.Error(), "base_url") {
		t.Errorf("%v", err)
	}
}
