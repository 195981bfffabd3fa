package api

import "assay/internal/assay"

// ItemCalls is every call that was made for one item; none for a reused verdict.
type ItemCalls struct {
	Run      assay.RunID     `json:"run"`
	Seq      int64           `json:"seq"`
	Attempts []assay.Attempt `json:"attempts" nullable:"false" doc:"first to last, with raw answers"`
}

// ItemQuery selects items of a run. Zero fields select all.
type ItemQuery struct {
	State assay.ItemState
	Class assay.Class
}
