package telemetry

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/limit"
)

func TestASpanOfACallToAModel(t *testing.T) {
	c := collect(t)
	tel := New(t.Context(), Options{Version: "v1.2", Spans: true})
	inside, ended := tel.Call(t.Context(), aCall())
	if !trace.SpanContextFromContext(inside).IsValid() {
		t.Error("the call does not run inside its span")
	}
	ended(aReply(assay.ClassNone), usd(0.0125))
	tel.Close()

	spans, resource := c.spans(t)
	if len(spans) != 1 || spans[0].Name != "chat gpt-9" || spans[0].Kind != 3 || spans[0].Status.Code != 0 {
		t.Fatalf("spans: %+v", spans)
	}
	want := map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "gpt-9",
		"gen_ai.response.model": "gpt-9-2026-05-01", "gen_ai.response.id": "chatcmpl-1",
		"gen_ai.usage.input_tokens": "1000", "gen_ai.usage.cache_read.input_tokens": "200", "gen_ai.usage.cache_write.input_tokens": "300",
		"gen_ai.usage.output_tokens": "50", "gen_ai.usage.reasoning.output_tokens": "20",
		"server.address": "api.example.com", "server.port": "443",
		"assay.run": "r7", "assay.item": "41", "assay.attempt": "2", "assay.judge": "helpful", "assay.judge_version": "sha256:abc", "assay.cost_usd": 0.0125,
	}
	if got, all := spans[0].keys(), slices.Sorted(maps.Keys(want)); !slices.Equal(got, all) {
		t.Errorf("attributes are %v, want %v", got, all)
	}
	for key, v := range want {
		if got := spans[0].value(key); got != v {
			t.Errorf("%s is %v, want %v", key, got, v)
		}
	}
	if resource["service.name"] != "assay" || resource["service.version"] != "v1.2" {
		t.Errorf("resource: %v", resource)
	}
	if r := c.requests[0]; r.URL.Path != "/v1/traces" {
		t.Errorf("sent to %s", r.URL)
	}
}

func TestASpanSaysHowACallFailedByItsClass(t *testing.T) {
	c := collect(t)
	tel := New(t.Context(), Options{Spans: true})
	_, ended := tel.Call(t.Context(), aCall())
	ended(judge.Reply{Class: assay.ClassRateLimited, Error: secret, CallAt: epoch, EndedAt: epoch}, nil)
	tel.Close()
	spans, _ := c.spans(t)
	if len(spans) != 1 || spans[0].Status.Code != 2 || spans[0].Status.Message != "rate_limited" || spans[0].value("error.type") != "rate_limited" {
		t.Fatalf("spans: %+v", spans)
	}
	for _, absent := range []string{"assay.cost_usd", "gen_ai.usage.input_tokens", "gen_ai.response.model", "gen_ai.response.id"} {
		if v := spans[0].value(absent); v != nil {
			t.Errorf("%s is %v of a call that told nothing of it", absent, v)
		}
	}
}

func TestASpanTellsNoPartOfTheTokensThatWasNotReported(t *testing.T) {
	c := collect(t)
	tel := New(t.Context(), Options{Spans: true})
	_, ended := tel.Call(t.Context(), aCall())
	ended(judge.Reply{Usage: assay.Usage{Known: true, Input: 1000}, CallAt: epoch, EndedAt: epoch}, nil)
	tel.Close()
	spans, _ := c.spans(t)
	for key, want := range map[string]any{
		"gen_ai.usage.input_tokens": "1000", "gen_ai.usage.output_tokens": "0",
		"gen_ai.usage.cache_read.input_tokens": nil, "gen_ai.usage.cache_write.input_tokens": nil, "gen_ai.usage.reasoning.output_tokens": nil,
	} {
		if got := spans[0].value(key); got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
}

// Judges that call no model make no span of the conventions: a command is our own work, and rules are
// not worth one.
func TestSpansOfOtherJudges(t *testing.T) {
	c := collect(t)
	tel := New(t.Context(), Options{Spans: true})
	for _, kind := range []assay.JudgeKind{assay.JudgeRules, assay.JudgeCommand} {
		_, ended := tel.Call(t.Context(), judge.Call{Project: "p", Run: 1, Seq: 1, N: 1, Judge: "mine", Kind: kind})
		ended(judge.Reply{CallAt: epoch, EndedAt: epoch}, usd(0))
	}
	tel.Close()
	spans, _ := c.spans(t)
	if len(spans) != 1 || spans[0].Name != "judge mine" || spans[0].Kind != 1 || spans[0].value("gen_ai.operation.name") != nil {
		t.Fatalf("spans: %+v", spans)
	}
}

// What a session says, and what can quote it, stays here; so do secrets in an endpoint.
func TestNothingOfASessionLeaves(t *testing.T) {
	c := collect(t)
	var log bytes.Buffer
	tel := New(t.Context(), Options{Spans: true, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Limits: func() []limit.State { return []limit.State{{Key: limit.Key(aCall().Model)}} }})
	for class := range assay.Policies {
		_, ended := tel.Call(t.Context(), aCall())
		ended(aReply(class), nil)
	}
	text := scrape(t, tel)
	tel.Close()
	if spans, _ := c.spans(t); len(spans) != len(assay.Policies) {
		t.Errorf("%d spans", len(spans))
	}
	for where, text := range map[string]string{"spans": c.sent(), "metrics": text, "log": log.String()} {
		if strings.Contains(text, secret) {
			t.Errorf("%s tell %s", where, secret)
		}
	}
}

// The names are the conventions', as far as the SDK knows them; the one that it does not know is that
// which the conventions renamed when they left its repository.
func TestAttributesAreNamedByTheConventions(t *testing.T) {
	for got, want := range map[string]string{
		string(attrOperation): string(semconv.GenAIOperationNameKey), string(attrProvider): string(semconv.GenAIProviderNameKey),
		string(attrRequestModel): string(semconv.GenAIRequestModelKey), string(attrResponseModel): string(semconv.GenAIResponseModelKey),
		string(attrResponseID): string(semconv.GenAIResponseIDKey), string(attrInput): string(semconv.GenAIUsageInputTokensKey),
		string(attrCached): string(semconv.GenAIUsageCacheReadInputTokensKey), string(attrOutput): string(semconv.GenAIUsageOutputTokensKey),
		string(attrReasoning): string(semconv.GenAIUsageReasoningOutputTokensKey), string(attrAddress): string(semconv.ServerAddressKey),
		string(attrPort): string(semconv.ServerPortKey), string(attrError): string(semconv.ErrorTypeKey),
		chat: semconv.GenAIOperationNameChat.Value.AsString(),
	} {
		if got != want {
			t.Errorf("%s, the conventions say %s", got, want)
		}
	}
}

func TestStandardVariablesAreHonoured(t *testing.T) {
	t.Run("service name and resource", func(t *testing.T) {
		c := collect(t)
		t.Setenv("OTEL_SERVICE_NAME", "grader")
		t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=night")
		oneCall(t, true)
		if _, r := c.spans(t); r["service.name"] != "grader" || r["deployment.environment.name"] != "night" {
			t.Errorf("resource: %v", r)
		}
	})
	t.Run("endpoint of traces alone, headers, protobuf", func(t *testing.T) {
		c := collect(t)
		t.Setenv(envEndpoint, "")
		t.Setenv(envProtocol, "")
		t.Setenv(envTracesEndpoint, c.URL+"/in")
		t.Setenv(envHeaders, "Authorization=Bearer%20k")
		oneCall(t, true)
		if len(c.requests) != 1 {
			t.Fatalf("%d requests", len(c.requests))
		}
		r := c.requests[0]
		if r.URL.Path != "/in" || r.Header.Get("Authorization") != "Bearer k" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
			!strings.Contains(c.sent(), "chat gpt-9") {
			t.Errorf("%s %v", r.URL, r.Header)
		}
	})
	for name, env := range map[string][2]string{
		"disabled": {envDisabled, "true"}, "no exporter": {envExporter, "none"}, "sampled out": {"OTEL_TRACES_SAMPLER", "always_off"},
	} {
		t.Run(name, func(t *testing.T) {
			c := collect(t)
			t.Setenv(env[0], env[1])
			oneCall(t, true)
			if len(c.bodies) != 0 {
				t.Errorf("sent %s", c.sent())
			}
		})
	}
	t.Run("not asked for", func(t *testing.T) {
		c := collect(t)
		oneCall(t, false)
		if len(c.bodies) != 0 {
			t.Errorf("sent %s", c.sent())
		}
	})
	t.Run("nothing set", func(t *testing.T) {
		clearEnv(t)
		if tel := New(t.Context(), Options{Spans: true}); tel.spans != nil {
			t.Error("spans are on")
		}
	})
}

// oneCall makes one call and closes.
func oneCall(t *testing.T, spans bool) {
	t.Helper()
	tel := New(t.Context(), Options{Spans: spans})
	_, ended := tel.Call(t.Context(), aCall())
	ended(aReply(assay.ClassNone), nil)
	tel.Close()
}

// A collector that cannot be reached costs spans and one line of log, nothing else.
func TestACollectorThatIsAwayIsNoTrouble(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	clearEnv(t)
	t.Setenv(envEndpoint, "http://"+address+"/"+secret)
	t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { t.Errorf("the SDK tells by itself: %v", err) }))
	defer otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	var log bytes.Buffer
	tel := New(t.Context(), Options{Spans: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 100 {
		_, ended := tel.Call(t.Context(), aCall())
		ended(aReply(assay.ClassNone), nil)
	}
	tel.Close()
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "spans were not taken") || strings.Contains(log.String(), secret) {
		t.Errorf("log of %d lines: %s", n, log.String())
	}
	if text := scrape(t, tel); !strings.Contains(text, `assay_trace_spans_total{result="failed"} 100`) ||
		!strings.Contains(text, `class="verdict",judge="helpful",model="gpt-9",project="shop"} 100`) {
		t.Errorf("metrics: %s", text)
	}
}

// hung is an exporter whose collector takes connections and never answers.
type hung struct{ trying atomic.Int64 }

func (h *hung) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	h.trying.Add(1)
	defer h.trying.Add(-1)
	<-ctx.Done()
	return ctx.Err()
}
func (*hung) Shutdown(context.Context) error { return nil }

// In a bubble time stands still while anything can go on: no call waits, and Close gives up when it
// said that it would.
func TestACollectorThatHangsDelaysNoCallAndTheEndByFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		o := Options{Log: slog.New(slog.NewTextHandler(&log, nil))}
		tel := New(t.Context(), o)
		to := new(hung)
		tel.spans = assemble(o, resource.Empty(), to, tel.metrics)
		began := time.Now()
		for range 5000 { // more than the queue holds
			_, ended := tel.Call(t.Context(), aCall())
			ended(aReply(assay.ClassNone), nil)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the calls were held for %s", took)
		}
		tel.Close()
		if took := time.Since(began); took != flushTime {
			t.Errorf("the end took %s", took)
		}
		if synctest.Wait(); to.trying.Load() != 0 {
			t.Error("an export goes on after the end")
		}
	})
}

func TestCallsAfterTheEndAreCounted(t *testing.T) {
	c := collect(t)
	tel := New(t.Context(), Options{Spans: true})
	tel.Close()
	_, ended := tel.Call(t.Context(), aCall())
	ended(aReply(assay.ClassNone), nil)
	if text := scrape(t, tel); !strings.Contains(text, `project="shop"} 1`) || len(c.bodies) != 0 {
		t.Error(text)
	}
}
