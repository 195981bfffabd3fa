package limit

import "time"

// Key names what calls go to.
type Key struct{ Endpoint, Model string }

// Limits are what a person set. 0 means that nothing was set: then only what the provider tells and
// does bounds the calls.
type Limits struct {
	RequestsPerMinute float64
	TokensPerMinute   float64 // prompt and answer
	Concurrency       int
}

// Told is what a provider's response headers say of its limits. Zero fields were not told.
type Told struct {
	LimitRequests     float64       // allowed in Window
	RemainingRequests *float64      // of them
	ResetRequests     time.Duration // until the remaining ones are back
	LimitTokens       float64
	RemainingTokens   *float64
	ResetTokens       time.Duration
	Window            time.Duration // what the limits count; 0 is a minute
}

// Kind is how a call ended, as far as limits are concerned. The zero Kind is Aborted.
type Kind int

const (
	Aborted     Kind = iota // cut by the caller; says nothing of the provider
	Answered                // 2xx, or a 4xx about the request: the provider is up and took it
	Limited                 // 429, or 529 overloaded
	Failed                  // 5xx, a timeout, a broken connection
	Unreachable             // nobody answers there
	Quota                   // the account's quota is used up
)

func (k Kind) String() string {
	switch k {
	case Answered:
		return "answered"
	case Limited:
		return "limited"
	case Failed:
		return "failed"
	case Unreachable:
		return "unreachable"
	case Quota:
		return "quota"
	}
	return "aborted"
}

// Outcome is how a call ended.
type Outcome struct {
	Kind       Kind
	RetryAfter time.Duration // as the provider asked; 0 when it did not
	Told       Told
	Tokens     int64  // used, prompt and answer; 0 is unknown
	Message    string // one sentence without secrets, for whoever reads the breaker's reason
	// Again says that the same question failed before: its failure says nothing new about the provider.
	// Else a few questions that always fail, asked again at the end of a run, would open the breaker.
	Again bool
}

// Reason says why a call may not leave yet. Reasons are part of the API.
type Reason string

const (
	ReasonNone        Reason = ""
	ReasonBreaker     Reason = "breaker"     // the provider is thought to be down, or the quota is used up
	ReasonProbe       Reason = "probe"       // one call is out to see whether it is up again
	ReasonRetryAfter  Reason = "retry_after" // the provider asked to wait
	ReasonRemaining   Reason = "remaining"   // its headers say that nothing remains until a reset
	ReasonConcurrency Reason = "concurrency" // as many calls are in flight as a person set
	ReasonWindow      Reason = "window"      // as many as the provider is known to accept
	ReasonRequests    Reason = "requests"    // requests per minute
	ReasonTokens      Reason = "tokens"      // tokens per minute
	ReasonTurn        Reason = "turn"        // it is another share's turn
	ReasonLeft        Reason = "left"        // the share has left
)
