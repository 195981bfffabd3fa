package report

import (
	"time"

	"assay/internal/assay"
	"assay/internal/report/extract"
	"assay/internal/report/gate"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// Target is what an estimate speaks about.
type Target = stats.Target

// Options say what is asked of a report. The zero value is what most people want.
type Options struct {
	Target     Target             // "" is the window
	Confidence float64            // 0 is 0.95
	Control    string             // the arm that lifts are against; "" is assay.Control, else the largest arm
	Shares     map[string]float64 // how sessions were meant to go to arms, by arm; nil: to all arms alike
	AnyShares  bool               // shares were meant to change (a ramp): they are not tested
	Gates      []gate.Gate
}

// Report is what is known of a run and the runs that it retries.
type Report struct {
	Run        Header         `json:"run"`
	Unit       string         `json:"unit"` // what is sampled: session
	Target     stats.Target   `json:"target"`
	Confidence float64        `json:"confidence"`
	Headline   string         `json:"headline" doc:"what the report says first, in a sentence"`
	Covers     extract.Covers `json:"covers"`
	Counts     Counts         `json:"counts"`
	Excluded   assay.Excluded `json:"excluded"`
	Assignment *Assignment    `json:"assignment,omitempty" doc:"of frames with two arms or more: whether sessions went to arms as meant"`
	Judges     []Judge        `json:"judges"`
	Spend      Spend          `json:"spend"`
	Gates      []gate.Outcome `json:"gates,omitempty"`
	Notes      []string       `json:"notes" doc:"what a reader must know of these numbers beside what stands at each"`
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
	Sized      int            `json:"sized_strata,omitempty" doc:"strata with an n of their own, in place of per_stratum"`
	Repeats    int            `json:"repeats"`
	AsOf       time.Time      `json:"as_of"`
	Zone       string         `json:"zone"`
	ArmKey     string         `json:"arm_key"`
	By         string         `json:"by,omitempty"`
	StartedAt  *time.Time     `json:"started_at,omitempty"`
	EndedAt    *time.Time     `json:"ended_at,omitempty"`
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

// Assignment is the check for a sample-ratio mismatch: it comes before any lift. It tests eligible sessions, with
// their users counted whole by the design effect that the sampled ones show.
type Assignment struct {
	Arms     []ArmCount    `json:"arms"` // without the untagged
	Untagged *float64      `json:"untagged_share" doc:"share of eligible sessions without an arm, which no lift has"`
	P        *float64      `json:"p" doc:"chance of arms at least as uneven where sessions go to them as meant"`
	Absent   stats.Absence `json:"absent,omitempty"`
	Effect   float64       `json:"design_effect" doc:"sessions of one user go to one arm together: this many sessions count as one"`
	Mismatch bool          `json:"mismatch" doc:"P below 0.001: lifts are withheld from the headline"`
	Any      bool          `json:"any_shares,omitempty" doc:"shares were meant to change and are not tested"`
}

// ArmCount is an arm's size.
type ArmCount struct {
	Arm      string   `json:"arm"`
	Eligible int64    `json:"eligible"`
	Share    float64  `json:"share" doc:"of the eligible sessions with an arm"`
	Meant    *float64 `json:"meant" doc:"what it was meant to be; null where any would do"`
}

// Judge is one judge's part.
type Judge struct {
	Name     string          `json:"name"`
	Version  assay.Hash      `json:"version"`
	Kind     assay.JudgeKind `json:"kind"`
	Coverage *float64        `json:"coverage"`      // weighted share of the sample that has a verdict
	Cut      int64           `json:"cut,omitempty"` // verdicts whose judge saw a transcript with a part left out
	Reused   int64           `json:"reused"`        // verdicts that an earlier run paid for
	Criteria []Criterion     `json:"criteria"`      // pass first
	Classes  []ClassShare    `json:"classes"`       // of what has no verdict, most frequent first
	Strata   []Stratum       `json:"strata"`
	Fails    []Fails         `json:"fails"`
	Calls    extract.Calls   `json:"calls"`
	Spend    Spend           `json:"spend"`
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
	Name         string              `json:"name"`
	Type         assay.CriterionType `json:"type"`
	Question     string              `json:"question,omitempty"`
	Measures     []Measure           `json:"measures"`
	Lifts        []Lift              `json:"lifts,omitempty"`        // of booleans, an arm each
	Distribution *Distribution       `json:"distribution,omitempty"` // of numbers
	Noise        *Noise              `json:"noise,omitempty"`        // of a run that grades each session more than once
	Quoted       int64               `json:"quoted" doc:"answers with evidence"`
	Unverified   int64               `json:"unverified" doc:"of those: with a quote that is not in the transcript"`
	Abstained    int64               `json:"abstained"`
	Outside      int64               `json:"not_applicable"`
}

// Measure is a level over the frame and of its parts. An agent version or a source is a part that is not drawn by
// itself: how many sessions it has is estimated too.
type Measure struct {
	Kind     MeasureKind   `json:"kind"`
	Value    string        `json:"value,omitempty"` // of a share
	Overall  number.Number `json:"overall"`
	ByArm    []number.Part `json:"by_arm"`
	ByDay    []number.Part `json:"by_day"`
	ByAgent  []number.Part `json:"by_agent_version"`
	BySource []number.Part `json:"by_source"`
}

// Lift is an arm against the control: sum over days of w (treatment - control), with the same weights in both.
type Lift struct {
	Kind    MeasureKind       `json:"kind"`
	Arm     string            `json:"arm"`
	Control string            `json:"control"`
	Lift    number.Difference `json:"lift"`
	Days    int               `json:"days" doc:"that count"`
	Dropped []string          `json:"dropped_days,omitempty" doc:"without a graded session in one of the arms"`

	days  []stats.Both // what it is made of, for another confidence
	cells []stats.ArmCell
	p     stats.Value
}

// Distribution is how a number's answers lie, weighted like the mean.
type Distribution struct {
	Bins   []Bin    `json:"bins"`
	Median *float64 `json:"median"`
	P05    *float64 `json:"p05"`
	P95    *float64 `json:"p95"`
}

// Bin holds answers in [From, To), the last one To too. Of whole numbers with few values From = To is the value.
type Bin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	N     int64   `json:"n"`
	Share float64 `json:"share" doc:"weighted"`
}

// ClassShare is one way in which items ended without a verdict.
type ClassShare struct {
	State assay.ItemState `json:"state"`
	Class assay.Class     `json:"class,omitempty"`
	N     int64           `json:"n"`
	Share number.Number   `json:"share" doc:"of the frame: how many sessions would end so"`
}

// Fails is what failing answers to one question said.
type Fails struct {
	Criterion string    `json:"criterion"`
	N         int64     `json:"n"`
	Types     []Reason  `json:"types,omitempty" doc:"of pass: how many of these sessions had which answer, such as solved: no"`
	Reasons   []Reason  `json:"reasons"`
	Examples  []Example `json:"examples"`
}

// Reason is a text that failing answers gave, the most frequent first.
type Reason struct {
	Text string `json:"text"`
	N    int64  `json:"n"`
}

// Example is one failing session, drawn at random.
type Example struct {
	Session string      `json:"session"` // USER/ID
	Run     assay.RunID `json:"run"`
	Seq     int64       `json:"seq"`
	Reason  string      `json:"reason"`
	URL     string      `json:"url" doc:"of the item in the API"`
}

// Noise is how far several gradings of the same session by the same judge version agree on one
// question. An abstention, or a grading without a verdict, is no answer; "does not apply" is one of its
// own. Sessions with fewer than two answers are left out, and coverage and bounds count them as missing.
type Noise struct {
	FlipRate  *float64      `json:"flip_rate" doc:"chance that two gradings of one session differ"`
	Split     *float64      `json:"split" doc:"share of sessions whose gradings are not all the same"`
	Spread    *float64      `json:"spread" doc:"of a number: standard deviation of the gradings of one session"`
	Absent    stats.Absence `json:"absent,omitempty" doc:"why there is no flip rate and no split"`
	Interval  stats.Absence `json:"interval_absent" doc:"why there is no interval: no_interval"`
	N         int64         `json:"N" doc:"eligible sessions"`
	Sampled   int64         `json:"n" doc:"sampled sessions"`
	Sessions  int64         `json:"sessions" doc:"sessions with two answers or more: what the numbers are made of"`
	Gradings  int64         `json:"gradings" doc:"answers of those sessions"`
	Single    int64         `json:"single" doc:"sessions with one answer only, left out"`
	Abstained int64         `json:"abstained" doc:"gradings that abstained, which is no answer"`
	Outside   int64         `json:"not_applicable" doc:"part of gradings: the question did not apply, which is an answer"`
	Coverage  *float64      `json:"coverage" doc:"weighted share of the sample with two answers or more"`
	Low       *float64      `json:"low" doc:"the flip rate if all gradings of the missing sessions were the same"`
	High      *float64      `json:"high" doc:"the flip rate if all of them were different"`
	Merged    []stats.Merge `json:"merged,omitempty"`
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
