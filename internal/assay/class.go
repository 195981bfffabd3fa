package assay

import "time"

// Class says how an attempt ended when it did not end in a verdict. Names are part of the API.
type Class string

const (
	ClassNone            Class = "" // a verdict
	ClassTimeout         Class = "timeout"
	ClassProviderError   Class = "provider_error"
	ClassNetwork         Class = "network"
	ClassRefused         Class = "refused"
	ClassMalformed       Class = "malformed_answer"
	ClassTruncated       Class = "truncated_answer"
	ClassJudgeError      Class = "judge_error"
	ClassRateLimited     Class = "rate_limited"
	ClassContextTooLong  Class = "context_too_long"
	ClassContentFiltered Class = "content_filtered"
	ClassSessionMissing  Class = "session_missing"
	ClassSessionEmpty    Class = "session_empty"
	ClassBadCredentials  Class = "bad_credentials"
	ClassQuota           Class = "quota_exhausted"
	ClassModelMissing    Class = "model_missing"
	ClassUnreachable     Class = "endpoint_unreachable"
	ClassBudget          Class = "budget_reached"
	ClassAborted         Class = "aborted"     // the call was cut by cancel --now or a stop, or did not leave; the item goes back or is cancelled
	ClassPrompt          Class = "prompt_only" // opened for the prompt alone, without a call; kept by a crash, where the status is unknown
	ClassUnknown         Class = "unknown"     // the process died during the call

	// Of cases: what a harness says of one that it did not judge.
	ClassCaseError    Class = "case_error"
	ClassCaseSkipped  Class = "case_skipped"
	ClassCaseUnscored Class = "case_unscored"
)

// Policy is what the engine does with an attempt of a class.
type Policy struct {
	Ends     ItemState     // what the item becomes when attempts are used up; "" for classes that never end an item
	Attempts int           // attempts of any counted class before Ends; 1 means no retry
	Backoff  time.Duration // first wait; doubles per attempt, with jitter, at most MaxBackoff; a provider's Retry-After takes its place
	Pauses   bool          // the run pauses and the item stays pending
	Free     bool          // does not use up the item's attempts
	Remedy   string        // what a person can do
}

// MaxBackoff bounds a computed wait. A provider's Retry-After may be longer and is honoured.
const MaxBackoff = time.Minute

// Policies is the one table from class to behaviour. docs/CLASSES.md is generated from it.
var Policies = map[Class]Policy{
	ClassTimeout:         {Ends: ItemErrored, Attempts: 3, Backoff: time.Second, Remedy: "raise the judge's timeout or look at the endpoint's latency"},
	ClassProviderError:   {Ends: ItemErrored, Attempts: 4, Backoff: time.Second, Remedy: "the provider failed; `assay retry` the run later"},
	ClassNetwork:         {Ends: ItemErrored, Attempts: 4, Backoff: time.Second, Remedy: "the connection broke during the call; look at proxies and the endpoint"},
	ClassRefused:         {Ends: ItemErrored, Attempts: 1, Remedy: "the model declined to grade this session; `assay runs errors` shows the raw answer; change the prompt or the model"},
	ClassMalformed:       {Ends: ItemErrored, Attempts: 2, Remedy: "the answer could not be read twice; `assay runs errors` shows the raw answer; use a response_format that the model keeps to (`assay provider check` says), or another model"},
	ClassTruncated:       {Ends: ItemErrored, Attempts: 1, Remedy: "the answer hit its length limit; raise the judge's max_tokens, or of a judge of units lower units_per_call"},
	ClassJudgeError:      {Ends: ItemErrored, Attempts: 1, Remedy: "the judge itself failed (its program, its rules, a parameter that its model does not take); `assay runs errors` shows how; apply a mended version"},
	ClassRateLimited:     {Free: true, Backoff: 2 * time.Second, Remedy: "the item waits as long as the provider asks; to meet it less often bound the calls to the model with `assay models set`"},
	ClassContextTooLong:  {Ends: ItemUngradable, Attempts: 1, Remedy: "the transcript does not fit the model; use a model with a longer context, or a judge with `long_transcripts: head_and_tail`"},
	ClassContentFiltered: {Ends: ItemUngradable, Attempts: 1, Remedy: "the provider's filter blocked this transcript; grade it with another provider or by hand"},
	ClassSessionMissing:  {Ends: ItemUngradable, Attempts: 1, Remedy: "the session's body is no longer stored"},
	ClassSessionEmpty:    {Ends: ItemUngradable, Attempts: 1, Remedy: "the session holds nothing to grade: no message, or no turn or tool call for a judge that asks about these"},
	ClassBadCredentials:  {Pauses: true, Free: true, Remedy: "set the right key where runs are driven (`assay provider check` tries it), then `assay resume`"},
	ClassQuota:           {Pauses: true, Free: true, Remedy: "the account's quota is used up; a process that drives goes on when it is back, or at once with `assay resume`"},
	ClassModelMissing:    {Pauses: true, Free: true, Remedy: "`assay end` the run and apply the judge with a model that the endpoint has"},
	ClassUnreachable:     {Pauses: true, Free: true, Backoff: time.Second, Remedy: "start the endpoint; a process that drives goes on by itself, or at once with `assay resume`"},
	ClassBudget:          {Pauses: true, Free: true, Remedy: "the budget is used up; raise it with `assay runs set` or, of the month, `assay project set`, and `assay resume`, or `assay end` the run"},
	ClassAborted:         {Free: true, Remedy: "the call was cut on purpose, or held back before it left; its error says which"},
	ClassPrompt:          {Free: true, Remedy: "nothing: no call left. After a crash a prompt is made in an attempt of its own, so that a session whose prompt ends the process is found; the item's next attempt is the call"},
	ClassUnknown:         {Free: true, Remedy: "the process died during this call; the item runs again, and what the call may have cost stays counted"},
	ClassCaseError:       {Ends: ItemErrored, Attempts: 1, Remedy: "the harness could not run this case, and its error says why; mend what it needs and start the suite again"},
	ClassCaseSkipped:     {Ends: ItemUngradable, Attempts: 1, Remedy: "the harness left this case out on purpose; its error says why, if the harness did"},
	ClassCaseUnscored:    {Ends: ItemUngradable, Attempts: 1, Remedy: "the harness ran this case and gave it no score; look at its scorers, or at what ended it before they ran"},
}
