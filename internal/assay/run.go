package assay

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// RunID numbers runs over the whole database; people write it r17.
type RunID int64

func (id RunID) String() string { return "r" + strconv.FormatInt(int64(id), 10) }

func (id RunID) MarshalText() ([]byte, error) {
	if id == 0 {
		return nil, nil
	}
	return []byte(id.String()), nil
}

func (id *RunID) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*id = 0
		return nil
	}
	*id, err = ParseRunID(string(b))
	return err
}

// ParseRunID reads "r17".
func ParseRunID(s string) (RunID, error) {
	digits, ok := strings.CutPrefix(s, "r")
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 1 {
		return 0, Errorf(CodeInvalid, "run %q is not of the form r17", s).WithHint("`assay runs` lists them")
	}
	return RunID(n), nil
}

// RunKind says what a run does.
type RunKind string

const (
	RunGrade    RunKind = "grade"
	RunSingle   RunKind = "single"
	RunSuite    RunKind = "suite"    // a harness that Assay launches
	RunExternal RunKind = "external" // a harness that reports from elsewhere
)

// RunState is where a run stands; engine.Machine says what may follow what.
type RunState string

const (
	RunQueued    RunState = "queued"
	RunRunning   RunState = "running"
	RunPaused    RunState = "paused"
	RunCompleted RunState = "completed"
	RunFailed    RunState = "failed"
	RunCancelled RunState = "cancelled"
	RunStateLost RunState = "lost"
)

// Terminal states never change.
func (s RunState) Terminal() bool {
	return s == RunCompleted || s == RunFailed || s == RunCancelled || s == RunStateLost
}

// RunPhase says what a running run is at.
type RunPhase string

const (
	PhaseNone      RunPhase = ""
	PhasePlanning  RunPhase = "planning"
	PhaseGrading   RunPhase = "grading"
	PhaseFinishing RunPhase = "finishing"

	PhaseStarting  RunPhase = "starting"  // of a suite: the harness is being launched
	PhaseExecuting RunPhase = "executing" // it runs
	PhaseStopping  RunPhase = "stopping"  // it was told to end
)

// Reason is a stable code that says why a run is not running. Pausing classes are reasons too.
type Reason string

const (
	ReasonNone           Reason = ""
	ReasonAccepted       Reason = "accepted"         // queued: waits for a driver
	ReasonStopped        Reason = "stopped"          // queued again: its process stopped gracefully
	ReasonResumed        Reason = "resumed"          // queued: a person resumed it
	ReasonWoken          Reason = "woken"            // queued: its wake_at came
	ReasonAsked          Reason = "asked"            // paused or cancelled because a person asked
	ReasonDone           Reason = "done"             // completed: every item ended
	ReasonNothing        Reason = "nothing_to_grade" // completed: nothing was sampled
	ReasonEnded          Reason = "ended_early"      // completed, partial: a person asked
	ReasonNothingGraded  Reason = "nothing_graded"   // failed: items were sampled, none has a verdict
	ReasonCrashLoop      Reason = "crash_loop"       // failed: takeovers without progress, MaxStalls or MaxStallsNear
	ReasonDriverFailed   Reason = "driver_failed"    // failed: its driver failed ten times in a row without progress
	ReasonPlanFailed     Reason = "plan_failed"      // failed: the frame could not be planned
	ReasonPlanIncomplete Reason = "plan_incomplete"  // failed: other than the sampled number of items exists
	ReasonJudgeUnusable  Reason = "judge_unusable"   // failed: a judge version cannot be built here
	ReasonRateLimited    Reason = "rate_limited"     // paused: 30 min without one success; has wake_at
	ReasonProviderDown   Reason = "provider_down"    // paused: the provider answers with errors only; has wake_at

	// Of suite and external runs. done is theirs too: the harness ended and its success rule holds.
	ReasonLaunchFailed   Reason = "launch_failed"   // failed: the harness could not be started
	ReasonExitCode       Reason = "exit_code"       // failed: it exited with a code that is no success
	ReasonSignal         Reason = "signal"          // failed: a signal ended it that Assay did not send
	ReasonTimeLimit      Reason = "time_limit"      // failed: it was ended at its time limit
	ReasonCasesFailed    Reason = "cases_failed"    // failed: its cases break the success rule
	ReasonResultsMissing Reason = "results_missing" // failed: the success rule needs results, and none could be read
	ReasonOrphaned       Reason = "orphaned"        // lost: no server came back in time, its shim ended it
	ReasonShimDied       Reason = "shim_died"       // lost: its shim died, what it left was ended
	ReasonSilent         Reason = "silent"          // lost: an external run reported nothing for too long
	ReasonLostRetried    Reason = "lost_retried"    // queued: it was lost and is started again
)

// A run is failed at MaxStalls takeovers without progress, or at MaxStallsNear while the next crash may
// show which item is to blame (one has crashed alone MaxAloneCrashes - 1 times): the first crash may have
// left no trace of it, and several may take turns.
const (
	MaxStalls     = 5
	MaxStallsNear = 2 * MaxStalls
)

// Frame says which sessions a run is about. From and To bound the session's start, [From, To);
// nil leaves that side open. Undated sessions are in when no window is given, or with Undated.
//
// Since leaves out what was eligible at that moment: a session becomes eligible when it has settled and
// has arrived, whichever is later, and one that changed has arrived anew. So of runs that follow each
// other, each since the AsOf of the one before, every session is in exactly one, whenever it began. The
// zero time leaves nothing out.
type Frame struct {
	From     *time.Time `json:"from,omitempty"`
	To       *time.Time `json:"to,omitempty"`
	Filter   string     `json:"filter,omitempty"` // CEL over the session's head
	Set      string     `json:"set,omitempty"`
	Labelled bool       `json:"labelled,omitempty"`
	Undated  bool       `json:"undated,omitempty"`
	Since    *time.Time `json:"since,omitempty"`   // only sessions that were not eligible yet at that moment
	Session  string     `json:"session,omitempty"` // USER/ID, kind single only
}

// GradeSpec is what was asked of a grade run, with every default resolved: a run is planned from
// it, from AsOf and from nothing else.
type GradeSpec struct {
	Frame      Frame         `json:"frame"`
	Judges     []RunJudge    `json:"judges"`
	PerStratum int           `json:"per_stratum"`
	Sizes      []StratumSize `json:"sizes,omitempty" doc:"n of single strata, in place of per_stratum; strata that are not named are not sampled"`
	Seed       string        `json:"seed"`
	Repeats    int           `json:"repeats"`                  // 1 unless the judge's noise is measured
	Force      bool          `json:"force"`                    // no reuse
	Unpriced   bool          `json:"allow_unpriced,omitempty"` // under a budget: calls whose price is not known leave all the same, uncounted
	Settings   Settings      `json:"settings"`
	Schedule   string        `json:"schedule,omitempty"` // that started it, or for which By did
}

// StratumSize is how many sessions of a stratum a run samples, at most all of it.
type StratumSize struct {
	Stratum
	N int64 `json:"n"`
}

// RunJudge is a judge as a run was planned with it.
type RunJudge struct {
	Name     string          `json:"name"`
	Version  Hash            `json:"version"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// Run is one job.
type Run struct {
	ID        RunID      `json:"run"`
	ProjectID ProjectID  `json:"-"`
	Project   string     `json:"project"`
	Kind      RunKind    `json:"kind"`
	State     RunState   `json:"state"`
	Phase     RunPhase   `json:"phase,omitempty"`
	Reason    Reason     `json:"reason,omitempty"`
	Sentence  string     `json:"sentence,omitempty"` // Reason in words for people
	Spec      GradeSpec  `json:"spec,omitzero"`
	Suite     *SuiteSpec `json:"suite,omitempty"` // of suite and external runs, instead of Spec
	By        string     `json:"by,omitempty"`    // who asked
	RetryOf   RunID      `json:"retry_of,omitempty"`

	Epoch       int64 `json:"epoch"`    // times taken up
	Revision    int64 `json:"revision"` // grows with every change of this row
	Concurrency int   `json:"concurrency"`
	Budget      *USD  `json:"budget_usd,omitempty"` // hard: the run pauses before an attempt could cross it
	Stalls      int   `json:"stalls,omitempty"`     // takeovers since the last progress
	Partial     bool  `json:"partial,omitempty"`

	AsOf              time.Time  `json:"as_of"`
	CreatedAt         time.Time  `json:"created_at"`
	StartedAt         *time.Time `json:"started_at,omitempty"`
	EndedAt           *time.Time `json:"ended_at,omitempty"`
	HeartbeatAt       *time.Time `json:"heartbeat_at,omitempty"` // the driver lives
	ProgressAt        *time.Time `json:"progress_at,omitempty"`  // an item ended
	WakeAt            *time.Time `json:"wake_at,omitempty"`      // a paused run resumes by itself
	CancelRequestedAt *time.Time `json:"cancel_requested_at,omitempty"`
	CancelRequestedBy string     `json:"cancel_requested_by,omitempty"`
	CancelNow         bool       `json:"cancel_now,omitempty"`
	PauseRequestedAt  *time.Time `json:"pause_requested_at,omitempty"`
	EndRequestedAt    *time.Time `json:"end_requested_at,omitempty"`

	Sampled int64    `json:"sampled"` // sessions in the sample
	Planned int64    `json:"planned"` // items: sampled x judges x repeats; of a retry, the items that it grades again
	Left    Excluded `json:"excluded"`
}

// Cancelling says whether a cancel was asked for and has not ended yet.
func (r Run) Cancelling() bool { return r.CancelRequestedAt != nil && !r.State.Terminal() }

// Excluded counts the sessions that the frame's window and filter met but that were not eligible.
type Excluded struct {
	Unsettled int64 `json:"unsettled"` // too recent: they may still grow
	Undated   int64 `json:"undated"`   // without any time, outside the given window
	Empty     int64 `json:"empty"`     // nothing to grade
	Late      int64 `json:"late"`      // arrived or changed after the run was accepted
}

// RunControl is what a driver must know of its run before it starts a call. Store reads it under the fence.
type RunControl struct {
	Cancel      bool
	Now         bool // cancel --now
	Pause       bool
	End         bool
	Concurrency int
	Budget      *USD
	Revision    int64
}

// KeyGrade and the like are the keys of which one active run may hold each.
func KeyGrade(judge string) string { return "grade:" + judge }
func KeySingle(version Hash, content Hash) string {
	return fmt.Sprintf("single:%s:%s", version, content)
}

// KeyGradeAny is the key of every grade run in a project that allows one at all.
const KeyGradeAny = "grade"
