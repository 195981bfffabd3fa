package assay

import "time"

// ItemState is where an item stands. Every item ends in exactly one of the terminal five.
type ItemState string

const (
	ItemPending    ItemState = "pending"
	ItemGraded     ItemState = "graded"
	ItemErrored    ItemState = "errored"    // something broke; Class says what
	ItemUngradable ItemState = "ungradable" // retry cannot help; Class says why
	ItemCancelled  ItemState = "cancelled"
	ItemAbandoned  ItemState = "abandoned" // the run was ended early
)

// Item is one sampled session under one judge version and one repeat in one run. Seq is its place
// in dispatch order, from 1, and with the run its stable name.
type Item struct {
	Run       RunID      `json:"run"`
	Seq       int64      `json:"seq"`
	Session   SessionKey `json:"-"`
	Content   ContentKey `json:"-"`
	UserID    string     `json:"user_id"`    // filled by lists, not by Pending
	SessionID string     `json:"session_id"` // likewise
	Stratum   int        `json:"stratum"`    // index into the run's strata
	Judge     int        `json:"judge"`      // index into the run's judges
	Repeat    int        `json:"repeat"`
	State     ItemState  `json:"state"`
	Class     Class      `json:"class,omitempty"`
	Error     string     `json:"error,omitempty"` // the last attempt's, for people
	Pass      *bool      `json:"pass,omitempty"`
	NotBefore *time.Time `json:"not_before,omitempty"` // waits, holding no slot
	Attempts  int        `json:"attempts"`             // attempts opened so far
	Counted   int        `json:"counted"`              // attempts that used up the policy's allowance
	Crashes   int        `json:"crashes,omitempty"`    // times in flight when the process died
	Alone     int        `json:"crashes_alone,omitempty"`
	Origin    *Origin    `json:"origin,omitempty"` // the verdict that it adopted: its own, or a reused one
	Cut       bool       `json:"cut,omitempty"`    // of a graded item: its judge saw the transcript with a part left out
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// Origin points at the stored verdict that an item adopted.
type Origin struct {
	Run RunID `json:"run"`
	Seq int64 `json:"seq"`
}

// Crash thresholds: an item in flight at CrashesAlone crashes runs with nothing else in flight in
// the process; after MaxAloneCrashes more it is the one to blame and ends as judge_error.
const (
	CrashesAlone    = 2
	MaxAloneCrashes = 3
)

// AttemptStatus says what is known of a call.
type AttemptStatus string

const (
	AttemptOpen    AttemptStatus = "open"    // committed before the call; in flight while its epoch lives
	AttemptDone    AttemptStatus = "done"    // the call returned; Class says how
	AttemptUnknown AttemptStatus = "unknown" // the process died during the call
)

// Attempt is one call of a judge for an item.
type Attempt struct {
	Run         RunID         `json:"run"`
	Seq         int64         `json:"seq"`
	N           int           `json:"n"` // from 1 per item
	Epoch       int64         `json:"epoch"`
	Status      AttemptStatus `json:"status"`
	Class       Class         `json:"class,omitempty"` // of an open one only ClassPrompt
	Alone       bool          `json:"alone,omitempty"`
	Late        bool          `json:"late,omitempty"` // written after its driver lost the run; makes no verdict
	OpenedAt    time.Time     `json:"opened_at"`
	CallAt      *time.Time    `json:"call_at,omitempty"`  // when the call left
	EndedAt     *time.Time    `json:"ended_at,omitempty"` // when its answer was there
	Wait        time.Duration `json:"wait"`               // before it was opened: queue and backoff
	HTTPStatus  int           `json:"http_status,omitempty"`
	RetryAfter  time.Duration `json:"retry_after,omitempty"`
	Usage       Usage         `json:"usage"`
	Reserved    *USD          `json:"reserved_usd,omitempty"` // the most that the call can cost, stored before it leaves; nil: no price is known
	Cost        *USD          `json:"cost_usd,omitempty"`     // what it cost; nil is unknown, never 0
	Model       string        `json:"served_model,omitempty"`
	Fingerprint string        `json:"fingerprint,omitempty"`
	Error       string        `json:"error,omitempty"`
	RequestID   string        `json:"request_id,omitempty"` // as the provider named the call
	Seen        Hash          `json:"seen,omitempty"`       // of the transcript as a model is shown it (store.Bodies.Seen), known before the call leaves
	Raw         string        `json:"raw,omitempty"`        // the response as it came, masked and bounded
}

// MayHaveLeft says that a's call left, or that nobody knows that it did not.
func (a *Attempt) MayHaveLeft() bool {
	return a.CallAt != nil || a.Status != AttemptDone && a.Class != ClassPrompt
}

// Unmetered says that a is a call to a model, which may have left, whose tokens nobody knows. Rules and
// programs are shown no transcript (Seen) and use no tokens; nor does what is answered with an error status.
func (a *Attempt) Unmetered() bool {
	return a.MayHaveLeft() && a.Seen != "" && !a.Usage.Known && a.HTTPStatus < 400
}

// Charge is what a budget must count for a: its cost, or where that is not known the most that it can
// be. known is false where not even that is known.
func (a *Attempt) Charge() (charge USD, known bool) {
	switch {
	case !a.MayHaveLeft():
		return 0, true
	case a.Cost != nil:
		return *a.Cost, true
	case a.Reserved != nil:
		return *a.Reserved, true
	}
	return 0, false
}

// Usage counts tokens as the provider reported them; Known is false where it reported none. Many report
// no part of their counts: a part of 0 means none or not reported, and is shown nowhere.
type Usage struct {
	Known      bool  `json:"known"`
	Input      int64 `json:"input"`
	Cached     int64 `json:"cached,omitempty" doc:"part of input: read from the provider's cache; absent: none, or not reported"`
	CacheWrite int64 `json:"cache_write,omitempty" doc:"part of input: written to it; absent: none, or not reported"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning,omitempty" doc:"part of output; absent: none, or not reported"`
}

// PlannedStratum is a stratum of a run: N eligible sessions, n of them sampled.
type PlannedStratum struct {
	Stratum
	Index    int   `json:"index"`
	Eligible int64 `json:"eligible"` // N
	Sampled  int64 `json:"sampled"`  // n
}

// Counts derive from the rows of items and attempts; Total = the sum of the six others.
type Counts struct {
	Total      int64           `json:"total"`
	Pending    int64           `json:"pending"`
	Graded     int64           `json:"graded"`
	Passed     int64           `json:"passed"` // part of Graded: the verdict's pass is true
	Failed     int64           `json:"failed"` // part of Graded: it is false
	Errored    int64           `json:"errored"`
	Ungradable int64           `json:"ungradable"`
	Cancelled  int64           `json:"cancelled"`
	Abandoned  int64           `json:"abandoned"`
	Reused     int64           `json:"reused"`    // part of Graded
	InFlight   int64           `json:"in_flight"` // part of Pending: open attempts of the current epoch
	Waiting    int64           `json:"waiting"`   // part of Pending: not_before lies ahead
	ByClass    map[Class]int64 `json:"by_class,omitempty"`
}
