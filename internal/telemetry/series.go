package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"assay/internal/assay"
	"assay/internal/judge"
)

// series are the counters of one project, judge and model. They are looked up once, so that counting a
// call allocates nothing.
type series struct {
	model    *model
	server   server
	metered  bool // the calls go to a model and cost money
	verdicts prometheus.Counter
	errors   *prometheus.CounterVec // by class
	spend    prometheus.Counter
	unknown  prometheus.Counter
	end      func(judge.Reply, *assay.USD) // s.ended; kept, because making it allocates
}

func newSeries(m *metrics, k setKey, of *model) *series {
	labels := prometheus.Labels{"project": label(k.project), "judge": label(k.judge), "model": of.label}
	s := &series{
		model: of, server: serverOf(k.endpoint), metered: k.model != "", unknown: m.unknown,
		errors: m.calls.MustCurryWith(labels),
	}
	s.verdicts = s.errors.WithLabelValues(verdict)
	if s.metered {
		s.spend = m.spend.With(labels)
	}
	s.end = s.ended
	return s
}

func (s *series) began() { s.model.inFlight.Inc() }

// ended counts one call. A call that never left took no time and cost nothing.
func (s *series) ended(r judge.Reply, cost *assay.USD) {
	s.model.inFlight.Dec()
	if r.Class == assay.ClassNone {
		s.verdicts.Inc()
	} else {
		s.errors.WithLabelValues(classLabel(r.Class)).Inc()
	}
	if r.CallAt.IsZero() {
		return
	}
	if took := r.EndedAt.Sub(r.CallAt); took >= 0 && !r.EndedAt.IsZero() {
		s.model.duration.Observe(took.Seconds())
	}
	if !s.metered {
		return
	}
	if r.Usage.Known {
		s.model.count(r.Usage)
	}
	if cost == nil || *cost < 0 {
		s.unknown.Inc()
	} else {
		s.spend.Add(dollars(*cost))
	}
}

func classLabel(c assay.Class) string {
	if _, known := assay.Policies[c]; !known {
		return other
	}
	return string(c)
}

func dollars(u assay.USD) float64 { return float64(u) / float64(assay.Dollar) }

// model are the counters of one model, whoever calls it.
type model struct {
	label    string
	duration prometheus.Observer
	inFlight prometheus.Gauge

	input, cached, cacheWrite, output, reasoning prometheus.Counter
}

func newModel(m *metrics, name string) *model {
	n := &model{label: name, duration: m.duration.WithLabelValues(name), inFlight: m.inFlight.WithLabelValues(name)}
	if name == "" {
		return n // judges that call no model
	}
	n.input = m.tokens.WithLabelValues(name, "input")
	n.cached = m.tokens.WithLabelValues(name, "cached")
	n.cacheWrite = m.tokens.WithLabelValues(name, "cache_write")
	n.output = m.tokens.WithLabelValues(name, "output")
	n.reasoning = m.tokens.WithLabelValues(name, "reasoning")
	return n
}

func (n *model) count(u assay.Usage) {
	for _, kind := range [...]struct {
		c prometheus.Counter
		n int64
	}{{n.input, u.Input}, {n.cached, u.Cached}, {n.cacheWrite, u.CacheWrite}, {n.output, u.Output}, {n.reasoning, u.Reasoning}} {
		if kind.n > 0 { // a counter panics at a negative number, and providers report what they like
			kind.c.Add(float64(kind.n))
		}
	}
}
