package main

import (
	"strings"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

// A suite that never ran is idle, and a harness that says nothing is silent: in lists as in everything else.
func TestIdleIsNotSilent(t *testing.T) {
	at := time.Date(2026, 7, 1, 23, 30, 0, 0, time.UTC)
	row := api.RunRow{Run: assay.Run{ID: 3, Kind: assay.RunSuite, State: assay.RunRunning, Phase: assay.PhaseExecuting, Suite: &assay.SuiteSpec{Name: "s"}},
		Harness: &assay.Harness{Idle: true, ActiveAt: &at}}
	const want = "running, silent since 2026-07-01 23:30:00 UTC"
	if got := phase(api.RunView{RunRow: row}); got != want {
		t.Errorf("runs: %q", got)
	}
	if got := standing(api.SuiteView{State: "running", Newest: &row}); got != want {
		t.Errorf("suite list: %q", got)
	}
	if got := harnessProgress(api.RunView{RunRow: row}); got != want {
		t.Errorf("watch: %q", got)
	}
	if got := standing(api.SuiteView{State: api.IdleState}); got != "idle" {
		t.Errorf("a suite that never ran: %q", got)
	}
	var out strings.Builder
	(&app{out: &out}).printHarness(api.RunView{RunRow: row})
	if got := out.String(); !strings.HasPrefix(got, "r3 "+want+"\n") || !strings.Contains(got, "UTC (alive, and silent since then)") || strings.Contains(got, "idle") {
		t.Errorf("runs show:\n%s", got)
	}
	row.State = assay.RunCompleted
	if got := phase(api.RunView{RunRow: row}); got != "completed" {
		t.Errorf("once it has ended: %q", got)
	}
}
