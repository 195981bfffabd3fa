// Package extract reads what a run's items say into columns, once, and keeps it.
//
// It owns the columns, their stored form and its version. It refuses to know what is estimated of them. Its
// invariant: the same rows give the same extract, read from rows or from what was kept; rows stand in dispatch
// order, and of a run under way they are a completed prefix of it.
//
// A report of 200,000 verdicts reads some megabytes instead of joining millions of rows. Only runs that have ended
// are kept: their items never change. What an extract tells of a session beside its content (agent version, source,
// case, user) is what was known when it was made.
package extract

import (
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// Format is the version of the stored form: another one is made anew.
const Format = 1

// Chain is a run and the runs that it retries, with what was planned.
type Chain struct {
	Runs   []assay.Run // newest first
	Strata []assay.PlannedStratum
	Covers Covers
}

// Head is the newest run.
func (c Chain) Head() assay.Run { return c.Runs[0] }

// Root is the run that drew the sample.
func (c Chain) Root() assay.Run { return c.Runs[len(c.Runs)-1] }

// Covers says which items numbers are about.
type Covers struct {
	Complete bool  `json:"complete" doc:"every item of the run has ended"`
	Through  int64 `json:"through,omitempty" doc:"else: items 1 to this in dispatch order, all of which have ended"`
	Of       int64 `json:"of"`
}

// Extract is one judge's part of a chain: a row for each sampled session that has an item, by its first grading.
type Extract struct {
	Judge   assay.RunJudge
	Version assay.JudgeVersion
	Rows    []Row
	Users   []string // by Row.User; "" of users that are not known, each with a number of its own
	Cases   []string // by Row.Case
	Agents  []string // by Row.Agent; "" where none was recorded
	Sources []string // likewise
	// Columns are the answers, pass first and then the version's criteria in their order, each as long as Rows.
	Columns []Column
	Fails   []Fails // what failing answers said: of pass, and of each boolean criterion
	Calls   Calls
	Spent   []assay.Spend // by this judge, of each run of Chain.Estimated
}

// Row is one sampled session.
type Row struct {
	Content assay.ContentKey
	Session assay.SessionKey
	Run     assay.RunID // of the chain, that has the item
	Seq     int64
	Stratum int32 // index into Chain.Strata, by PlannedStratum.Index
	User    int32
	Case    int32 // -1: none
	Agent   int32
	Source  int32
	State   assay.ItemState
	Class   assay.Class
	Reused  bool
	Cut     bool
}

// Column is what was answered to one question.
type Column struct {
	Criterion assay.Criterion // of pass only name and type
	Values    []string        // of ordinals and categories: the criterion's, then any others that were met
	Answers   []Answer        // by row
	Numbers   []float64       // by row, of the type number; 0 where Answers has no Number
	Quoted    int64           // answers with evidence
	// Unverified are those of Quoted with a quote that is not in the transcript.
	Unverified int64
}

// Answer is a small number: what one session's answer to one question is.
type Answer int16

const (
	Missing   Answer = -1 // no verdict, or none to this question
	Abstained Answer = -2
	Outside   Answer = -3 // the question does not apply
	Undefined Answer = -4 // of pass: the rule is undefined, see Column
	No        Answer = 0  // of booleans
	Yes       Answer = 1
	HasNumber Answer = 0 // of numbers: see Column.Numbers
)

// Of ordinals and categories an Answer of 0 and more is an index into Column.Values. Pass is Undefined where a
// question that the rule needs does not apply or was abstained on; Pass says what that means for estimates.

// Fails are the failing answers to one question.
type Fails struct {
	Criterion string
	N         int64
	Types     []Reason  // of pass: how many of these sessions had which answer, such as "solved: no"; at most MostTypes
	Reasons   []Reason  // the most frequent ones, at most MostReasons, then by text
	Examples  []Example // the first ones in dispatch order, which is a random one: at most MostExamples
}

// Reason is a text that several answers gave.
type Reason struct {
	Text string
	N    int64
}

// Example is one failing answer.
type Example struct {
	Row    int32
	Reason string
}

const (
	MostTypes    = 20
	MostReasons  = 10
	MostExamples = 5
)

// Calls is how long the judge's calls took.
type Calls struct {
	Queue   Times // of first attempts: from when the item could go to when its attempt was opened
	Backoff Times // of later attempts: likewise, which is mostly the wait before a retry
	Permit  Times // from there to the call: waiting for a permit of the limiter
	Call    Times // from the call to its end
	Failed  int64 // calls that brought no verdict
}

// Times sums up durations; with N 0 nothing is known.
type Times struct {
	N    int64         `json:"n"`
	P50  time.Duration `json:"p50_ns"`
	P95  time.Duration `json:"p95_ns"`
	Most time.Duration `json:"max_ns"`
	Sum  time.Duration `json:"sum_ns"`
}

// Source is what extracts are read from.
type Source interface {
	Runs() store.Runs
	Plans() store.Plans
	Items() store.Items
	Judges() store.Judges
	Spending() store.Spending
	Extracts() store.Extracts
}
