package engine

import (
	"context"

	"assay/internal/assay"
)

// Driver carries one run on, at one epoch, until the run leaves running or the driver loses it. It
// is all that a dispatcher (engine/local today, many machines later) needs of a kind of run.
//
// Drive is called after the run was taken up at that epoch. It returns nil when it stored a state
// that is not running, assay.ErrLost when the fence was gone (it then wrote nothing more), and
// another error when it could not go on (the store is away): the run stays running and is taken up
// again. When ctx ends Drive makes no new call, gives calls in flight StopGrace to finish, and
// leaves the run queued.
type Driver interface {
	Drive(ctx context.Context, run assay.Run) error
}
