// Package gate decides about estimates: `drop > 0.02` fails a build.
//
// It owns the little language of gates and what they decide. It refuses to know where a number comes from. Its
// invariant: a gate never decides on a value alone where the value has an interval; what the interval holds both
// sides of is inconclusive, and what is absent is inconclusive with its reason, never passed.
package gate

import "assay/internal/stats"

// Gate is a condition under which a build fails: METRIC[:CRITERION] OP LIMIT.
type Gate struct {
	Text      string  `json:"gate"`
	Metric    Metric  `json:"metric"`
	Criterion string  `json:"criterion"` // assay.CriterionPass unless given
	Op        string  `json:"op"`        // >, >=, <, <=
	Limit     float64 `json:"limit"`
}

// Metric is what a gate is about.
type Metric string

const (
	Rate     Metric = "rate"     // of a report, about the process: the level of a boolean or number
	Lift     Metric = "lift"     // of a report with two arms
	Coverage Metric = "coverage" // of either (of a comparison: the lower of both sides); a fact, without an interval
	Errors   Metric = "errors"   // share of the sample without a verdict: 1 - coverage
	Drop     Metric = "drop"     // of a comparison: A - B
)

// Decision is what a gate came to.
type Decision string

const (
	Pass         Decision = "pass"
	Fail         Decision = "fail"
	Inconclusive Decision = "inconclusive"
)

// Subject is the number that a gate is about.
type Subject struct {
	Value    stats.Value
	Interval stats.Interval
	Fact     bool    // it has no chance in it: Value alone decides
	Sampled  float64 // units behind it, for the n that would decide
	// Low and High are the worst cases of what is missing; nil is not known.
	Low, High *float64
}

// Outcome is a gate with its decision.
type Outcome struct {
	Gate
	Decision Decision `json:"decision"`
	Value    *float64 `json:"value"`
	Low      *float64 `json:"low" doc:"of the interval"`
	High     *float64 `json:"high"`
	Sentence string   `json:"sentence"`
	Needs    *int64   `json:"needs_n" doc:"inconclusive: about how many sessions (or pairs) it would take to decide, were the value what it is now; null where no number would"`
}
