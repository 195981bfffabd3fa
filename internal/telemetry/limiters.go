package telemetry

import (
	"net/url"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"assay/internal/limit"
)

// limiters asks at each scrape how the limiters stand.
type limiters struct {
	ask     func() []limit.State
	gauges  []limitGauge
	breaker *prometheus.Desc

	mu    sync.Mutex
	known map[limit.Key]bool // first come; others are summed under other
}

// limitGauge is one number of a limiter.
type limitGauge struct {
	desc *prometheus.Desc
	of   func(limit.State) float64
}

func newLimiters(ask func() []limit.State) *limiters {
	desc := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"model", "endpoint"}, more...), nil)
	}
	return &limiters{ask: ask, known: map[limit.Key]bool{}, gauges: []limitGauge{
		{desc("assay_limit_window", "Calls to the model that may be in flight now, as learned and set; 0 is no bound."),
			func(s limit.State) float64 { return float64(s.Window) }},
		{desc("assay_limit_requests_per_second", "Requests to the model that may leave each second, as learned, told and set; 0 is no bound."),
			func(s limit.State) float64 { return s.RequestsPerSecond }},
		{desc("assay_limit_tokens_per_second", "Tokens of prompts and answers that may be used each second, as told and set; 0 is no bound."),
			func(s limit.State) float64 { return s.TokensPerSecond }},
		{desc("assay_limit_in_flight", "Calls that hold a permit of the model's limiter."),
			func(s limit.State) float64 { return float64(s.InFlight) }},
		{desc("assay_limit_waiting", "Runs that were refused a permit and wait for one."),
			func(s limit.State) float64 { return float64(s.Waiting) }},
		{desc("assay_limit_quiet", "1 while no call leaves because the provider asked to wait or told that nothing remains."),
			func(s limit.State) float64 { return one(!s.QuietUntil.IsZero()) }},
	}, breaker: desc("assay_limit_breaker", "1 for the state that the circuit breaker is in: closed, open or half_open.", "state")}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func (l *limiters) Describe(out chan<- *prometheus.Desc) {
	for _, g := range l.gauges {
		out <- g.desc
	}
	out <- l.breaker
}

// where are the labels of a limiter.
type where struct{ model, endpoint string }

func (l *limiters) Collect(out chan<- prometheus.Metric) {
	groups := map[where][]limit.State{}
	for _, s := range l.ask() {
		at := l.where(s.Key)
		groups[at] = append(groups[at], s)
	}
	for at, states := range groups {
		show := func(desc *prometheus.Desc, of func(limit.State) float64, more ...string) {
			var sum float64
			for _, s := range states {
				sum += of(s)
			}
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, sum, append([]string{at.model, at.endpoint}, more...)...)
		}
		for _, g := range l.gauges {
			show(g.desc, g.of)
		}
		for _, state := range []limit.BreakerState{limit.Closed, limit.Open, limit.HalfOpen} {
			show(l.breaker, func(s limit.State) float64 { return one(s.Breaker == state) }, string(state))
		}
	}
}

// where finds the labels of a limiter: two whose labels are the same, or beyond the bound, share them.
func (l *limiters) where(k limit.Key) where {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known[k] {
		if len(l.known) >= maxModels {
			return where{other, other}
		}
		l.known[k] = true
	}
	return where{label(k.Model), label(plainEndpoint(k.Endpoint))}
}

// plainEndpoint is an endpoint without what could be secret in it.
func plainEndpoint(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
