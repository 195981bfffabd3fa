package telemetry

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"assay/internal/assay"
	"assay/internal/judge"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret stands for whatever must not leave: transcripts, answers, errors that quote them.
const secret = "the-patient-said"

var epoch = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func aCall() judge.Call {
	return judge.Call{
		Project: "shop", Run: 7, Seq: 41, N: 2, Judge: "helpful", Version: "sha256:abc", Kind: assay.JudgeLLM,
		Model: assay.ModelKey{Endpoint: "https://key:" + secret + "@api.example.com/v1?k=" + secret, Model: "gpt-9"}, Provider: "gemini",
	}
}

// aReply is the reply of a call that took 1.5 s and used every kind of token.
func aReply(class assay.Class) judge.Reply {
	return judge.Reply{
		Class: class, Error: "unreadable: " + secret, Raw: secret, CallAt: epoch, EndedAt: epoch.Add(1500 * time.Millisecond),
		Usage: assay.Usage{Known: true, Input: 1000, Cached: 200, CacheWrite: 300, Output: 50, Reasoning: 20},
		Model: "gpt-9-2026-05-01", RequestID: "chatcmpl-1", Fingerprint: "fp",
		Answers: []assay.Answer{{}},
	}
}

func usd(n float64) *assay.USD { return new(assay.USD(n * float64(assay.Dollar))) }

// scrape asks for the metrics over HTTP and returns their text.
func scrape(t testing.TB, tel *Telemetry) string {
	t.Helper()
	w := httptest.NewRecorder()
	tel.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("scrape: %d %s", w.Code, w.Header().Get("Content-Type"))
	}
	return w.Body.String()
}

// collector is an OTLP collector that keeps what it is sent.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	bodies   [][]byte
	requests []*http.Request
}

// collect starts a collector, points the environment of the test to it, and takes JSON.
func collect(t *testing.T) *collector {
	t.Helper()
	c := new(collector)
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		c.bodies, c.requests = append(c.bodies, body), append(c.requests, r)
		c.mu.Unlock()
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	}))
	t.Cleanup(c.Close)
	clearEnv(t)
	t.Setenv(envEndpoint, c.URL)
	t.Setenv(envProtocol, "http/json")
	return c
}

// clearEnv drops what the person who runs the tests has set.
func clearEnv(t *testing.T) {
	t.Helper()
	for _, name := range []string{envDisabled, envExporter, envEndpoint, envTracesEndpoint, envProtocol, envTracesProtocol,
		envHeaders, envTracesHeaders, "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_SAMPLER"} {
		t.Setenv(name, "")
	}
}

// span is one as OTLP's JSON writes it.
type span struct {
	Name         string
	Kind         int
	ParentSpanID string
	Attributes   []attr
	Events       []json.RawMessage
	Status       struct {
		Code    int
		Message string
	}
}

type attr struct {
	Key   string
	Value map[string]any
}

func (s span) value(key string) any {
	for _, a := range s.Attributes {
		if a.Key == key {
			for _, v := range a.Value {
				return v
			}
		}
	}
	return nil
}

func (s span) keys() (keys []string) {
	for _, a := range s.Attributes {
		keys = append(keys, a.Key)
	}
	slices.Sort(keys)
	return keys
}

// spans are all that came, and the attributes of the resource that sent them.
func (c *collector) spans(t *testing.T) (all []span, resource map[string]any) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	resource = map[string]any{}
	for _, body := range c.bodies {
		var sent struct {
			ResourceSpans []struct {
				Resource   struct{ Attributes []attr }
				ScopeSpans []struct{ Spans []span }
			}
		}
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Fatalf("collector got %q: %v", body, err)
		}
		for _, rs := range sent.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				resource[a.Key] = a.Value["stringValue"]
			}
			for _, ss := range rs.ScopeSpans {
				all = append(all, ss.Spans...)
			}
		}
	}
	return all, resource
}

// sent is all that left, as text.
func (c *collector) sent() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all strings.Builder
	for _, body := range c.bodies {
		all.Write(body)
	}
	return all.String()
}
