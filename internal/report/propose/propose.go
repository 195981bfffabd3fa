// Package propose says how many sessions of each stratum to grade, for a margin or for a budget.
//
// It owns the splits that are offered and what each is expected to give. It refuses to know how a sample is drawn and
// what a prompt costs. Its invariant: every proposal states the interval that it is expected to give and what that
// rests on, and none is offered whose n a stratum does not have.
package propose

import (
	"assay/internal/assay"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// Split is how a sample is spread over strata.
type Split string

const (
	EqualCap     Split = "equal"        // the same n for each stratum, or all of it
	Proportional Split = "proportional" // to N_h
	Neyman       Split = "neyman"       // to N_h times the expected standard deviation
)

// Stratum is what is known of one before it is sampled.
type Stratum struct {
	assay.Stratum
	Eligible int64 `json:"eligible"`
	Seen     int64 `json:"seen" doc:"sessions that the judges graded before, whose rate is expected here"`
	Hits     int64 `json:"hits" doc:"of those passed"`
}

// Request asks for a margin or for a budget.
type Request struct {
	Strata     []Stratum
	Margin     float64      // half the width of the interval, at Confidence; 0: not asked
	Budget     *assay.USD   // else
	PerSession *assay.USD   // expected cost of grading one session by all judges; nil is not known
	Target     stats.Target // "" is the window
	Confidence float64      // 0 is 0.95
	Expect     *float64     // the rate that is expected everywhere; nil: by what was seen, and 0.5 where nothing was
	Seed       uint64
}

// Proposals are what could be graded.
type Proposals struct {
	Target     stats.Target `json:"target"`
	Confidence float64      `json:"confidence"`
	Margin     float64      `json:"margin,omitempty"`
	Budget     *assay.USD   `json:"budget_usd,omitempty"`
	Expected   float64      `json:"expected_rate"`
	Basis      string       `json:"basis" doc:"in words: what the expected rate rests on"`
	Proposals  []Proposal   `json:"proposals"` // equal, proportional, neyman
	Best       Split        `json:"best" doc:"the one with the fewest sessions for the margin, or the narrowest interval for the budget"`
	Notes      []string     `json:"notes"`
}

// Proposal is one split.
type Proposal struct {
	Split    Split               `json:"split"`
	Sessions int64               `json:"sessions"`
	Cap      int64               `json:"per_stratum,omitempty" doc:"of equal: the n that --n takes"`
	Sizes    []assay.StratumSize `json:"sizes"`
	Cost     *assay.USD          `json:"expected_usd" nullable:"true" doc:"null is not known"`
	Interval *number.Interval    `json:"expected_interval"`
	Margin   *float64            `json:"expected_margin" doc:"half of its width"`
	Absent   stats.Absence       `json:"absent,omitempty" doc:"why there is no such proposal, or no interval"`
	Words    string              `json:"words"`
}

// Make proposes.
func Make(q Request) (Proposals, error) { return Proposals{}, errUnbuilt }

var errUnbuilt = assay.Errorf(assay.CodeInternal, "proposals are not built yet")
