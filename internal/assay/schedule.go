package assay

import (
	"encoding/json"
	"time"
)

// Schedule starts runs by the clock. The tick that it owes lives in its own row: NextAt is the tick
// that is due next, and it moves on only when that tick has been dealt with.
type Schedule struct {
	ID        int64       `json:"-"`
	ProjectID ProjectID   `json:"-"`
	Project   string      `json:"project"`
	Name      string      `json:"name"`
	Def       ScheduleDef `json:"definition"`
	Source    string      `json:"-"` // the YAML as applied
	Paused    bool        `json:"paused,omitempty"`
	NextAt    *time.Time  `json:"next_at,omitempty"` // nil: never again
	Last      *Tick       `json:"last,omitempty"`
	UpdatedAt time.Time   `json:"updated_at"`
}

// ScheduleDef says when what is started. Exactly one of Suite and Grade is set.
type ScheduleDef struct {
	Description string          `json:"description,omitempty"`
	Cron        string          `json:"cron"` // five fields: minute, hour, day of month, month, day of week
	Zone        string          `json:"zone"` // IANA name
	CatchUp     CatchUp         `json:"catch_up"`
	Overlap     Overlap         `json:"overlap"`
	Suite       *ScheduledSuite `json:"suite,omitempty"`
	Grade       json.RawMessage `json:"grade,omitempty"` // the body of a grade request; what was eligible at the last tick is left out
}

// ScheduledSuite is the suite that a schedule starts, with its parameters.
type ScheduledSuite struct {
	Name   string                     `json:"name"`
	Params map[string]json.RawMessage `json:"params,omitempty"`
}

// CatchUp says what becomes of ticks that nobody was there for.
type CatchUp string

const (
	CatchUpOne  CatchUp = "one"  // one run for all of them
	CatchUpNone CatchUp = "none" // they are skipped
)

// Overlap says what becomes of a tick while the run of an earlier one is active.
type Overlap string

const (
	OverlapSkip  Overlap = "skip"
	OverlapQueue Overlap = "queue" // it is owed until the run has ended; later ticks join it
)

// TickOutcome says what became of a tick.
type TickOutcome string

const (
	TickStarted TickOutcome = "started"
	TickSkipped TickOutcome = "skipped" // an active run held the key
	TickMissed  TickOutcome = "missed"  // nobody was there, and catch_up is none
	TickFailed  TickOutcome = "failed"  // the request was refused
)

// Tick is a tick that was dealt with. Coalesced counts earlier ticks that it stands for.
type Tick struct {
	At        time.Time   `json:"at"` // as the schedule has it
	DoneAt    time.Time   `json:"done_at"`
	Outcome   TickOutcome `json:"outcome"`
	Run       RunID       `json:"run,omitempty"`
	Coalesced int         `json:"coalesced,omitempty"`
	Sentence  string      `json:"sentence,omitempty"`
}
