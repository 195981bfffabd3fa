package telemetry

import (
	"context"
	"log/slog"
	"regexp"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// maxTrouble bounds what a collector can put into the log, in bytes.
const maxTrouble = 300

// exporter sends spans, counts them, and keeps the errors of sending from the SDK, which would print
// each of them to stderr.
type exporter struct {
	sdktrace.SpanExporter
	until            context.Context // ends at cut
	cut              context.CancelFunc
	exported, failed prometheus.Counter
	log              *seldom
}

func newExporter(next sdktrace.SpanExporter, results *prometheus.CounterVec, log *slog.Logger) *exporter {
	e := &exporter{SpanExporter: next, log: newSeldom(log),
		exported: results.WithLabelValues("exported"), failed: results.WithLabelValues("failed")}
	e.until, e.cut = context.WithCancel(context.Background())
	return e
}

func (e *exporter) ExportSpans(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.until, cancel)()
	if err := e.SpanExporter.ExportSpans(ctx, batch); err != nil {
		e.failed.Add(float64(len(batch)))
		e.log.warn(ctx, "spans were not taken by the collector and are lost", "spans", len(batch), "error", trouble(err))
		return nil
	}
	e.exported.Add(float64(len(batch)))
	return nil
}

var address = regexp.MustCompile(`https?://[^\s"]+`)

// trouble is an error's text without the collector's address, in which some services keep a key.
func trouble(err error) string {
	text := address.ReplaceAllString(err.Error(), "the collector")
	return strings.ToValidUTF8(text[:min(len(text), maxTrouble)], "")
}
