package node

import (
	"context"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/telemetry"
)

// newTelemetry watches the calls of this process. Only one that drives makes calls, and so spans.
func (n *Node) newTelemetry() *telemetry.Telemetry {
	return telemetry.New(context.Background(), telemetry.Options{
		Version: n.cfg.Version, Spans: n.cfg.Drive, Limits: n.limits.States, Runs: n.countRuns, Log: n.cfg.Log,
	})
}

// maxCounted bounds what one scrape reads. Where more runs wait, the newest are counted.
const maxCounted = 1000

// countRuns counts those that have not ended, of all projects.
func (n *Node) countRuns(ctx context.Context) (map[assay.RunState]int, error) {
	active := store.RunQuery{States: []assay.RunState{assay.RunQueued, assay.RunRunning, assay.RunPaused}}
	found, _, err := n.store.Runs().List(ctx, active, store.Page{Limit: maxCounted})
	if err != nil {
		return nil, err
	}
	counts := map[assay.RunState]int{}
	for _, run := range found {
		counts[run.State]++
	}
	return counts, nil
}
