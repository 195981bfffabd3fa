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

// Question is what a judge is asked about.
type Question struct {
	Session *assay.Session // never changed by the judge
	Content assay.Hash
	Repeat  int
	// Unreadable is the reply to the attempt before, when that was malformed: an llm judge shows its raw
	// text and its error to the model and asks once more.
	Unreadable *Reply
}

// Reply is how one attempt ended: Class is ClassNone and Answers holds one per unit, or Class says
// what broke.
type Reply struct {
	Answers     []assay.Answer
	Class       assay.Class
	Error       string // one sentence for people, without secrets
	CallAt      time.Time
	EndedAt     time.Time
	HTTPStatus  int
	RetryAfter  time.Duration // as the provider asked; 0 when it did not
	Usage       assay.Usage
	Model       string // as served
	Fingerprint string
	Raw         string // the answer as it came, at most MaxRaw bytes
}

// MaxRaw bounds the raw answer that is kept.
const MaxRaw = 64 << 10
