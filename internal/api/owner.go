package api

import (
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// OwnerInfo says which process answers and whether it drives runs.
type OwnerInfo struct {
	PID     int           `json:"pid"`
	Since   time.Time     `json:"since"`
	Driving bool          `json:"driving" doc:"false: it serves and looks, and leaves runs where they are"`
	Version string        `json:"version"`
	Waiting []assay.RunID `json:"waiting" nullable:"false" doc:"runs that wait for somebody who drives"`
}

// Check is what the database says of itself and of the standing rules.
type Check struct {
	Store    store.Info `json:"store"`
	Findings []string   `json:"findings" nullable:"false" doc:"one sentence per rule that does not hold"`
}
