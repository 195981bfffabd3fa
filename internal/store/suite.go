package store

import (
	"context"
	"time"

	"assay/internal/assay"
)

// Suites are the definitions of harnesses, by name.
type Suites interface {
	// Apply stores suites under their names, all or none, and says which of them changed: those whose stored
	// definition and source were not the same already. A changed definition touches no run: each keeps its own.
	Apply(ctx context.Context, project assay.ProjectID, suites []assay.Suite, now time.Time) (changed []bool, err error)
	// Delete takes the definition away. Runs keep theirs, and History what the name has meant.
	Delete(ctx context.Context, project assay.ProjectID, name string) error
	Get(ctx context.Context, project assay.ProjectID, name string) (assay.Suite, error)
	// List is in the order of names.
	List(ctx context.Context, project assay.ProjectID) ([]assay.Suite, error)
	// History is what a name has meant, newest first: every version that became its present one.
	History(ctx context.Context, project assay.ProjectID, name string) ([]SuiteChange, error)
	// Newest is the newest run of each suite of the project that ever ran, of kind suite or external, with the
	// head of its spec.
	Newest(ctx context.Context, project assay.ProjectID) (map[string]assay.Run, error)
}

// NoSuite is the error of a name that is none of those of the project's suites.
func NoSuite(name string, known []string) error {
	return assay.Errorf(assay.CodeNotFound, "there is no suite %s%s", name, assay.Nearest(name, known)).WithHint("`assay suite list` shows them")
}

// NoSchedule is the error of a name that is none of those of the project's schedules.
func NoSchedule(name string, known []string) error {
	return assay.Errorf(assay.CodeNotFound, "there is no schedule %s%s", name, assay.Nearest(name, known)).WithHint("`assay schedule list` shows them")
}

// SuiteChange is the version that a name began to mean, with the definition as it was then.
type SuiteChange struct {
	Version   assay.Hash
	Def       assay.SuiteDefinition
	AppliedAt time.Time
}

// Harnesses are what suite and external runs have beside their row: facts, cases, points. Runs.Create
// makes the row of facts of a run that has a SuiteSpec.
type Harnesses interface {
	Facts(ctx context.Context, run assay.RunID) (assay.Harness, error)
	// FactsOf reads the heads of those of many runs, for lists.
	FactsOf(ctx context.Context, runs []assay.RunID) (map[assay.RunID]assay.Harness, error)
	// Put stores facts under the fence with the heartbeat, and with progress_at where it advanced, and
	// returns what the driver must know.
	Put(ctx context.Context, f Fence, facts assay.Harness, advanced bool, now time.Time) (assay.RunControl, error)
	// Report changes the facts of an external run while its row is locked, with its heartbeat and, where
	// change says so, progress_at. On a run that has ended change gets the facts as they are and ended =
	// true, and what it changes is stored: a late report is recorded and resurrects nothing. change may be
	// called again, with fresh facts, and uses no store; when it fails nothing is stored. CodeRefused for a run
	// of another kind.
	Report(ctx context.Context, run assay.RunID, now time.Time, change func(facts *assay.Harness, ended bool) (advanced bool, err error)) (assay.Run, error)
	// ResetCases deletes the run's cases with their items and verdicts: results are read again from the start.
	ResetCases(ctx context.Context, f Fence) error
	// PutCases adds cases with seq from 1 upwards as ended items with their findings as verdicts, and adds
	// them to Planned. Judge 0 of the run is the suite. A case whose seq is there already is left, so that
	// cases may be sent twice; one whose key and repeat another case has gets the next repeat; a criterion that
	// a case answers twice gets a number. Many cases take several transactions, none of them long.
	PutCases(ctx context.Context, f Fence, cases []assay.Case, now time.Time) error
	// Cases page in seq order. Zero fields of q select all. A page holds at most PageBytes of what they say,
	// but one case at least. What Pass says of a case that is not graded is kept, and is no verdict.
	Cases(ctx context.Context, run assay.RunID, q CaseQuery, p Page) (cases []assay.Case, next string, err error)
	// AddPoints stores points of metrics, numbered by their place in the launch's events: one that is
	// there already is left. Unfenced: they are facts. CodeNotFound when there is no such run.
	AddPoints(ctx context.Context, run assay.RunID, points []Point) error
	// Points of one metric in the order of their numbers, at most limit, the newest ones.
	Points(ctx context.Context, run assay.RunID, name string, limit int) ([]Point, error)
}

// CaseQuery selects cases.
type CaseQuery struct {
	State assay.ItemState
	Class assay.Class // why it has no verdict
	Pass  *bool       // of graded ones
	Heads bool        // as lists show them, see HeadOfCase
}

// Point is one reported value of a metric.
type Point struct {
	N int64 // grows over all metrics of the run
	assay.Metric
}

// Schedules are the clocks that start runs.
type Schedules interface {
	// Apply stores schedules under their names with their next ticks, all or none, and says which of them
	// changed: where definition and source were the same already nothing does. What one owed by an older
	// definition is dropped.
	Apply(ctx context.Context, project assay.ProjectID, schedules []assay.Schedule, now time.Time) (changed []bool, err error)
	Get(ctx context.Context, project assay.ProjectID, name string) (assay.Schedule, error)
	// List is in the order of names.
	List(ctx context.Context, project assay.ProjectID) ([]assay.Schedule, error)
	// Pause stores whether it is paused, and the tick that is next.
	Pause(ctx context.Context, project assay.ProjectID, name string, paused bool, next *time.Time) (assay.Schedule, error)
	Delete(ctx context.Context, project assay.ProjectID, name string) error
	// Due lists those of every project that are not paused and whose next tick has come, oldest first.
	Due(ctx context.Context, now time.Time) ([]assay.Schedule, error)
	// Ticked stores how a tick ended and the next one, if the tick owed is still owed; false: another was
	// first, or the schedule was paused or changed meanwhile. A run that was started is its last then all the
	// same, unless a later tick or this run is stored already.
	Ticked(ctx context.Context, id int64, owed time.Time, last assay.Tick, next *time.Time) (bool, error)
}
