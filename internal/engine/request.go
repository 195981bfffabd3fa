package engine

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// GradeRequest is what a door asks for: a grade run, or with Session a single one. Nil and zero
// fields take the project's defaults. It is the JSON body of POST /api/v1/projects/{project}/runs.
type GradeRequest struct {
	Judges     []string   `json:"judges" doc:"names of judges; all grade one sample"`
	From       *time.Time `json:"from,omitempty" doc:"start of the window on the session's start, inclusive"`
	To         *time.Time `json:"to,omitempty" doc:"end of the window, exclusive"`
	Filter     string     `json:"filter,omitempty" doc:"CEL over the session's head, e.g. arm == 'treatment' && turns > 2"`
	Set        string     `json:"set,omitempty" doc:"only members of this set"`
	Labelled   bool       `json:"labelled,omitempty" doc:"only sessions that have a label"`
	Undated    bool       `json:"undated,omitempty" doc:"with a window: sessions without any time too"`
	Since      *time.Time `json:"since,omitempty" doc:"only sessions that were not eligible yet at that moment: they settled, arrived or changed after it"`
	Session    string     `json:"session,omitempty" doc:"USER/ID: grade this one session now (kind single)"`
	PerStratum *int       `json:"per_stratum,omitempty" doc:"sessions to grade per day and arm"`
	// Sizes are what a proposal of the plan has.
	Sizes       []assay.StratumSize `json:"sizes,omitempty" doc:"in place of per_stratum: sessions to grade of single days and arms, all of those that have fewer. One that is not named is not sampled: a report counts it with a neighbour of the same arm, or has no number"`
	Seed        *string             `json:"seed,omitempty" doc:"any text; the same seed draws the same sample"`
	Concurrency *int                `json:"concurrency,omitempty" doc:"judge calls in flight, at least 1"`
	Repeats     int                 `json:"repeats,omitempty" doc:"grade each session this many times; more than 1 turns reuse off"`
	Force       bool                `json:"force,omitempty" doc:"grade again what is graded already"`
	Budget      *assay.USD          `json:"budget_usd,omitempty" doc:"hard budget in US dollars: the run pauses before a call could cross it"`
	Unpriced    bool                `json:"allow_unpriced,omitempty" doc:"under a budget: calls whose price is not known leave all the same, uncounted"`
	By          string              `json:"by,omitempty" maxLength:"200" doc:"who asks"`
	Schedule    string              `json:"-"` // that asks, or for which a person does
	CountUsers  bool                `json:"-"` // of a preview: with Users
}

// RetryRequest is what a door asks for to retry a run. It is the JSON body of POST /api/v1/runs/{run}/retry.
type RetryRequest struct {
	Budget   *assay.USD `json:"budget_usd,omitempty" doc:"hard budget in US dollars; absent: what the retried run's budget left"`
	Unpriced bool       `json:"allow_unpriced,omitempty" doc:"under a budget: calls whose price is not known leave all the same, uncounted"`
	By       string     `json:"by,omitempty" maxLength:"200" doc:"who asks"`
}

// DefaultSeed draws the sample when nobody names a seed, so that two runs of one frame grade the
// same sessions and can be compared.
const DefaultSeed = "assay"

// Preview is what a grade run would do. Making one writes nothing.
type Preview struct {
	Spec     assay.GradeSpec        `json:"spec"`
	AsOf     time.Time              `json:"as_of"`
	Strata   []assay.PlannedStratum `json:"strata"`
	Eligible int64                  `json:"eligible"`
	Sampled  int64                  `json:"sampled"`
	Items    int64                  `json:"items"`
	Judges   []JudgePreview         `json:"judges"`
	Excluded assay.Excluded         `json:"excluded"`
	Users    []UserCount            `json:"-"` // of the eligible sessions, where CountUsers asked for them
}

// UserCount is how many eligible sessions one user has in one stratum. One that is not known is a user of its own
// each time.
type UserCount struct {
	Stratum int // index into Preview.Strata
	User    int // any number that is the same for the sessions of one user
	N       int64
}

// JudgePreview is one judge's part of a preview. Calls are for the items that are not reused: one each,
// more where a judge of units needs several, none where the prompt is too long for the model. Rules
// answer their items without any.
type JudgePreview struct {
	Name    string          `json:"name"`
	Kind    assay.JudgeKind `json:"kind"`
	Version assay.Hash      `json:"version"`
	Items   int64           `json:"items"`
	Reused  int64           `json:"reused"`
	Calls   int64           `json:"calls" doc:"0 of rules, which call nobody; retries come on top"`
	Cost    *CostPreview    `json:"cost,omitempty" doc:"of judges whose calls go to a provider"`
}

// CostPreview is what a judge's calls would take, from the prompts that they would send. With Prompts
// below Calls it was scaled up from that many, which are a random part of the sample.
type CostPreview struct {
	Model    assay.ModelKey `json:"model"`
	Prompts  int64          `json:"prompts" doc:"that were made and counted"`
	Exact    bool           `json:"exact" doc:"counted by the model's tokenizer, not estimated from the length"`
	Input    int64          `json:"input_tokens" doc:"of all prompts"`
	Output   int64          `json:"max_output_tokens" doc:"of all answers, at most; 0: nothing bounds them"`
	Cut      int64          `json:"cut,omitempty" doc:"of prompts: a part of the transcript is left out"`
	TooLong  int64          `json:"too_long,omitempty" doc:"of prompts: they do not fit the model, and no call is made"`
	Price    *assay.Price   `json:"price,omitempty" doc:"absent is not known"`
	Least    *assay.USD     `json:"least_usd" nullable:"true" doc:"the prompts alone, once each, as if a cache held them all where that is cheaper; null is not known"`
	Most     *assay.USD     `json:"most_usd" nullable:"true" doc:"every answer as long as it may be; retries come on top"`
	Expected *assay.USD     `json:"expected_usd" nullable:"true" doc:"answers as long as this judge's were so far; null before there were any"`
	Seconds  *float64       `json:"duration_s" nullable:"true" doc:"at the run's concurrency, this judge's pace so far and the limits that were set for the model; null before there was a pace"`
	Limited  bool           `json:"limited,omitempty" doc:"those limits make it take longer than the pace alone would"`
}

// Planner turns a request into a run to be accepted, or into a preview. grading implements it.
type Planner interface {
	Resolve(ctx context.Context, p assay.Project, q GradeRequest, now time.Time) (store.NewRun, error)
	// Check says what Resolve would refuse, and writes nothing.
	Check(ctx context.Context, p assay.Project, q GradeRequest, now time.Time) error
	Preview(ctx context.Context, p assay.Project, q GradeRequest, now time.Time) (Preview, error)
	Retry(ctx context.Context, of assay.Run, by string, now time.Time) (store.NewRun, error)
}
