package api

import "net/http"

// metricsRoute serves what a Prometheus server scrapes. It lies outside Root, where scrapers look for
// it, and behind the same Guard as everything else.
func (s *server) metricsRoute(mux *http.ServeMux) {
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.Metrics)
	}
}
