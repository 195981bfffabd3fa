// Package check says how far a judge can be trusted: what it said against what people said.
//
// It owns which labels count, how raters who disagree are resolved, and what may be estimated from which labels. It
// refuses to know how labels get in. Its invariant: a label enters an estimate only with a known probability of
// having been drawn and only if it was not chosen because of what a judge said; a number that this forbids is absent
// with the reason and with what would make it possible.
package check

import (
	"time"

	"assay/internal/assay"
	"assay/internal/report/number"
	"assay/internal/stats"
)

// Options say what is asked.
type Options struct {
	Run        *assay.Run // whose verdicts are checked; nil: the newest ended grade run of the judge's version
	Version    assay.Hash // "" is the judge's present one
	Criterion  string     // "" is pass
	Rater      string     // only labels of this rater; "" resolves all
	From       *assay.Run // correct Run's rate by labels on this other run's verdicts (transported)
	Confidence float64    // 0 is 0.95
}

// Check is what labels say of a judge.
type Check struct {
	Judge     string              `json:"judge"`
	Version   assay.Hash          `json:"judge_version"`
	Criterion string              `json:"criterion"`
	Type      assay.CriterionType `json:"type"`
	Question  string              `json:"question,omitempty"`
	Run       assay.RunID         `json:"run"`
	AsOf      time.Time           `json:"as_of"`
	Target    stats.Target        `json:"target"`
	Headline  string              `json:"headline"`
	Labels    Labels              `json:"labels"`
	Raters    Raters              `json:"raters"`
	Confusion *Confusion          `json:"confusion,omitempty"` // of booleans
	Scale     *Scale              `json:"scale,omitempty"`     // of ordinals, categories and numbers
	Rates     *Rates              `json:"rates,omitempty"`     // of booleans and numbers
	Slices    []Slice             `json:"slices"`
	Disagree  []Disagreement      `json:"disagreements" doc:"at most 20; all of them are in their own list"`
	Disputed  int64               `json:"disagreements_total"`
	Notes     []string            `json:"notes"`
}

// Labels counts labels of the criterion on contents that the run graded.
type Labels struct {
	Total     int64   `json:"total"`
	Contents  int64   `json:"contents"`
	Used      int64   `json:"used" doc:"contents with an answer that enters estimates"`
	Queue     int64   `json:"queue" doc:"labels from a list of disagreements: in no estimate"`
	Prompt    int64   `json:"prompt" doc:"labels that the judge was written with: in no estimate"`
	Unknown   int64   `json:"unknown_probability"`
	Other     int64   `json:"other_question" doc:"they answer another wording"`
	Apart     int64   `json:"other_design" doc:"contents whose labels were chosen in another way than those that enter estimates"`
	Tied      int64   `json:"tied" doc:"contents whose raters disagree, without a majority or a decision"`
	Elsewhere int64   `json:"elsewhere" doc:"labels on contents that the run did not grade"`
	Blind     int64   `json:"blind" doc:"of the labels that enter estimates"`
	Design    string  `json:"design" doc:"in words: how the labelled sessions were chosen"`
	Draws     []int64 `json:"draws,omitempty" doc:"whose labels enter estimates"`
}

// Raters is how far people agree with each other.
type Raters struct {
	Names []string      `json:"names"`
	Both  int64         `json:"contents_with_two" doc:"contents that two raters or more answered"`
	Alpha number.Number `json:"alpha" doc:"Krippendorff's; N is contents"`
	Pairs []RaterPair   `json:"pairs,omitempty"`
}

// RaterPair is the agreement of two raters.
type RaterPair struct {
	A     string        `json:"a"`
	B     string        `json:"b"`
	N     int64         `json:"n"`
	Kappa number.Number `json:"kappa"`
}

// Confusion is the judge against labels: weighted shares, raw counts.
type Confusion struct {
	TP          int64         `json:"true_positive"`
	FP          int64         `json:"false_positive"`
	FN          int64         `json:"false_negative"`
	TN          int64         `json:"true_negative"`
	Accuracy    number.Number `json:"accuracy"`
	Sensitivity number.Number `json:"sensitivity"`
	Specificity number.Number `json:"specificity"`
	PPV         number.Number `json:"ppv"`
	NPV         number.Number `json:"npv"`
	Balanced    number.Number `json:"balanced_accuracy"`
	F1          number.Number `json:"f1"`
	MCC         number.Number `json:"mcc"`
	Kappa       number.Number `json:"kappa"`
}

// Scale is the judge against labels of more than two values.
type Scale struct {
	Values    []string      `json:"values,omitempty"`
	Table     [][]int64     `json:"table,omitempty" doc:"rows are the judge's, columns the labels'"`
	Exact     number.Number `json:"exact_agreement"`
	Kappa     number.Number `json:"kappa" doc:"of ordinals with quadratic weights"`
	Weights   string        `json:"weights,omitempty"`
	MeanError number.Number `json:"mean_error" doc:"of numbers: judge less label"`
}

// Rates is what the judge says of the run, and what labels make of it.
type Rates struct {
	Raw         number.Number `json:"raw"`
	Corrected   number.Number `json:"corrected" doc:"by labels that are a probability sample of the graded frame"`
	Transported number.Number `json:"transported" doc:"Rogan-Gladen with sensitivity and specificity from elsewhere: assumes that the judge errs here as there"`
	Words       string        `json:"words"`
}

// Slice is the agreement in a part: by arm, day, agent version or source.
type Slice struct {
	By        string        `json:"by"`
	Name      string        `json:"name"`
	Labels    int64         `json:"labels"`
	Agreement number.Number `json:"agreement"`
	Missed    int64         `json:"false_positive"`
	Harsh     int64         `json:"false_negative"`
}

// Disagreement is one session on which judge and label differ.
type Disagreement struct {
	Session string      `json:"session"`
	Stratum string      `json:"stratum"`
	Judge   string      `json:"judge" doc:"what it said"`
	Label   string      `json:"label"`
	Raters  []string    `json:"raters"`
	Reason  string      `json:"reason" doc:"the judge's"`
	Note    string      `json:"note,omitempty" doc:"the rater's"`
	Use     string      `json:"use"`
	Run     assay.RunID `json:"run"`
	Seq     int64       `json:"seq"`
	URL     string      `json:"url"`
}
