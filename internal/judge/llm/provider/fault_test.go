package provider

import (
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

// Every fault of every provider, in every protocol that it speaks: each in its class.
func TestEveryFaultOfEveryProvider(t *testing.T) {
	spoken(t, func(t *testing.T, provider string, api API, format string) {
		seen := map[string]bool{}
		for _, fault := range llmtest.Faults(provider, yes) {
			seen[fault.Name] = true
			t.Run(fault.Name, func(t *testing.T) {
				server := llmtest.New(t, llmtest.Always(fault.Step))
				c := newClient(t, server.BaseURL, as(provider, api, format))
				content, r := c.Send(t.Context(), ask(c))
				if fault.Text {
					if r.Class != "" || !strings.Contains(content, llmtest.Answer(token, yes)) || c.Content(r.Raw) != content {
						t.Fatalf("%q %q %q", r.Class, r.Error, content)
					}
					return
				}
				if r.Class != fault.Class || content != "" || r.Error == "" {
					t.Fatalf("class %q, want %q; %q, content %q", r.Class, fault.Class, r.Error, content)
				}
				if r.RetryAfter < fault.Wait-2*time.Second || r.RetryAfter > fault.Wait+2*time.Second || (fault.Wait == 0) != (r.RetryAfter == 0) {
					t.Errorf("retry after %s, want %s", r.RetryAfter, fault.Wait)
				}
				if n := server.Count(); n != 1 {
					t.Errorf("%d calls", n)
				}
				if r.CallAt.IsZero() || r.EndedAt.Before(r.CallAt) {
					t.Errorf("times %s %s", r.CallAt, r.EndedAt)
				}
			})
		}
		for _, name := range []string{llmtest.FaultDaily, llmtest.FaultMinute, llmtest.FaultKey, llmtest.FaultModel, llmtest.FaultBusy, llmtest.FaultContext, llmtest.FaultFilter, llmtest.FaultLength, llmtest.FaultRefusal, llmtest.FaultTool, llmtest.FaultFenced, llmtest.FaultProse, llmtest.FaultTwo, llmtest.FaultEmpty, llmtest.FaultMoney, llmtest.FaultServer} {
			if !seen[name] {
				t.Errorf("there is no fault %q", name)
			}
		}
	})
}

func TestABodyThatIsTooLong(t *testing.T) {
	server := llmtest.New(t, llmtest.Always(llmtest.Text(strings.Repeat("x", maxBody+1))))
	c := newClient(t, server.BaseURL)
	if content, r := c.Send(t.Context(), ask(c)); r.Class != assay.ClassMalformed || content != "" || !strings.Contains(r.Error, "longer than") {
		t.Errorf("%q %q", r.Class, r.Error)
	}
}
