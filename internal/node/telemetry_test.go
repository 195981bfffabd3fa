package node

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

// body asks for url over a connection to address.
func body(t *testing.T, network, address, url, token string) (int, string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// A run's calls are in the metrics on both doors and in the spans that a collector gets; a provider is
// sent nothing of them.
func TestARunIsSeenFromOutside(t *testing.T) {
	var mu sync.Mutex
	var spans strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&spans, r.Body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	var traced []string
	model := llmtest.New(t, func(r *llmtest.Request) llmtest.Step {
		mu.Lock()
		defer mu.Unlock()
		for name := range r.Header {
			if name == "Traceparent" || name == "Tracestate" || name == "Baggage" {
				traced = append(traced, name)
			}
		}
		return llmtest.Verdict(map[string]any{"ok": true})
	})

	dir := filepath.Join(shortDir(t), "data")
	cfg, _ := config(dir, "serve", true)
	link := connected(t, cfg)
	l, err := Listen("127.0.0.1:0", "t0ken")
	if err != nil {
		t.Fatal(err)
	}
	address := link.Node().ServeTCP(l, Door{Token: "t0ken"})
	gradeOne(t, link, model.BaseURL)

	for door, ask := range map[string]func() (int, string){
		"tcp": func() (int, string) { return body(t, "tcp", l.Addr().String(), address+"/metrics", "t0ken") },
		"socket": func() (int, string) {
			return body(t, "unix", filepath.Join(dir, "assay.sock"), "http://assay/metrics", "")
		},
	} {
		status, text := ask()
		for _, line := range []string{`assay_judge_calls_total{class="verdict",judge="ok",model="test-2026-01-01",project="default"} 1`,
			`assay_runs{state="running"} 0`, `assay_limit_in_flight{endpoint="` + model.BaseURL + `",model="test-2026-01-01"} 0`,
			`assay_judge_calls_in_flight{model="test-2026-01-01"} 0`, "process_start_time_seconds"} {
			if status != http.StatusOK || !strings.Contains(text, line) {
				t.Errorf("%s: %d, no %s in\n%s", door, status, line, text)
			}
		}
	}
	if status, text := body(t, "tcp", l.Addr().String(), address+"/metrics", ""); status != http.StatusUnauthorized || strings.Contains(text, "assay_") {
		t.Errorf("without the token: %d %s", status, text)
	}

	if err := link.Node().Close(0); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if sent := spans.String(); strings.Count(sent, `"chat test-2026-01-01"`) != 1 || strings.Contains(sent, "lost parcel") || strings.Contains(sent, "ann@example.org") {
		t.Errorf("spans: %s", sent)
	}
	if len(traced) > 0 {
		t.Errorf("the provider was sent %v", traced)
	}
}

// gradeOne grades one session with a judge that asks the model at baseURL, and waits for the end.
func gradeOne(t *testing.T, link *Link, baseURL string) {
	t.Helper()
	c := client.New("http://assay", &http.Client{Transport: link})
	session := `{"format":"assay.session/1","user_id":"ann@example.org","session_id":"s1","turns":[{"started_at":"2026-03-01T10:00:00Z","messages":[{"role":"user","content":"my lost parcel"},{"role":"assistant","content":"found"}]}]}` + "\n"
	if _, err := c.Import(t.Context(), DefaultProject, assay.ImportOptions{File: "one.jsonl"}, strings.NewReader(session), nil); err != nil {
		t.Fatal(err)
	}
	judge := fmt.Sprintf("name: ok\nkind: llm\ncriteria:\n  - name: ok\n    type: boolean\n    question: Did the agent help?\nllm:\n  base_url: %s\n  model: test-2026-01-01\n", baseURL)
	if _, err := c.ApplyJudge(t.Context(), DefaultProject, judge); err != nil {
		t.Fatal(err)
	}
	graded, err := c.Grade(t.Context(), DefaultProject, engine.GradeRequest{Judges: []string{"ok"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	last, err := c.Watch(t.Context(), graded.Run.ID, func(api.RunView) bool { return true })
	if err != nil || last.State != assay.RunCompleted {
		t.Fatalf("%v %+v", err, last)
	}
}
