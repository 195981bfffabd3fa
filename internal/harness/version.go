package harness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"assay/internal/assay"
	"assay/internal/harness/shim"
)

// foreign waits for a harness that another version of Assay launched, whose shim says what this one does not
// understand. It is left alone, and is no orphan: whoever starts that version again carries it on. What this one
// can do is end it.
func (j *job) foreign(ctx context.Context, standing shim.Standing, why error) (done bool, err error) {
	if standing == shim.Finished {
		return true, j.lost(ctx, assay.ReasonShimDied, fmt.Sprintf("it has ended, and how cannot be read: %s", why))
	}
	sentence := fmt.Sprintf("%s: it goes on; that version of Assay carries the run on, and a cancel ends it", why)
	if err := j.enter(ctx, assay.PhaseExecuting, sentence); err != nil {
		return false, err
	}
	attending, leave := context.WithCancel(ctx)
	var gone sync.WaitGroup
	gone.Go(func() { _ = shim.Attend(attending, j.dir()) }) // without it the orphan grace ends the harness
	defer gone.Wait()
	defer leave()
	tick := time.NewTicker(controlEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-tick.C:
		}
		if now, err := shim.Look(j.dir()); err != nil || now != standing {
			return false, nil // drive looks again
		}
		if err := j.keep(ctx); err != nil {
			return false, err
		}
		if j.control.Cancel {
			return false, j.kill("a cancel was asked for, and it is not understood")
		}
	}
}
