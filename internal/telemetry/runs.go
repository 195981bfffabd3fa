package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"assay/internal/assay"
)

// countTime is how long a scrape waits for the number of runs.
const countTime = 2 * time.Second

// runs counts those that have not ended, at each scrape. The numbers are missing where they cannot be
// had; all else is shown.
type runs struct {
	ask func(context.Context) (map[assay.RunState]int, error)
	log *seldom
}

var runsDesc = prometheus.NewDesc("assay_runs", "Runs of all projects that have not ended, by state.", []string{"state"}, nil)

func (r *runs) Describe(out chan<- *prometheus.Desc) { out <- runsDesc }

func (r *runs) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTime)
	defer cancel()
	counts, err := r.ask(ctx)
	if err != nil {
		r.log.warn(ctx, "runs are missing from the metrics", "error", err)
		return
	}
	for _, state := range []assay.RunState{assay.RunQueued, assay.RunRunning, assay.RunPaused} {
		out <- prometheus.MustNewConstMetric(runsDesc, prometheus.GaugeValue, float64(counts[state]), string(state))
	}
}
