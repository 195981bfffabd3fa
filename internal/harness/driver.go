package harness

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// Options say what a Driver works with.
type Options struct {
	Store store.Store
	Dir   string // the data folder
	Self  string // the program that is a shim for the arguments "shim DIR"
	// LookupEnv reads the environment of this process, which definitions may pass on or take secrets from.
	LookupEnv    func(string) (string, bool)
	Now          func() time.Time
	Log          *slog.Logger
	Capabilities []string // what this machine has, for suites that need it
	Where        string   // this machine's name
}

// Driver drives runs of kind suite. It implements engine.Driver.
type Driver struct {
	o      Options
	limits limits
}

var _ engine.Driver = (*Driver)(nil)

// New makes a Driver.
func New(o Options) *Driver {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Driver{o: o, limits: defaultLimits()}
}

// RunDir is the folder of a run below the data folder.
func RunDir(data string, id assay.RunID) string { return filepath.Join(data, "runs", id.String()) }

// LogDir is where the run's output is stored, of all its launches.
func LogDir(data string, id assay.RunID) string { return filepath.Join(RunDir(data, id), "log") }

// launchDir is the folder of one launch, from 1.
func launchDir(data string, id assay.RunID, launch int) string {
	return filepath.Join(RunDir(data, id), "a"+strconv.Itoa(launch))
}

// Drive carries a suite run on; see engine.Driver. When ctx ends it leaves the run running and the harness
// alone, and returns ctx's error.
func (d *Driver) Drive(ctx context.Context, taken assay.Run) error {
	j := &job{d: d, run: taken, fence: store.Fence{Run: taken.ID, Epoch: taken.Epoch}}
	err := j.drive(ctx)
	switch {
	case errors.Is(err, assay.ErrLost):
		return assay.ErrLost
	case err != nil && ctx.Err() == nil && j.gone():
		return engine.Gone(err)
	}
	return err
}
