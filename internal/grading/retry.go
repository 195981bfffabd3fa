package grading

import (
	"context"
	"slices"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// Retry plans a run over what an ended run left without a verdict. It keeps the old run's judges,
// settings, seed and contents.
func (g *Grader) Retry(ctx context.Context, of assay.Run, by string, now time.Time) (store.NewRun, error) {
	left := 0
	err := g.o.Store.Plans().Retryable(ctx, of.ID, func(assay.Item) error { left++; return nil })
	if err != nil {
		return store.NewRun{}, err
	}
	if left == 0 {
		return store.NewRun{}, assay.Errorf(assay.CodeRefused, "run %s left nothing to retry: no item is errored, cancelled or abandoned", of.ID).
			WithHint("`assay grade --force` grades again what has a verdict")
	}
	budget, err := g.leftOf(ctx, of)
	if err != nil {
		return store.NewRun{}, err
	}
	return store.NewRun{
		Project: of.ProjectID, Kind: assay.RunGrade, Spec: of.Spec, Concurrency: of.Concurrency, Budget: budget, By: by, RetryOf: of.ID,
		AsOf: of.AsOf, Now: now, Keys: gradeKeys(of.Spec), Sentence: "accepted: waits for a driver",
	}, nil
}

// leftOf is what an ended run left of its budget: what was promised for a grading holds for all its
// retries together.
func (g *Grader) leftOf(ctx context.Context, of assay.Run) (*assay.USD, error) {
	if of.Budget == nil {
		return nil, nil
	}
	family, err := g.retriesOf(ctx, of)
	if err != nil {
		return nil, err
	}
	var spent assay.Spend
	for _, id := range append(family, of.ID) {
		spend, err := g.o.Store.Items().Spend(ctx, id)
		if err != nil {
			return nil, err
		}
		spent = spent.Add(spend)
	}
	return spent.Left(of.Budget), nil
}

// retriesOf are the runs that retry a run, or retry one of those. All came after it.
func (g *Grader) retriesOf(ctx context.Context, of assay.Run) (family []assay.RunID, err error) {
	var retries []assay.Run // from the newest
	for cursor, more := "", true; more; more = cursor != "" {
		var runs []assay.Run
		q := store.RunQuery{Project: of.ProjectID, Kind: assay.RunGrade}
		if runs, cursor, err = g.o.Store.Runs().List(ctx, q, store.Page{Cursor: cursor, Limit: 1000}); err != nil {
			return nil, err
		}
		for _, r := range runs {
			switch {
			case r.ID <= of.ID:
				cursor = ""
			case r.RetryOf >= of.ID:
				retries = append(retries, r)
			}
		}
	}
	for _, r := range slices.Backward(retries) {
		if r.RetryOf == of.ID || slices.Contains(family, r.RetryOf) {
			family = append(family, r.ID)
		}
	}
	return family, nil
}
