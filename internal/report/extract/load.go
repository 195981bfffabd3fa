package extract

import (
	"context"

	"assay/internal/assay"
)

// ChainOf finds the runs of a chain, its strata, and how far a run under way has come. A retry that has not ended
// contributes nothing yet: the chain is then complete without it. (Covers.Complete is false, Covers.Through = Of.)
func ChainOf(ctx context.Context, s Source, run assay.Run) (Chain, error) {
	return Chain{}, errUnbuilt
}

// Load reads a judge's extract, by its index into the run's judges, and keeps it where the chain has ended.
func Load(ctx context.Context, s Source, c Chain, judge int) (*Extract, error) {
	return nil, errUnbuilt
}

var errUnbuilt = assay.Errorf(assay.CodeInternal, "extracts are not built yet")
