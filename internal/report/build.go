package report

import (
	"context"

	"assay/internal/assay"
	"assay/internal/store"
)

// Build reads what a run and the runs that it retries have found so far.
func Build(ctx context.Context, s store.Store, run assay.Run, o Options) (Report, error) {
	return Report{}, assay.Errorf(assay.CodeInternal, "reports are not built yet")
}
