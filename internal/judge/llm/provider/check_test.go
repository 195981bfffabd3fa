package provider

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

func checked(t *testing.T, base string, changes ...change) Report {
	t.Helper()
	s := Settings{BaseURL: base, KeyEnv: "TEST_KEY", Timeout: 10 * time.Second}
	p := Params{Model: "m-1", MaxTokens: 900}
	for _, c := range changes {
		c(&s, &p)
	}
	r := Check(t.Context(), s, p, Env{LookupEnv: lookup})
	if len(r.Steps) != len(checks) {
		t.Fatalf("%+v", r)
	}
	for i, step := range r.Steps {
		if step.Name != checks[i] || step.Says == "" || (step.State == stateFailed || step.State == stateMissing) != (step.Remedy != "") || strings.Contains(step.Says+step.Remedy, secret) {
			t.Errorf("%+v", step)
		}
	}
	return r
}

func (r Report) state(name string) StepState {
	return r.Steps[slices.Index(checks, name)].State
}

func TestCheckOfAProviderThatWorks(t *testing.T) {
	spoken(t, func(t *testing.T, provider string, api API, format string) {
		var body string
		server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step {
			body = string(r.Body)
			return llmtest.Text(`{"ok": true}`).With("X-Ratelimit-Limit-Requests", "60", "X-Ratelimit-Remaining-Requests", "59", "X-Request-Id", "req-1")
		})
		r := checked(t, server.BaseURL, as(provider, api, format))
		for _, step := range r.Steps {
			if want := map[bool]StepState{false: stateOK, true: stateMissing}[step.Name == stepTLS]; step.State != want {
				t.Errorf("%+v", step)
			}
		}
		if !r.OK || server.Count() != 1 || len(body) > 1500 || r.Usage.Input == 0 || r.Told.LimitRequests != 60 || r.RequestID != "req-1" || r.Served == "" || r.Model != "m-1" {
			t.Errorf("%+v", r)
		}
		for _, field := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
			if n := gjson.Get(body, field).Int(); n > checkTokens {
				t.Errorf("the check may cost %d tokens", n)
			}
		}
	})
}

func TestCheckNamesTheStepThatFails(t *testing.T) {
	secured, ca := secure(t, llmtest.Always(llmtest.Text(`{"ok": true}`)))
	for name, tc := range map[string]struct {
		step    llmtest.Step
		base    string
		change  change
		failed  string // the first step that fails
		missing []string
		ok      []string
	}{
		"settings":        {change: func(s *Settings, _ *Params) { s.Provider = "nobody" }, failed: stepSettings},
		"model not given": {change: func(_ *Settings, p *Params) { p.Model = "" }, failed: stepSettings},
		"nobody there":    {base: "http://127.0.0.1:1/v1", failed: stepAddress},
		"wrong path":      {step: llmtest.Status(404, `{"detail":"Not Found"}`), failed: stepAddress},
		"cut":             {step: llmtest.Cut(), failed: stepAddress},
		"no CA":           {base: secured.URL, failed: stepTLS, ok: []string{stepAddress}},
		"CA":              {base: secured.URL, change: func(s *Settings, _ *Params) { s.CAFile = ca }, ok: []string{stepTLS, stepSchema}, missing: []string{stepLimits}},
		"key not set":     {step: llmtest.Text("x"), change: func(s *Settings, _ *Params) { s.KeyEnv = "NOT_SET" }, failed: stepKey},
		"key refused":     {step: llmtest.BadKey(secret), failed: stepKey, ok: []string{stepAddress}},
		"model":           {step: llmtest.NoModel(), failed: stepModel, ok: []string{stepAddress}},
		"no money":        {step: llmtest.Quota(), failed: stepAnswer, ok: []string{stepKey}},
		"bad parameter":   {step: llmtest.Problem(400, "invalid_request_error", "", "response_format is not supported"), failed: stepAnswer, ok: []string{stepKey}},
		"server error":    {step: llmtest.ServerError(), failed: stepAnswer},
		"page":            {step: llmtest.Page(http.StatusOK, "Sign in"), failed: stepAnswer, ok: []string{stepAddress}},
		"no schema":       {step: llmtest.Text("Sure! It is ok."), missing: []string{stepSchema, stepLimits}, ok: []string{stepAnswer, stepUsage}},
		"no usage":        {step: llmtest.Status(200, `{"choices":[{"message":{"content":"{\"ok\":true}"}}]}`), missing: []string{stepUsage}, ok: []string{stepSchema}},
		"format none":     {step: llmtest.Text("hello"), change: func(_ *Settings, p *Params) { p.Format = FormatNone }, missing: []string{stepSchema}},
	} {
		t.Run(name, func(t *testing.T) {
			base := tc.base
			if base == "" {
				base = llmtest.New(t, llmtest.Always(tc.step)).BaseURL
			}
			change := tc.change
			if change == nil {
				change = func(*Settings, *Params) {}
			}
			r := checked(t, base, change)
			if r.OK != (tc.failed == "") {
				t.Errorf("%+v", r)
			}
			first := slices.IndexFunc(r.Steps, func(s Step) bool { return s.State == stateFailed })
			if tc.failed != "" && (first < 0 || r.Steps[first].Name != tc.failed) {
				t.Fatalf("%+v", r.Steps)
			}
			for i, s := range r.Steps {
				if first >= 0 && i > first && s.State != stateSkipped {
					t.Errorf("after what failed: %+v", s)
				}
			}
			for _, name := range tc.missing {
				if r.state(name) != stateMissing {
					t.Errorf("%s is %s", name, r.state(name))
				}
			}
			for _, name := range tc.ok {
				if r.state(name) != stateOK {
					t.Errorf("%s is %s", name, r.state(name))
				}
			}
		})
	}
	plain := llmtest.New(t, llmtest.Always(llmtest.Status(200, `{"choices":[{"message":{"content":"{\"ok\":true}"}}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`)))
	if r := checked(t, plain.BaseURL); r.Steps[slices.Index(checks, stepUsage)].Says != "9 tokens in, 3 out" {
		t.Errorf("reasoning was not reported: %+v", r.Steps)
	}
	server := llmtest.New(t, llmtest.Always(llmtest.RateLimited(time.Second)))
	if r := checked(t, server.BaseURL); r.Class != assay.ClassRateLimited {
		t.Errorf("%+v", r)
	}
}
