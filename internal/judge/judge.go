// Package judge answers one question about one session, once.
//
// It owns definitions (YAML to an immutable version with a hash), the three kinds of judge and the
// reading of their answers. It refuses to know runs, retries and storage: whether an attempt is
// repeated is the engine's affair. Its invariant: text in a session cannot become the verdict, and
// an error is never one.
package judge

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/limit"
)

// Judge is one version, ready to be asked. It is safe for concurrent use.
type Judge interface {
	// Ask makes at most one call. How it ended is a value: Ask never returns an error and never panics
	// (Safe wraps those that could). When ctx ends, the call is cut and the class is aborted, or timeout
	// when the judge's own deadline ended it.
	Ask(ctx context.Context, q Question) Reply
	// NeedsBody says whether Question.Session must be set.
	NeedsBody() bool
	Close() error
}

// Metered is a judge whose calls go to a provider: they are limited together with all other calls to
// the same model, and cost money. Ask(ctx, q) is Draft(q).Send(ctx).
type Metered interface {
	Judge
	// Model is what the calls go to.
	Model() assay.ModelKey
	// Provider is the provider's name as definitions write it ("openai", "anthropic", "compatible", …):
	// prices are looked up by it.
	Provider() string
	// Draft makes everything of a call but the call, so that the most it can cost is known, and stored,
	// before it leaves. It does no I/O.
	Draft(q Question) Draft
}

// Draft is a call that has not left.
type Draft struct {
	Ended *Reply // not nil: the question ended without a call, for instance as context_too_long; the rest is zero
	Load  Load
	Seen  Seen
	Send  func(ctx context.Context) Reply // makes the call; once
	// Request is the body that Send would send, for people who want to see it. No key is part of it. nil
	// where a judge has none to show.
	Request func() []byte
	Asked   int // units that the call asks about; 1 for the session
	Left    int // units that need calls after it
}

// Load is what a call weighs, in tokens. Its numbers cost one look at each byte; Count costs more.
type Load struct {
	Input      int64 // of the prompt: a guess from its length
	InputMost  int64 // never less than the provider counts
	OutputMost int64 // of the answer, reasoning too; 0: nothing bounds it
	// Count counts the prompt with the model's tokenizer, about a millisecond for 10 KB: input, and a most
	// that is closer than InputMost. Where no tokenizer is known, counted is false, input a better guess
	// and most InputMost. nil where there is nothing to count.
	Count func() (input, most int64, counted bool)
}

// Seen is the transcript as the judge was shown it, without the fixed parts of the prompt.
type Seen struct {
	Hash assay.Hash // SHA-256 of Text
	Text string
	Cut  bool // a part was left out, and the text says which
}

// Question is what a judge is asked about.
type Question struct {
	Session *assay.Session // never changed by the judge
	Content assay.Hash
	Repeat  int
	// Answered are the answers about units that earlier attempts of the item brought: the judge asks
	// about the others, and rolls all of them up when none is left.
	Answered []assay.Answer
	// Unreadable is the reply to the attempt before, when that was malformed: an llm judge shows its raw
	// text and its error to the model and asks once more.
	Unreadable *Reply
}

// Reply is how one attempt ended: Class is ClassNone and Answers holds one per unit that was asked
// about, or Class says what broke. With Left 0 the item is answered, and the answer of the unit ""
// (the session) is among Answers.
type Reply struct {
	Answers     []assay.Answer
	Left        int // units that are still to be asked about
	Class       assay.Class
	Error       string // one sentence for people, without secrets
	CallAt      time.Time
	EndedAt     time.Time
	HTTPStatus  int
	RetryAfter  time.Duration // as the provider asked; 0 when it did not
	Told        limit.Told    // what the provider's headers say of its limits
	Usage       assay.Usage
	Billed      *assay.USD // what the provider says that it asks for the call; nil: it does not say
	Model       string     // as served
	Fingerprint string
	RequestID   string // as the provider named the call
	Raw         string // the response as it came, masked, at most MaxRaw bytes
}

// MaxRaw bounds the raw response that is kept.
const MaxRaw = 64 << 10
