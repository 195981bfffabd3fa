// Package compare says what changed between two runs.
//
// It owns pairing, what is left out of it, and what differs between the sides. It refuses to know how a run is graded
// and how a page looks. Its invariant: the drop is A - B over the pairs that both sides answered, weighted as A's
// sample was drawn, and everything that is not in it is counted with why.
package compare

import (
	"time"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/report/gate"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// Key is how sessions of two runs are paired.
type Key string

const (
	BySession Key = "session" // the same content on both sides: the judge changed
	ByCase    Key = "case"    // the same case: the agent changed. Each trial of A against the mean of B's trials of its case; trials of a case cluster
	ByNone    Key = "none"    // two weighted samples
)

// Options say what is asked. The zero value pairs by what fits: by session where the sides share half of their contents
// or more, else by case where they share cases, else by what contents they share, else not at all.
type Options struct {
	Key        Key
	JudgeA     string  // "" where a run has one judge; else a name
	JudgeB     string  // "" is JudgeA
	Primary    string  // the criterion that is declared primary; "" is pass
	Confidence float64 // 0 is 0.95
	Seed       uint64  // of flipped signs
	Gates      []gate.Gate
}

// Comparison is run A, the baseline, against run B. Drop is A - B everywhere.
type Comparison struct {
	A          Side           `json:"a"`
	B          Side           `json:"b"`
	Differs    []Differs      `json:"differs" doc:"what is not the same on both sides: read this first"`
	Headline   string         `json:"headline"`
	Target     stats.Target   `json:"target"` // process, always
	Confidence float64        `json:"confidence"`
	Seed       uint64         `json:"seed"`
	Pairing    Pairing        `json:"pairing"`
	Criteria   []Criterion    `json:"criteria"` // pass first; those that both judges have with the same type
	Unshared   []string       `json:"unshared_criteria,omitempty" doc:"criteria of one side only, or of another type or wording on the other"`
	Gates      []gate.Outcome `json:"gates,omitempty"`
	Notes      []string       `json:"notes"`
}

// Side is one of the runs.
type Side struct {
	Run           assay.RunID     `json:"run"`
	Retries       []assay.RunID   `json:"retries,omitempty"`
	State         assay.RunState  `json:"state"`
	Judge         string          `json:"judge"`
	Version       assay.Hash      `json:"judge_version"`
	Kind          assay.JudgeKind `json:"judge_kind"`
	AgentVersions []string        `json:"agent_versions" doc:"of the sampled sessions, most frequent first, at most ten"`
	AsOf          time.Time       `json:"as_of"`
	Eligible      int64           `json:"eligible"`
	Sampled       int64           `json:"sampled"`
	Graded        int64           `json:"graded"`
	Coverage      *float64        `json:"coverage"`
	Covers        extract.Covers  `json:"covers"`
	Partial       bool            `json:"partial"`
}

// What may differ between two sides.
type What string

const (
	JudgeChanged    What = "judge"    // another judge version
	AgentChanged    What = "agent"    // other agent versions, or other sessions of the same cases
	SessionsChanged What = "sessions" // other sessions were sampled
	SampleChanged   What = "sample"   // another n, seed or frame
	NothingChanged  What = "nothing"  // same judge version, same contents: what differs is the judge's noise
)

// Differs is one thing that differs, with a sentence.
type Differs struct {
	What  What   `json:"what"`
	Words string `json:"words"`
}

// Pairing says how pairs were made and what is in none.
type Pairing struct {
	Key     Key       `json:"key"`
	Why     string    `json:"why" doc:"in words, where it was not asked for"`
	Pairs   int64     `json:"pairs" doc:"sessions, or cases, that both sides sampled"`
	Users   int64     `json:"users,omitempty"`
	LeftOut []LeftOut `json:"left_out"`
}

// LeftOut counts what is in no pair, or in one that cannot be compared.
type LeftOut struct {
	Side  string `json:"side" doc:"a, b or both"`
	Why   string `json:"why" doc:"not_sampled, content_changed, no_case, errored, ungradable, cancelled, abandoned, pending, abstained, not_applicable, undefined"`
	N     int64  `json:"n"`
	Words string `json:"words"`
}

// Criterion is one question on both sides.
type Criterion struct {
	Name    string              `json:"name"`
	Type    assay.CriterionType `json:"type"`
	Kind    string              `json:"kind"` // rate, mean or share
	Value   string              `json:"value,omitempty"`
	Changed bool                `json:"question_changed,omitempty" doc:"the wording is another one"`
	A       number.Number       `json:"a" doc:"of the pairs, weighted; unpaired: of the side"`
	B       number.Number       `json:"b"`
	Drop    number.Difference   `json:"drop"`
	Pairs   int64               `json:"pairs" doc:"answered on both sides"`
	Table   *Table              `json:"table,omitempty" doc:"of pairs with yes or no on both sides"`
	Strata  []DropPart          `json:"by_stratum,omitempty"`
	Arms    []DropPart          `json:"by_arm,omitempty"`
	Noise   *Expected           `json:"noise,omitempty"`
	// McNemar is there only where every pair weighs the same.
	McNemar *float64 `json:"mcnemar_p,omitempty" doc:"exact, on raw counts; absent where weights differ"`

	again func(confidence float64) number.Difference // for another confidence
}

// Table counts pairs, unweighted.
type Table struct {
	Both      int64 `json:"both"`      // yes and yes
	Neither   int64 `json:"neither"`   // no and no
	Regressed int64 `json:"regressed"` // yes in A, no in B
	Fixed     int64 `json:"fixed"`     // no in A, yes in B
}

// DropPart is the drop of a part, an exploratory number.
type DropPart struct {
	Name  string            `json:"name"`
	Pairs int64             `json:"pairs"`
	Drop  number.Difference `json:"drop"`
	Table *Table            `json:"table,omitempty"`

	again func(confidence float64) number.Difference // for another confidence
}

// Expected is how many flips the judge's own noise makes where nothing changed. It explains a list and never
// overrides an interval.
type Expected struct {
	Run       assay.RunID `json:"run" doc:"where it was measured, with --repeat"`
	FlipRate  float64     `json:"flip_rate"`
	Flips     float64     `json:"expected_flips" doc:"among the pairs, both ways together"`
	Regressed float64     `json:"expected_regressed"`
	Fixed     float64     `json:"expected_fixed"`
	Words     string      `json:"words"`
}

// FlipKind says which way a session flipped.
type FlipKind string

const (
	Regressed FlipKind = "regressed"
	Fixed     FlipKind = "fixed"
)

// Flip is one pair that changed.
type Flip struct {
	Kind      FlipKind `json:"kind"`
	Criterion string   `json:"criterion"`
	Stratum   string   `json:"stratum"` // day/arm, of A
	Case      string   `json:"case,omitempty"`
	A         FlipSide `json:"a"`
	B         FlipSide `json:"b"`
}

// FlipSide is one side of it.
type FlipSide struct {
	Session string      `json:"session"` // USER/ID
	Run     assay.RunID `json:"run"`
	Seq     int64       `json:"seq"`
	Value   string      `json:"value"`
	Reason  string      `json:"reason"`
	URL     string      `json:"url" doc:"of the item in the API"`
}
