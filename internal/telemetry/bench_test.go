package telemetry

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"assay/internal/assay"
)

type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }

// Watching one call, without and with its span.
func BenchmarkCall(b *testing.B) {
	for name, on := range map[string]bool{"spans off": false, "spans on": true} {
		b.Run(name, func(b *testing.B) {
			tel := New(b.Context(), Options{})
			if on {
				tel.spans = assemble(Options{}, resource.Empty(), nowhere{}, tel.metrics)
				defer tel.Close()
			}
			c, r, cost := aCall(), aReply(assay.ClassNone), usd(0.01)
			b.ReportAllocs()
			for b.Loop() {
				_, ended := tel.Call(b.Context(), c)
				ended(r, cost)
			}
		})
	}
}

// Where no collector is configured, watching allocates nothing.
func TestWatchingWithoutSpansAllocatesNothing(t *testing.T) {
	tel := New(t.Context(), Options{})
	c, r, cost := aCall(), aReply(assay.ClassNone), usd(0.01)
	if n := testing.AllocsPerRun(100, func() {
		_, ended := tel.Call(t.Context(), c)
		ended(r, cost)
	}); n != 0 {
		t.Errorf("%v allocations for a call", n)
	}
}
