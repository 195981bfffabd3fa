package telemetry

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"assay/internal/judge"
)

// Bounds on labels. Projects, judges and models are made by people, but a script can make any number:
// what comes after the bound is counted under other.
const (
	maxSets   = 300 // of project, judge and model
	maxModels = 100
	maxLabel  = 120 // bytes
	other     = "other"
)

// verdict is the class label of a call that brought one.
const verdict = "verdict"

const (
	scrapeTime = 10 * time.Second
	scrapes    = 4 // at once
)

// metrics are those that calls are counted in. They live as long as the process.
type metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec
	spend    *prometheus.CounterVec
	unknown  prometheus.Counter
	tokens   *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
	spans    *prometheus.CounterVec

	mu     sync.Mutex                         // held by add
	sets   atomic.Pointer[map[setKey]*series] // never changed: add puts a larger one in its place
	models map[string]*model
}

// setKey says which series a call belongs to.
type setKey struct{ project, judge, endpoint, model string }

func newMetrics(o Options) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		models:   map[string]*model{},
		calls:    counter("assay_judge_calls_total", "Calls of judges that ended, by class; class verdict brought one.", "project", "judge", "model", "class"),
		spend:    counter("assay_spend_usd_total", "US dollars that calls cost, where the cost is known.", "project", "judge", "model"),
		unknown: prometheus.NewCounter(prometheus.CounterOpts{Name: "assay_spend_unknown_calls_total",
			Help: "Calls to models whose cost is not known; they are in no other sum of money."}),
		tokens: counter("assay_judge_tokens_total", "Tokens as providers reported them. Kinds overlap: cached and cache_write are part of input, reasoning of output.", "model", "kind"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "assay_judge_call_duration_seconds",
			Help: "Time from when a call left until its answer was there.", Buckets: []float64{0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 180}}, []string{"model"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "assay_judge_calls_in_flight", Help: "Calls of judges that have not ended."}, []string{"model"}),
		spans:    counter("assay_trace_spans_total", "Spans that were handed to the collector, by result: exported or failed. Absent while spans are off.", "result"),
	}
	m.sets.Store(&map[setKey]*series{})
	m.registry.MustRegister(m.calls, m.spend, m.unknown, m.tokens, m.duration, m.inFlight, m.spans,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if o.Limits != nil {
		m.registry.MustRegister(newLimiters(o.Limits))
	}
	if o.Runs != nil {
		m.registry.MustRegister(&runs{ask: o.Runs, log: newSeldom(o.Log)})
	}
	return m
}

func (m *metrics) handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError,
		ErrorLog:            scrapeLog{newSeldom(log)},
		MaxRequestsInFlight: scrapes,
		Timeout:             scrapeTime,
	})
}

// scrapeLog is what promhttp tells its errors.
type scrapeLog struct{ log *seldom }

func (l scrapeLog) Println(v ...any) {
	l.log.warn(context.Background(), "metrics are incomplete", "error", v)
}

// of finds the series that a call is counted in. The usual case takes no lock.
func (m *metrics) of(c judge.Call) *series {
	k := setKey{c.Project, c.Judge, c.Model.Endpoint, c.Model.Model}
	if s := (*m.sets.Load())[k]; s != nil {
		return s
	}
	return m.add(k)
}

func (m *metrics) add(k setKey) *series {
	m.mu.Lock()
	defer m.mu.Unlock()
	sets := *m.sets.Load()
	if len(sets) >= maxSets { // the model's own numbers stay right
		k = setKey{other, other, "", m.modelOf(k.model).label}
	}
	if s := sets[k]; s != nil {
		return s
	}
	more := make(map[setKey]*series, len(sets)+1)
	for key, s := range sets {
		more[key] = s
	}
	more[k] = newSeries(m, k, m.modelOf(k.model))
	m.sets.Store(&more)
	return more[k]
}

// modelOf is the model of a name, or that of those beyond the bound. The caller holds mu.
func (m *metrics) modelOf(name string) *model {
	name = label(name)
	if m.models[name] == nil && len(m.models) >= maxModels {
		name = other
	}
	if m.models[name] == nil {
		m.models[name] = newModel(m, name)
	}
	return m.models[name]
}

// label makes any text a value that Prometheus takes.
func label(s string) string {
	if len(s) > maxLabel {
		s = s[:maxLabel]
	}
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
