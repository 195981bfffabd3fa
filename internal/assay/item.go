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
	Class       Class         `json:"class,omitempty"`
	Alone       bool          `json:"alone,omitempty"`
	Late        bool          `json:"late,omitempty"` // written after its driver lost the run; makes no verdict
	OpenedAt    time.Time     `json:"opened_at"`
	CallAt      *time.Time    `json:"call_at,omitempty"`  // when the call left
	EndedAt     *time.Time    `json:"ended_at,omitempty"` // when its answer was there
	Wait        time.Duration `json:"wait"`               // before it was opened: queue and backoff
	HTTPStatus  int           `json:"http_status,omitempty"`
	RetryAfter  time.Duration `json:"retry_after,omitempty"`
	Usage       Usage         `json:"usage"`
	CostMicros  *int64        `json:"cost_micros,omitempty"` // millionths of a US dollar; nil is unknown, never 0
	Model       string        `json:"served_model,omitempty"`
	Fingerprint string        `json:"fingerprint,omitempty"`
	Error       string        `json:"error,omitempty"`
	Raw         string        `json:"raw,omitempty"` // the answer as it came, bounded
}

// Usage counts tokens as the provider reported them; Known is false where it reported none.
type Usage struct {
	Known     bool  `json:"known"`
	Input     int64 `json:"input"`
	Cached    int64 `json:"cached"` // part of Input
	Output    int64 `json:"output"`
	Reasoning int64 `json:"reasoning"` // part of Output
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
	Errored    int64           `json:"errored"`
	Ungradable int64           `json:"ungradable"`
	Cancelled  int64           `json:"cancelled"`
	Abandoned  int64           `json:"abandoned"`
	Reused     int64           `json:"reused"`    // part of Graded
	InFlight   int64           `json:"in_flight"` // part of Pending: open attempts of the current epoch
	Waiting    int64           `json:"waiting"`   // part of Pending: not_before lies ahead
	ByClass    map[Class]int64 `json:"by_class,omitempty"`
}

// Spend sums the attempts whose call left or may have left, across crashes and late ones too. One that
// was closed without a call (no CallAt) cost nothing and is not counted.
type Spend struct {
	Attempts     int64 `json:"attempts"`
	Unknown      int64 `json:"unknown"` // attempts that a crash cut
	Late         int64 `json:"late"`
	Usage        Usage `json:"usage"`
	CostMicros   int64 `json:"cost_micros"`
	UnknownCosts int64 `json:"unknown_costs"` // attempts without a price, open ones too; their cost is missing from CostMicros
}
