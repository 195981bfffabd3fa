package api

import (
	"assay/internal/assay"
)

// RunRow is a run in a list.
type RunRow struct {
	assay.Run
	Cancelling bool         `json:"cancelling,omitempty" doc:"a cancel was asked for and has not ended yet"`
	Counts     assay.Counts `json:"counts"`
}

// RunView is a run with what its rows add up to.
type RunView struct {
	RunRow
	Spend  assay.Spend            `json:"spend"`
	Rate   *float64               `json:"items_per_second,omitempty" doc:"over the last seconds; absent when the run does not run or nothing ended yet"`
	Left   *float64               `json:"seconds_left,omitempty" doc:"at that rate"`
	Strata []assay.PlannedStratum `json:"strata,omitempty" doc:"in the answer for one run, not in events"`
}

// Graded is the answer to a grade request.
type Graded struct {
	RunView
	Replayed bool            `json:"replayed,omitempty" doc:"the idempotency key was known: this is the run that it made"`
	Verdicts []assay.Verdict `json:"verdicts,omitempty" doc:"of a single run that was waited for"`
}

// RunQuery selects runs. Zero fields select all.
type RunQuery struct {
	Project string
	Kind    assay.RunKind
	States  []assay.RunState
}

// CancelRequest says how to cancel.
type CancelRequest struct {
	Now bool `json:"now,omitempty" doc:"cut calls in flight instead of keeping their answers"`
}

// RetryRequest says who retries.
type RetryRequest struct {
	By string `json:"by,omitempty" doc:"who asks"`
}

// RunPatch changes what may be changed about a run.
type RunPatch struct {
	Concurrency *int `json:"concurrency,omitempty" doc:"judge calls in flight, at least 1"`
}
