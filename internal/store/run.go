package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"assay/internal/assay"
)

// Fence is a driver's claim on a run: its writes happen only while the run row still has this
// epoch and one of these states. Every fenced method begins its transaction by locking the run row
// (PostgreSQL: SELECT ... FOR SHARE; SQLite: BEGIN IMMEDIATE) and returns assay.ErrLost, having
// written nothing, when the claim no longer holds. A plain conditional UPDATE is not enough on
// PostgreSQL: it lets an old write commit after a takeover.
type Fence struct {
	Run    assay.RunID
	Epoch  int64
	States []assay.RunState // nil means running
}

// NewRun is a run to be accepted.
type NewRun struct {
	Project     assay.ProjectID
	Kind        assay.RunKind
	Spec        assay.GradeSpec
	Suite       *assay.SuiteSpec // of suite and external runs
	Reporting   bool             // an external run: it runs at epoch 1 from the start, and no driver takes it up
	Concurrency int
	Budget      *assay.USD // hard, in dollars; nil: none
	By          string
	RetryOf     assay.RunID
	AsOf        time.Time // microseconds
	Now         time.Time
	Keys        []string
	Idempotency *Idempotency
	Sentence    string
}

// Idempotency makes a repeated request give the first answer again. It is scoped to the project.
type Idempotency struct {
	Route    string
	Key      string
	BodyHash assay.Hash
}

// Change is a conditional change of a run's state. The zero value of a field leaves its column,
// except Reason and Sentence, which are always written: a state is stored with its reason.
type Change struct {
	From     []assay.RunState // refused with CodeRefused unless the present state is one of these
	Epoch    *int64           // ErrLost unless, where given, the epoch is this
	To       assay.RunState
	Phase    assay.RunPhase
	Reason   assay.Reason
	Sentence string
	Partial  bool
	WakeAt   *time.Time // stored unless a person asked for a pause; nil clears
	// Heartbeat, where given, refuses the change of a run whose heartbeat is another by now.
	Heartbeat *time.Time
	// IfAsked refuses a pause that was taken back meanwhile.
	IfAsked bool
	// ClearPause drops a pause request: set by resume.
	ClearPause bool
	// ClearWaits lets items that wait for a time go at once: set when a person resumes.
	ClearWaits bool
	Now        time.Time
}

// Allows says whether c may be made of run: the one rule of both databases. ErrLost when the epoch is
// another, CodeRefused otherwise.
func (c Change) Allows(run assay.Run) error {
	switch {
	case c.Epoch != nil && *c.Epoch != run.Epoch:
		return assay.ErrLost
	case run.State.Terminal():
		return Refuse(run, "it has ended and never changes again")
	case !slices.Contains(c.From, run.State):
		return Refuse(run, "it cannot become "+string(c.To)+" from there")
	case c.Heartbeat != nil && (run.HeartbeatAt == nil || !run.HeartbeatAt.Equal(*c.Heartbeat)):
		return Refuse(run, "it reported meanwhile")
	case c.IfAsked && run.PauseRequestedAt == nil:
		return Refuse(run, "the pause that was asked for was taken back")
	case run.CancelRequestedAt != nil && (c.To == assay.RunPaused || (c.To.Terminal() && c.To != assay.RunCancelled)):
		return Refuse(run, "a cancel was asked for, so it cannot become "+string(c.To))
	}
	return nil
}

// Wakes is when run wakes after c: not by itself where a person asked for a pause meanwhile.
func (c Change) Wakes(run assay.Run) *time.Time {
	if c.To == assay.RunPaused && run.PauseRequestedAt != nil {
		return nil
	}
	return c.WakeAt
}

// Says is what c says of run: of a cancel also who asked for it.
func (c Change) Says(run assay.Run) string {
	if rest, ok := strings.CutPrefix(c.Sentence, "cancelled"); ok && c.To == assay.RunCancelled && run.CancelRequestedBy != "" {
		return "cancelled by " + run.CancelRequestedBy + rest
	}
	return c.Sentence
}

// Refuse is the error of a run whose state does not allow something.
func Refuse(run assay.Run, why string) error {
	return assay.Errorf(assay.CodeRefused, "run %s is %s: %s", run.ID, run.State, why).
		WithHint("`assay runs show %s` tells more", run.ID).
		With("run", run.ID.String()).With("state", string(run.State))
}

// Held is the error of a run that cannot be made while another, of the project of that name, holds a key of it.
func Held(holder assay.RunID, state assay.RunState, project, key string) error {
	return assay.Errorf(assay.CodeConflict, "run %s of project %s is %s and holds the key %s", holder, project, state, key).
		WithHint("wait for it or end it: `assay cancel %s`", holder).
		With("run", holder.String()).With("state", string(state)).With("key", key)
}

// OtherRequest is the error of a request with the idempotency key of one with another body, which made a run.
func OtherRequest(i Idempotency, made assay.RunID) error {
	return assay.Errorf(assay.CodeIdempotency, "the idempotency key %q was used for another request, which made run %s", i.Key, made).
		WithHint("send a new key with a new request").With("run", made.String())
}

// Ask is something a person wants of a run. Asks are stored in the row at once and carried out by
// whoever drives.
type Ask int

const (
	AskCancel    Ask = iota // sets cancel_requested_at once
	AskCancelNow            // likewise, and cancel_now
	AskPause                // a run that paused by itself and would wake stays paused
	AskEnd
)

// Runs are the rows of runs, their keys and their idempotency records.
type Runs interface {
	// Create accepts a run as queued, or one that is Reporting as running: row, keys and idempotency record
	// together, and of a run with a SuiteSpec its row of facts and its judge 0, the suite. An idempotency key
	// seen with the same body returns that run with replayed = true; with another body it is
	// CodeIdempotency. A held key is CodeConflict with Details run, state and key.
	Create(ctx context.Context, n NewRun) (run assay.Run, replayed bool, err error)
	// Replay finds the run that an idempotency key made, for callers that would refuse a repeat before
	// Create could answer it: what a request names may have changed meanwhile. Another body is
	// CodeIdempotency. Create looks again, and its look holds under races.
	Replay(ctx context.Context, project assay.ProjectID, idem Idempotency) (run assay.Run, found bool, err error)
	Get(ctx context.Context, id assay.RunID) (assay.Run, error)
	// List pages from the newest. Zero fields of q select all. Of a suite's run only the head of its spec
	// comes: a page holds no definition and no command line.
	List(ctx context.Context, q RunQuery, p Page) (runs []assay.Run, next string, err error)
	// Ask stores a request; of a cancel also by whom, where it is the first. On a terminal run it changes
	// nothing and returns the run as it is.
	Ask(ctx context.Context, id assay.RunID, ask Ask, by string, now time.Time) (assay.Run, error)
	// SetConcurrency changes the limit of a run that is not terminal.
	SetConcurrency(ctx context.Context, id assay.RunID, n int) (assay.Run, error)
	// SetBudget changes the budget of a run that is not terminal; nil removes it.
	SetBudget(ctx context.Context, id assay.RunID, budget *assay.USD) (assay.Run, error)
	// Change moves a run to another state if c allows it; into a terminal state it also sets EndedAt
	// and removes the run's keys. A terminal run is never changed, whatever c.From says. While a cancel
	// request stands the run moves to no other terminal state than cancelled and not to paused
	// (CodeRefused): cancel beats pause, budget and completion. To may equal the present state: that
	// changes the phase and the reason.
	Change(ctx context.Context, id assay.RunID, c Change) (assay.Run, error)
	// TakeUp makes a queued or running run running at epoch+1, if its epoch is still that given.
	// Attempts that are still open become unknown. dead says that their driver died: their items' Crashes
	// (or Alone, when the attempt ran alone) grow by one, and Stalls grows by one. All together.
	// ErrLost when the epoch is another, CodeRefused in any other state and of external runs. A run without a
	// phase enters planning, or starting when it is a suite; reason, sentence and wake-up time are cleared.
	// Resumes clear nothing else: the plan and the items are as they were.
	TakeUp(ctx context.Context, id assay.RunID, epoch int64, dead bool, now time.Time) (assay.Run, error)
	// Waiting lists what an owner must look at: queued runs, running runs, paused runs whose WakeAt
	// has come, and paused or queued runs with a cancel or end request. Oldest first.
	Waiting(ctx context.Context, now time.Time) ([]assay.Run, error)
	// Beat stores the heartbeat under the fence and returns what the driver must know.
	Beat(ctx context.Context, f Fence, now time.Time) (assay.RunControl, error)
	// Control reads what the driver must know, without writing; ErrLost when the claim is gone.
	Control(ctx context.Context, f Fence) (assay.RunControl, error)
}

// RunQuery selects runs.
type RunQuery struct {
	Project assay.ProjectID
	Kind    assay.RunKind
	States  []assay.RunState
	Suite   string // runs of kind suite or external of that name
	// Schedule is the one that started a run, or for which a person did; names are a project's.
	Schedule string
}

// Plans are the frozen frame of a run: strata and items.
type Plans interface {
	// Reset deletes a run's strata and items in batches: a takeover in planning begins again.
	Reset(ctx context.Context, f Fence) error
	PutStrata(ctx context.Context, f Fence, strata []assay.PlannedStratum, sampled int64, left assay.Excluded) error
	// PutItems adds a batch of items in dispatch order. Items with an Origin arrive graded (reused),
	// with their Pass.
	PutItems(ctx context.Context, f Fence, items []assay.Item, now time.Time) error
	// Finish moves the run to the phase grading and stores Planned, if exactly want items exist, else
	// CodeRefused.
	Finish(ctx context.Context, f Fence, want int64, now time.Time) error
	Strata(ctx context.Context, run assay.RunID) ([]assay.PlannedStratum, error)
	// Reusable finds, among contents, the newest graded item of the same project, judge version and
	// repeat that holds its own verdict, graded at or after since. Called with up to 1,000 contents.
	Reusable(ctx context.Context, project assay.ProjectID, version assay.Hash, repeat int, contents []assay.ContentKey, since time.Time) (map[assay.ContentKey]Reuse, error)
	// Retryable calls f for every item of the run chain's newest state that ended errored, cancelled
	// or abandoned, in seq order.
	Retryable(ctx context.Context, run assay.RunID, f func(assay.Item) error) error
}

// Reuse is a verdict that another item may adopt.
type Reuse struct {
	assay.Origin
	Pass *bool
	Cut  bool
}

// Outcome is how one attempt ended and what becomes of its item.
type Outcome struct {
	Attempt assay.Attempt // closed: Status done, with class, usage, raw
	State   assay.ItemState
	Class   assay.Class
	Error   string
	Pass    *bool
	Cut     bool           // with State graded: the judge saw the transcript with a part left out
	Seen    *Seen          // the transcript that Attempt.Seen names, stored unless it is there already
	Answers []assay.Answer // one per unit: with State graded the last ones, with State pending some of them, which count once the item is graded
	// Counted says that the attempt used up one of the item's allowance; NotBefore that it waits.
	Counted   bool
	NotBefore *time.Time
}

// Seen is a transcript as a judge was shown it, found again by its hash.
type Seen struct {
	Hash assay.Hash
	Text []byte // zstd
}

// Batch is one group commit of a driver.
type Batch struct {
	Done []Outcome
	// End ends items without an attempt: cancelled, abandoned, quarantined, session_missing.
	End  []EndItem
	Open []assay.Attempt // Status open; committed before the call leaves
	Now  time.Time
}

type EndItem struct {
	Seq   int64
	State assay.ItemState
	Class assay.Class
	Error string
}

// Items are what a run grades. Done and End change only items that are pending; an item that is
// not any more keeps its state, and its attempt is stored all the same.
type Items interface {
	// Commit writes the batch under the fence in one transaction: closes attempts, ends items, stores
	// verdicts, opens attempts (and sets the phase's heartbeat and progress), and returns what the driver
	// must know. When any item ends, Stalls becomes 0. ErrLost: nothing was written. It is safe to repeat
	// after an error whose transaction may have been committed: attempts and verdicts that are there
	// already are left, and opening an attempt again at the same epoch changes nothing.
	Commit(ctx context.Context, f Fence, b Batch) (assay.RunControl, error)
	// Late stores attempts of a driver that lost its run, unfenced, marked late. It changes no item.
	// An attempt that is stored as done already is left; one marked unknown gets its facts.
	Late(ctx context.Context, attempts []assay.Attempt) error
	// Pending returns up to limit pending items with Seq > after, in seq order.
	Pending(ctx context.Context, run assay.RunID, after int64, limit int) ([]assay.Item, error)
	// EndRest ends up to limit pending items that have no open attempt of this epoch and returns how
	// many it ended; callers repeat until 0.
	EndRest(ctx context.Context, f Fence, to assay.ItemState, limit int, now time.Time) (int64, error)
	Counts(ctx context.Context, run assay.RunID, now time.Time) (assay.Counts, error)
	Spend(ctx context.Context, run assay.RunID) (assay.Spend, error)
	// Answers are those about units that the attempts of a pending item have brought so far, in the order
	// in which they came.
	Answers(ctx context.Context, run assay.RunID, seq int64) ([]assay.Answer, error)
	// List pages in seq order. Zero fields of q select all.
	List(ctx context.Context, run assay.RunID, q ItemQuery, p Page) (items []assay.Item, next string, err error)
	// Attempts lists an item's attempts, first to last, with raw answers.
	Attempts(ctx context.Context, run assay.RunID, seq int64) ([]assay.Attempt, error)
}

// ItemQuery selects items.
type ItemQuery struct {
	State   assay.ItemState
	Class   assay.Class // of items that ended; what a waiting one waits for is its last attempt's
	Waiting bool        // only pending items that wait for a time
}

// Verdicts are append-only.
type Verdicts interface {
	// List pages through verdicts of a run (as its items adopted them, reused ones included) or of a
	// session (every run, newest first). A page ends with the one with which it holds PageBytes.
	List(ctx context.Context, q VerdictQuery, p Page) (verdicts []assay.Verdict, next string, err error)
	// Tally counts the newest item of each (content, judge, repeat) over a chain of runs by stratum,
	// judge, repeat, state, class, pass, reused and cut. The chain is given newest first. With through > 0
	// only items with Seq <= through count; callers then give a chain of one run.
	Tally(ctx context.Context, chain []assay.RunID, through int64) ([]Tally, error)
	// TallyFindings counts the adopted findings of those of the same items whose repeat is 0 by stratum,
	// judge, criterion, applies, abstained and value; through as in Tally.
	TallyFindings(ctx context.Context, chain []assay.RunID, through int64) ([]FindingTally, error)
	// Regraded calls f for each content and judge of which one of the same items or more is graded, with
	// everything that they answered about the session; through as in Tally. One is in memory at a time, and
	// valid during the call.
	Regraded(ctx context.Context, chain []assay.RunID, through int64, f func(*Regraded) error) error
}

// VerdictQuery selects verdicts: of a run, or of a session.
type VerdictQuery struct {
	Run     assay.RunID
	Session assay.SessionKey
	Judge   int // with Run: index + 1 of a judge; 0 is all
}

// Tally is a count of items.
type Tally struct {
	Stratum int
	Judge   int
	Repeat  int
	State   assay.ItemState
	Class   assay.Class
	Pass    *bool
	Reused  bool
	Cut     bool
	N       int64
}

// FindingTally is a count of first findings, one a session. Value is JSON, "" where there is none.
type FindingTally struct {
	Stratum   int
	Judge     int
	Criterion string
	Applies   bool
	Abstained bool
	Value     string
	N         int64
}
