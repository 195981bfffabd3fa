package old

import (
	"time"

	"assay/internal/assay"
	"assay/internal/stats"
)

// TargetWindow is the target of every number here: the level in this frozen frame.
const TargetWindow = "window"

// PointOnly is what a reader must know of every number in a report.
const PointOnly = "Point estimates without intervals: they do not say how far chance may have moved them. Do not read small differences as effects."

// Legend explains the columns of a report's tables.
const Legend = "N: sessions eligible. n: sessions sampled. answered: sessions with an answer to the question. coverage: their share, weighted like the level. bounds: the level if everything missing were lowest, and if it were highest (?: the answer has no limit); they say nothing of chance."

// CutLegend explains the column that only tables with cut transcripts have.
const CutLegend = "cut: share of the verdicts whose judge saw a transcript with a part left out, because it was too long."

// NoiseLegend explains the table that only a run with repeats has.
const NoiseLegend = "noise: flips is the chance that two gradings of the same session differ; split is the share of sessions whose gradings are not all the same, which grows with how many there are; sd is the standard deviation of a number's gradings of one session. All are weighted like the rates, over the sessions with two answers or more. An abstention is no answer; \"does not apply\" is one. They have no interval."

// Report is what is known of a run and the runs that it retries.
type Report struct {
	Run      Header         `json:"run"`
	Unit     string         `json:"unit"`   // what is sampled: session
	Target   string         `json:"target"` // what every number speaks about: window
	Covers   Covers         `json:"covers"`
	Counts   Counts         `json:"counts"`
	Excluded assay.Excluded `json:"excluded"`
	Judges   []Judge        `json:"judges"`
	Spend    Spend          `json:"spend"`
	Notes    []string       `json:"notes"`
}

// Header says which run this is and what it was planned with.
type Header struct {
	ID         assay.RunID    `json:"run"`
	Retries    []assay.RunID  `json:"retries,omitempty"` // earlier runs of the chain, newest first
	Project    string         `json:"project"`
	Kind       assay.RunKind  `json:"kind"`
	State      assay.RunState `json:"state"`
	Phase      assay.RunPhase `json:"phase,omitempty"`
	Reason     assay.Reason   `json:"reason,omitempty"`
	Sentence   string         `json:"sentence,omitempty"`
	Partial    bool           `json:"partial"`
	Cancelling bool           `json:"cancelling,omitempty"`
	Frame      assay.Frame    `json:"frame"`
	Seed       string         `json:"seed"`
	PerStratum int            `json:"per_stratum"`
	Repeats    int            `json:"repeats"`
	AsOf       time.Time      `json:"as_of"`
	Zone       string         `json:"zone"`
	ArmKey     string         `json:"arm_key"`
}

// Covers says which items the estimates are about.
type Covers struct {
	Complete bool  `json:"complete"`          // every item of the run has ended
	Through  int64 `json:"through,omitempty"` // else: items 1 to Through in dispatch order
	Of       int64 `json:"of"`
}

// Counts are items; Total is the sum of Graded, Errored, Ungradable, Cancelled, Abandoned and
// Pending. Eligible and Sampled are sessions: Total = Sampled x judges x repeats.
type Counts struct {
	Eligible    int64                 `json:"eligible"`
	Sampled     int64                 `json:"sampled"`
	Strata      int                   `json:"strata"`
	Total       int64                 `json:"total"`
	Graded      int64                 `json:"graded"`
	Errored     int64                 `json:"errored"`
	Ungradable  int64                 `json:"ungradable"`
	Cancelled   int64                 `json:"cancelled"`
	Abandoned   int64                 `json:"abandoned"`
	Pending     int64                 `json:"pending"`
	InFlight    int64                 `json:"in_flight"` // part of Pending
	Reused      int64                 `json:"reused"`    // part of Graded
	ReusedShare *float64              `json:"reused_share"`
	ByClass     map[assay.Class]int64 `json:"by_class,omitempty"` // of Errored and Ungradable
}

// Judge is one judge's part.
type Judge struct {
	Name     string          `json:"name"`
	Version  assay.Hash      `json:"version"`
	Kind     assay.JudgeKind `json:"kind"`
	Coverage *float64        `json:"coverage"`      // weighted share of the sample that has a verdict
	Cut      int64           `json:"cut,omitempty"` // verdicts whose judge saw a transcript with a part left out
	Criteria []Criterion     `json:"criteria"`      // pass first
	Strata   []Stratum       `json:"strata"`
}

// Stratum is what the estimates are made of.
type Stratum struct {
	assay.Stratum
	Eligible  int64   `json:"eligible"` // N_h
	Sampled   int64   `json:"sampled"`  // n_h
	Weight    float64 `json:"weight"`   // N_h/N
	Graded    int64   `json:"graded"`   // sessions with a verdict, of several repeats in the first
	Passed    int64   `json:"passed"`
	Undecided int64   `json:"undecided"`     // graded, but the pass rule was undefined
	Cut       int64   `json:"cut,omitempty"` // of Graded: the judge saw a transcript with a part left out
}

// MeasureKind says how a criterion is summed up.
type MeasureKind string

const (
	KindRate  MeasureKind = "rate"  // of true
	KindShare MeasureKind = "share" // of one value
	KindMean  MeasureKind = "mean"
)

// Criterion is one question and its levels: one measure for a boolean or a number, one per value
// for a category or an ordinal.
type Criterion struct {
	Name     string              `json:"name"`
	Type     assay.CriterionType `json:"type"`
	Measures []Measure           `json:"measures"`
	Noise    *Noise              `json:"noise,omitempty"` // of a run that grades each session more than once
}

// Measure is a level over the frame, by arm and by day.
type Measure struct {
	Kind    MeasureKind `json:"kind"`
	Value   string      `json:"value,omitempty"` // of a share
	Overall Estimate    `json:"overall"`
	ByArm   []Part      `json:"by_arm"`
	ByDay   []Part      `json:"by_day"`
}

// Part is the level in one arm or on one day.
type Part struct {
	Name     string   `json:"name"`
	Estimate Estimate `json:"estimate"`
}

// Estimate is a weighted level with what must stand beside it. A null level has a reason in Absent.
type Estimate struct {
	Level    *float64      `json:"level"`
	Absent   stats.Absence `json:"absent,omitempty"`
	N        int64         `json:"N"`        // eligible sessions
	Sampled  int64         `json:"n"`        // sampled sessions
	Answered int64         `json:"answered"` // sessions with an answer to this question, of several repeats in the first
	Applies  int64         `json:"applies"`  // answered sessions that the question applies to
	Coverage *float64      `json:"coverage"` // weighted share of the sample with an answer
	Low      *float64      `json:"low"`      // were everything missing worst
	High     *float64      `json:"high"`     // were everything missing best
	Merged   []stats.Merge `json:"merged,omitempty"`
	Cut      *float64      `json:"cut_share,omitempty"` // of the judge's verdicts here: those on a transcript with a part left out; absent is none
}

// Spend sums attempts over the chain. Cost is null while it is not known: what was spent lies between
// Known and Known + Held where Unpriced is 0, and else nobody knows.
type Spend struct {
	Attempts  int64       `json:"attempts"`
	Lost      int64       `json:"lost"` // cut by a crash
	Late      int64       `json:"late"`
	Usage     assay.Usage `json:"usage"`
	Cost      *assay.USD  `json:"cost_usd" nullable:"true"`
	Known     assay.USD   `json:"known_cost_usd"`
	Held      assay.USD   `json:"held_usd"`                  // at most, of attempts whose cost is not known
	HeldN     int64       `json:"held_attempts"`             // how many those are
	Unpriced  int64       `json:"unpriced_attempts"`         // attempts of which nobody knows what they cost
	Unmetered int64       `json:"unmetered_attempts"`        // calls to models that told no usage: their tokens are not in it
	Budget    *assay.USD  `json:"budget_usd,omitempty"`      // of the newest run of the chain
	Left      *assay.USD  `json:"budget_left_usd,omitempty"` // likewise
}
