// Package telemetry shows what the calls of judges do: as Prometheus metrics, and as OpenTelemetry
// spans where a collector is configured.
//
// It owns the names of both, the bound on their number and the way out to the collector. It refuses to
// know runs, storage and how a call is made: it is told of calls as a judge.Observer and asks the
// functions in Options when it is scraped. Its invariant: it never changes, delays or fails a call,
// and no text of a session, prompt or answer and no id of a user or session leaves through it.
package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"os"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/limit"
)

// Options are what telemetry needs from outside. Every field may be left out.
type Options struct {
	Version string
	// Spans makes spans where the process's environment names a collector (OTEL_EXPORTER_OTLP_ENDPOINT
	// or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT). How they are sent the OpenTelemetry SDK reads there too.
	Spans bool
	// Limits tells how the limiter of each model stands. It is asked at each scrape.
	Limits func() []limit.State
	// Runs counts the runs that have not ended, by state. It is asked at each scrape.
	Runs func(context.Context) (map[assay.RunState]int, error)
	Log  *slog.Logger
}

// Telemetry is a judge.Observer. It is safe for concurrent use.
type Telemetry struct {
	metrics *metrics
	spans   *spans // nil: off
	handler http.Handler
}

var _ judge.Observer = (*Telemetry)(nil)

// New makes a Telemetry. A configuration of spans that cannot be used is logged and leaves them off:
// grading does not depend on who watches.
func New(ctx context.Context, o Options) *Telemetry {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := newMetrics(o)
	t := &Telemetry{metrics: m, handler: m.handler(o.Log)}
	if !o.Spans {
		return t
	}
	wanted, err := spansWanted(os.Getenv)
	if err == nil && wanted {
		t.spans, err = newSpans(ctx, o, m)
	}
	if err != nil {
		o.Log.WarnContext(ctx, "no spans are made", "error", err)
	}
	return t
}

// Call implements judge.Observer.
func (t *Telemetry) Call(ctx context.Context, c judge.Call) (context.Context, func(judge.Reply, *assay.USD)) {
	s := t.metrics.of(c)
	s.began()
	if t.spans == nil {
		return ctx, s.end
	}
	inside, span := t.spans.begin(ctx, c, s.server)
	if span == nil {
		return ctx, s.end
	}
	return inside, func(r judge.Reply, cost *assay.USD) {
		finish(span, r, cost)
		s.end(r, cost)
	}
}

// Handler answers a scrape in Prometheus' text format.
func (t *Telemetry) Handler() http.Handler { return t.handler }

// Close sends the spans that wait, for at most flushTime. Calls that end later are counted and make no
// span.
func (t *Telemetry) Close() {
	if t.spans != nil {
		t.spans.close()
	}
}
