package assay

import "time"

// ModelKey names what judge calls go to. Prices and limits are kept for it, for all projects of a
// database: a provider counts calls of an account, not of a project.
type ModelKey struct {
	Endpoint string `json:"endpoint"` // the base URL in its plainest spelling
	Model    string `json:"model"`    // as asked
}

func (k ModelKey) String() string { return k.Model + " at " + k.Endpoint }

// ModelSettings are what a person said about a model. The zero value of a field says nothing.
type ModelSettings struct {
	Price         *Price `json:"price,omitempty"` // in place of the catalogue's
	Limits        Limits `json:"limits"`
	ContextTokens int64  `json:"context_tokens,omitempty"` // in place of the catalogue's
}

// Limits bound the calls to a model over all runs of the process that drives; 0 means that a person
// set no bound: then only what the provider tells and does bounds them.
type Limits struct {
	RequestsPerMinute float64 `json:"requests_per_minute,omitempty"`
	TokensPerMinute   float64 `json:"tokens_per_minute,omitempty"` // prompt and answer
	Concurrency       int     `json:"concurrency,omitempty"`
}

// Model is what is known of a model.
type Model struct {
	ModelKey
	Settings  ModelSettings `json:"settings"`
	UpdatedAt time.Time     `json:"updated_at"`
}

// Validate refuses limits under which no call could ever leave.
func (l Limits) Validate() error {
	switch {
	case l.RequestsPerMinute < 0 || l.TokensPerMinute < 0 || l.Concurrency < 0:
		return Errorf(CodeInvalid, "a limit is negative").WithHint("use 0 for no limit; `assay pause` stops calls")
	case l.Concurrency > MaxConcurrency:
		return Errorf(CodeInvalid, "concurrency %d is out of range", l.Concurrency).WithHint("use 1 to %d, or 0 for no limit", MaxConcurrency)
	}
	return nil
}
