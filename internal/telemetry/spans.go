package telemetry

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/llm/provider"
)

// flushTime is how long Close waits for a collector.
const flushTime = 5 * time.Second

// Attributes of a span. Those of gen_ai are from the semantic conventions for generative AI v0.1.0
// (open-telemetry/semantic-conventions-genai), which call tokens that are written to a cache
// cache_write; up to v1.41.0 of the common conventions they were cache_creation.
const (
	attrOperation     = attribute.Key("gen_ai.operation.name")
	attrProvider      = attribute.Key("gen_ai.provider.name")
	attrRequestModel  = attribute.Key("gen_ai.request.model")
	attrResponseModel = attribute.Key("gen_ai.response.model")
	attrResponseID    = attribute.Key("gen_ai.response.id")
	attrInput         = attribute.Key("gen_ai.usage.input_tokens")
	attrCached        = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	attrCacheWrite    = attribute.Key("gen_ai.usage.cache_write.input_tokens")
	attrOutput        = attribute.Key("gen_ai.usage.output_tokens")
	attrReasoning     = attribute.Key("gen_ai.usage.reasoning.output_tokens")
	attrAddress       = attribute.Key("server.address")
	attrPort          = attribute.Key("server.port")
	attrError         = attribute.Key("error.type")

	attrRun     = attribute.Key("assay.run")
	attrItem    = attribute.Key("assay.item")
	attrAttempt = attribute.Key("assay.attempt")
	attrJudge   = attribute.Key("assay.judge")
	attrVersion = attribute.Key("assay.judge_version")
	attrCost    = attribute.Key("assay.cost_usd")
)

// chat is the operation of every call to a model.
const chat = "chat"

// spans makes spans and brings them to the collector.
type spans struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	exporter *exporter
}

// newSpans configures the SDK from the process's environment. It connects to nothing.
func newSpans(ctx context.Context, o Options, m *metrics) (*spans, error) {
	who, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "assay"), attribute.String("service.version", o.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if who == nil {
		return nil, assay.Errorf(assay.CodeInvalid, "read OTEL_RESOURCE_ATTRIBUTES: %w", err).
			WithHint("write NAME=VALUE pairs, separated by commas, with percent-encoded values")
	}
	otlp, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, assay.Errorf(assay.CodeInvalid, "configure the export of spans: %w", err).
			WithHint("look at the variables OTEL_EXPORTER_OTLP_...")
	}
	return assemble(o, who, otlp, m), nil
}

func assemble(o Options, who *resource.Resource, to sdktrace.SpanExporter, m *metrics) *spans {
	e := newExporter(to, m.spans, o.Log)
	p := sdktrace.NewTracerProvider(sdktrace.WithResource(who), sdktrace.WithBatcher(e))
	return &spans{provider: p, tracer: p.Tracer("assay", trace.WithInstrumentationVersion(o.Version)), exporter: e}
}

// begin starts the span of a call; nil for judges of rules, which call nobody and are so fast that
// their spans would only push others out.
func (s *spans) begin(ctx context.Context, c judge.Call, at server) (context.Context, trace.Span) {
	if c.Kind == assay.JudgeRules {
		return ctx, nil
	}
	name, kind := "judge "+c.Judge, trace.SpanKindInternal
	attrs := make([]attribute.KeyValue, 0, 10)
	attrs = append(attrs, attrRun.String(c.Run.String()), attrItem.Int64(c.Seq), attrAttempt.Int(c.N),
		attrJudge.String(c.Judge), attrVersion.String(string(c.Version)))
	if c.Model.Model != "" {
		name, kind = chat+" "+c.Model.Model, trace.SpanKindClient
		attrs = append(attrs, attrOperation.String(chat), attrProvider.String(conventional(c.Provider)), attrRequestModel.String(c.Model.Model))
		if at == (server{}) { // those beyond the bound share a series
			at = serverOf(c.Model.Endpoint)
		}
		if at.address != "" {
			attrs = append(attrs, attrAddress.String(at.address), attrPort.Int(at.port))
		}
	}
	return s.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
}

// conventional is a provider's name in the conventions.
func conventional(name string) string {
	if p, known := provider.ProfileOf(name); known {
		return p.System
	}
	return name
}

// finish ends a span. Of the reply it takes numbers, names and the class: its texts can quote a session.
func finish(span trace.Span, r judge.Reply, cost *assay.USD) {
	defer span.End()
	if !span.IsRecording() {
		return
	}
	attrs := make([]attribute.KeyValue, 0, 9)
	if r.Model != "" {
		attrs = append(attrs, attrResponseModel.String(r.Model))
	}
	if r.RequestID != "" {
		attrs = append(attrs, attrResponseID.String(r.RequestID))
	}
	if r.Usage.Known {
		attrs = append(attrs, attrInput.Int64(r.Usage.Input), attrOutput.Int64(r.Usage.Output))
		for _, part := range [...]attribute.KeyValue{attrCached.Int64(r.Usage.Cached), attrCacheWrite.Int64(r.Usage.CacheWrite), attrReasoning.Int64(r.Usage.Reasoning)} {
			if part.Value.AsInt64() != 0 {
				attrs = append(attrs, part)
			}
		}
	}
	if cost != nil {
		attrs = append(attrs, attrCost.Float64(dollars(*cost)))
	}
	if r.Class != assay.ClassNone {
		attrs = append(attrs, attrError.String(classLabel(r.Class)))
		span.SetStatus(codes.Error, classLabel(r.Class))
	}
	span.SetAttributes(attrs...)
}

// close sends what waits. What the collector has not taken in time is lost.
func (s *spans) close() {
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := s.provider.Shutdown(ctx); err != nil {
		s.exporter.log.warn(ctx, "spans were not sent before the end", "error", err)
	}
	s.exporter.cut() // an export that still tries would outlive Close
}

// server is where a model is called.
type server struct {
	address string
	port    int
}

func serverOf(endpoint string) server {
	u, err := url.Parse(endpoint)
	if err != nil {
		return server{}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return server{}
	}
	return server{u.Hostname(), n}
}
