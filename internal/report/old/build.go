package old

import (
	"context"

	"assay/internal/assay"
	"assay/internal/store"
)

// facts are the rows that a report is made of.
type facts struct {
	chain    []assay.Run // newest first
	strata   []assay.PlannedStratum
	versions []assay.JudgeVersion
	tally    []store.Tally           // of all items, for counts
	estimate []store.Tally           // of the items that estimates cover
	findings []store.FindingTally    // likewise
	noise    map[noiseKey]*noiseCell // likewise, of a run that grades sessions more than once
	covers   Covers
	live     assay.Counts // of the newest run
	spend    []assay.Spend
}

// Build reads what a run and the runs that it retries have found so far. It never writes.
func Build(ctx context.Context, s store.Store, run assay.Run) (Report, error) {
	f, err := load(ctx, s, run)
	if err != nil {
		return Report{}, err
	}
	return compose(f), nil
}

func load(ctx context.Context, s store.Store, run assay.Run) (f facts, err error) {
	if f.chain, err = chainOf(ctx, s, run); err != nil {
		return f, err
	}
	root := f.chain[len(f.chain)-1]
	if f.strata, err = s.Plans().Strata(ctx, root.ID); err != nil {
		return f, err
	}
	for _, j := range run.Spec.Judges {
		v, err := s.Judges().Version(ctx, run.ProjectID, j.Version)
		if err != nil {
			return f, err
		}
		f.versions = append(f.versions, v)
	}
	for _, r := range f.chain {
		spend, err := s.Items().Spend(ctx, r.ID)
		if err != nil {
			return f, err
		}
		f.spend = append(f.spend, spend)
	}
	// Only InFlight is used, which no clock changes.
	if f.live, err = s.Items().Counts(ctx, run.ID, run.AsOf); err != nil {
		return f, err
	}
	return f, f.loadTallies(ctx, s)
}

// loadTallies reads the prefix first: an item that ended stays ended, so all of its items are still
// ended when they are counted.
func (f *facts) loadTallies(ctx context.Context, s store.Store) error {
	ids := make([]assay.RunID, len(f.chain))
	for i := range f.chain {
		ids[i] = f.chain[i].ID
	}
	head := f.chain[0]
	var err error
	estimated, through := ids, int64(0)
	switch {
	case head.State.Terminal():
		f.covers = Covers{Complete: true, Of: f.chain[len(ids)-1].Planned}
	case len(ids) > 1:
		estimated = ids[1:]
		f.covers = Covers{Of: f.chain[len(ids)-1].Planned}
		f.covers.Through = f.covers.Of
	default:
		if through, err = prefix(ctx, s, head); err != nil {
			return err
		}
		f.covers = Covers{Through: through, Of: head.Planned}
	}
	if f.tally, err = s.Verdicts().Tally(ctx, ids, 0); err != nil {
		return err
	}
	if head.State.Terminal() {
		f.estimate = f.tally
	} else if f.covers.Through == 0 {
		return nil
	} else if f.estimate, err = s.Verdicts().Tally(ctx, estimated, through); err != nil {
		return err
	}
	if f.findings, err = s.Verdicts().TallyFindings(ctx, estimated, through); err != nil || head.Spec.Repeats < 2 {
		return err
	}
	r := newRepeats(f.versions)
	f.noise = r.cells
	return s.Verdicts().Regraded(ctx, estimated, through, r.add)
}

// prefix is the largest seq such that every item up to it has ended; 0 while there is none.
func prefix(ctx context.Context, s store.Store, run assay.Run) (int64, error) {
	if run.Phase == assay.PhasePlanning || run.Planned == 0 {
		return 0, nil
	}
	pending, err := s.Items().Pending(ctx, run.ID, 0, 1)
	if err != nil {
		return 0, err
	}
	if len(pending) == 0 {
		return run.Planned, nil
	}
	return pending[0].Seq - 1, nil
}

func chainOf(ctx context.Context, s store.Store, run assay.Run) ([]assay.Run, error) {
	chain := []assay.Run{run}
	for run.RetryOf != 0 {
		of, err := s.Runs().Get(ctx, run.RetryOf)
		if err != nil {
			return nil, err
		}
		chain = append(chain, of)
		run = of
	}
	return chain, nil
}
