package api

import (
	"context"
	"encoding/json"

	"assay/internal/assay"
)

// Judging is what the API asks of judges beside runs. Prompt calls nobody.
type Judging interface {
	// Builtin knows the judges that need no apply; CodeNotFound when there is none of that name.
	Builtin(name string) (assay.Judge, assay.JudgeVersion, error)
	// Prompt makes the request that a question of a judge would send. A judge that asks no model has
	// none: CodeInvalid.
	Prompt(v assay.JudgeVersion, settings json.RawMessage, q PromptQuestion) (Prompt, error)
	// Check makes one cheap call to the provider of a judge that asks a model.
	Check(ctx context.Context, v assay.JudgeVersion, settings json.RawMessage) (ProviderCheck, error)
}

// PromptQuestion is what a judge is asked about, as far as that shapes its request.
type PromptQuestion struct {
	Session  *assay.Session
	Content  assay.Hash
	Repeat   int
	Answered int // units that earlier attempts of the item brought
	// Unreadable is the attempt before, when its answer could not be read: it is shown to the model.
	Unreadable *assay.Attempt
}

// Prompt is a request that did not leave.
type Prompt struct {
	Model    assay.ModelKey  `json:"model"`
	Provider string          `json:"provider,omitempty" doc:"as the judge names it"`
	Request  json.RawMessage `json:"request,omitempty" doc:"its body; no key is part of it"`
	Seen     SeenText        `json:"seen"`
	Class    assay.Class     `json:"class,omitempty" doc:"how the question ends without a call, e.g. context_too_long; there is no request then"`
	Error    string          `json:"error,omitempty"`
	Input    int64           `json:"input_tokens" doc:"of the prompt"`
	Exact    bool            `json:"exact" doc:"counted by the model's tokenizer, not estimated from the length"`
	Most     int64           `json:"max_input_tokens" doc:"never less than the provider counts"`
	Output   int64           `json:"max_output_tokens" doc:"of the answer, reasoning included; 0: nothing bounds it"`
	Units    int             `json:"units" doc:"that the call asks about; 1 for the session"`
	Left     int             `json:"units_left,omitempty" doc:"that need calls after it"`
	Price    *assay.Price    `json:"price,omitempty"`
	Worst    *assay.USD      `json:"worst_usd" nullable:"true" doc:"the most that the call can cost; null is not known"`
}

// SeenText is a transcript as a judge was shown it.
type SeenText struct {
	Hash assay.Hash `json:"hash,omitempty"`
	Text string     `json:"text"`
	Cut  bool       `json:"cut,omitempty" doc:"a part was left out, and the text says which"`
}

// ProviderCheck says what of a provider works.
type ProviderCheck struct {
	Provider string         `json:"provider,omitempty"`
	Model    assay.ModelKey `json:"model"`
	OK       bool           `json:"ok" doc:"everything that a judge needs works"`
	Steps    []CheckStep    `json:"steps" nullable:"false"`
}

// CheckStep is one thing that was tried.
type CheckStep struct {
	Name   string `json:"name"`
	State  string `json:"state" enum:"ok,failed,missing,skipped" doc:"missing: judges work without it, but something is lost; skipped: an earlier step failed"`
	Says   string `json:"says"`
	Remedy string `json:"remedy,omitempty" doc:"what to do"`
}
