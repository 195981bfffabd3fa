package extract

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// ChainOf finds the runs of a chain, its strata, and how far a run under way has come. A retry that has not ended
// contributes nothing yet: Covers.Complete is false then and Covers.Through = Of.
func ChainOf(ctx context.Context, s Source, run assay.Run) (Chain, error) {
	c := Chain{Runs: []assay.Run{run}}
	for of := run.RetryOf; of != 0; {
		r, err := s.Runs().Get(ctx, of)
		if err != nil {
			return c, err
		}
		c.Runs = append(c.Runs, r)
		of = r.RetryOf
	}
	var err error
	if c.Strata, err = s.Plans().Strata(ctx, c.Root().ID); err != nil {
		return c, err
	}
	c.Covers.Of = c.Root().Planned
	switch {
	case run.State.Terminal():
		c.Covers.Complete = true
	case len(c.Runs) > 1:
		c.Covers.Through = c.Covers.Of
	default:
		c.Covers.Through, err = prefix(ctx, s, run)
	}
	return c, err
}

// prefix is the largest seq such that every item up to it has ended; 0 while there is none. An item that ended
// stays ended, so whatever is read of these items later is final.
func prefix(ctx context.Context, s Source, run assay.Run) (int64, error) {
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

// Estimated are the runs that numbers are about, newest first: without a retry that has not ended.
func (c Chain) Estimated() []assay.RunID {
	runs := c.Runs
	if len(runs) > 1 && !c.Covers.Complete {
		runs = runs[1:]
	}
	ids := make([]assay.RunID, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	return ids
}

// Prefix is the last seq that numbers are about, 0 for all.
func (c Chain) Prefix() int64 {
	if c.Covers.Complete || len(c.Runs) > 1 {
		return 0
	}
	return c.Covers.Through
}

// Nothing says that a run under way has no completed prefix yet.
func (c Chain) Nothing() bool { return !c.Covers.Complete && c.Covers.Through == 0 }

// Load reads a judge's extract, by its index into the run's judges, and keeps it where what it is made of has ended.
func Load(ctx context.Context, s Source, c Chain, judge int) (*Extract, error) {
	head := c.Head()
	if judge < 0 || judge >= len(head.Spec.Judges) {
		return nil, assay.Errorf(assay.CodeInvalid, "run %s has no judge number %d", head.ID, judge+1).WithHint("it has %d", len(head.Spec.Judges))
	}
	e := &Extract{Judge: head.Spec.Judges[judge]}
	var err error
	if e.Version, err = s.Judges().Version(ctx, head.ProjectID, e.Judge.Version); err != nil {
		return nil, err
	}
	if c.Nothing() {
		return newAssembly(e).extract, nil
	}
	ids := c.Estimated()
	ended := c.Prefix() == 0
	if ended {
		if kept, found, err := s.Extracts().Get(ctx, ids[0], judge, Format); err != nil {
			return nil, err
		} else if found && decode(kept, e) == nil {
			return e, nil
		}
	}
	if err := read(ctx, s, e, head.ProjectID, ids, judge, c.Prefix()); err != nil {
		return nil, err
	}
	if !ended {
		return e, nil
	}
	kept, err := encode(e)
	if err != nil {
		return nil, err
	}
	return e, s.Extracts().Keep(ctx, ids[0], judge, Format, kept, time.Now().UTC())
}

// read makes an extract of rows.
func read(ctx context.Context, s Source, e *Extract, project assay.ProjectID, ids []assay.RunID, judge int, through int64) error {
	a := newAssembly(e)
	if err := s.Extracts().Items(ctx, ids, judge, through, a.item); err != nil {
		return err
	}
	a.order()
	if err := s.Extracts().Findings(ctx, ids, judge, through, a.finding); err != nil {
		return err
	}
	if err := s.Extracts().Calls(ctx, ids, judge, a.call); err != nil {
		return err
	}
	a.end()
	for _, id := range ids {
		spent, err := Spent(ctx, s, project, id, e.Judge)
		if err != nil {
			return err
		}
		e.Spent = append(e.Spent, spent)
	}
	return nil
}

// Spent is what a judge's attempts in a run have used and cost so far.
func Spent(ctx context.Context, s Source, project assay.ProjectID, run assay.RunID, judge assay.RunJudge) (sum assay.Spend, err error) {
	lines, err := s.Spending().Lines(ctx, store.SpendQuery{Project: project, Run: run, Zone: time.UTC})
	for _, l := range lines {
		if l.Judge == judge.Name && l.Version == judge.Version {
			sum = sum.Add(l.Spend)
		}
	}
	return sum, err
}
