package store

import (
	"context"
	"time"

	"assay/internal/assay"
)

// Store is one database. It is safe for concurrent use.
type Store interface {
	Projects() Projects
	Sessions() Sessions
	Bodies() Bodies
	Imports() Imports
	Sets() Sets
	Labels() Labels
	Extracts() Extracts
	Judges() Judges
	Runs() Runs
	Plans() Plans
	Items() Items
	Verdicts() Verdicts
	Models() Models
	Spending() Spending
	Suites() Suites
	Harnesses() Harnesses
	Schedules() Schedules
	Owner() Owner
	// Check runs the database's own quick integrity check and the standing checks of docs/MODEL.md
	// (no session with two verdicts for one run, judge version, unit, criterion and repeat; no terminal
	// run that holds a key; counts add up). It returns one sentence per finding.
	Check(ctx context.Context) ([]string, error)
	// Info says which database this is, its version and schema version, for doctor.
	Info(ctx context.Context) (Info, error)
	Close() error
}

// Info describes a database. Where never holds a password.
type Info struct {
	Kind    string `json:"kind"` // sqlite or postgres
	Version string `json:"version"`
	Where   string `json:"where"`
	Schema  int64  `json:"schema"`
	Bytes   int64  `json:"bytes"`
}

// Owner is the right to drive runs: of a data folder by file lock, of a database by advisory lock.
type Owner interface {
	// TryOwn returns nil, nil when another process owns.
	TryOwn(ctx context.Context) (Ownership, error)
}

// Ownership is held until Release or until the database says that it is gone.
type Ownership interface {
	// Lost is closed when the lock can no longer be proven ours (a cut connection on PostgreSQL).
	// A file lock is never lost.
	Lost() <-chan struct{}
	// Grace is how long a new owner waits after taking a run up before its first call: 0 where the last
	// owner is surely dead, 1 s where it may still hold a confirmation that is younger than that.
	Grace() time.Duration
	Release() error
}

// Projects

type Projects interface {
	// Create makes a project; CodeConflict when the name is taken.
	Create(ctx context.Context, name string, s assay.Settings, now time.Time) (assay.Project, error)
	Get(ctx context.Context, name string) (assay.Project, error)
	List(ctx context.Context) ([]assay.Project, error)
	// Update stores settings; rekey marks the project as Rekeying together with them.
	Update(ctx context.Context, id assay.ProjectID, s assay.Settings, rekey bool) (assay.Project, error)
	// Rekeyed clears Rekeying if the settings are still s (else it returns false: another change came).
	Rekeyed(ctx context.Context, id assay.ProjectID, s assay.Settings) (bool, error)
	// Delete removes the project and all that belongs to it, in batches. CodeRefused naming the run
	// while one is active. Then nothing of it is found by its name any more, and leaving, where it is given, is
	// called before the first of its rows goes. What was cut, or failed, the next Delete of any project goes on
	// with, leaving included.
	Delete(ctx context.Context, id assay.ProjectID, leaving func(context.Context, assay.ProjectID) error) error
}
