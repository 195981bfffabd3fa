package clock

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// Asker is the name under which a schedule asks for runs: who asked, in their rows.
func Asker(schedule string) string { return "schedule " + schedule }

// RunNow starts for a person what a schedule starts, beside its ticks, which stay as they are. A held key is
// CodeConflict. What a grade schedule grades by this is not in the run of its next tick.
func (t *Ticker) RunNow(ctx context.Context, s assay.Schedule, by string, once *store.Idempotency) (run assay.Run, replayed bool, err error) {
	if by == "" {
		by = Asker(s.Name)
	}
	return t.start(ctx, s, by, once)
}

// onceFor lets a tick start at most one run: the record is written with the run. The definition is no part
// of it, so that a tick whose run was started by an older one is not started again by a newer one.
func onceFor(s assay.Schedule, owed time.Time) *store.Idempotency {
	return &store.Idempotency{Route: Asker(s.Name), Key: owed.UTC().Format(time.RFC3339), BodyHash: "tick"}
}

func (t *Ticker) start(ctx context.Context, s assay.Schedule, by string, once *store.Idempotency) (run assay.Run, replayed bool, err error) {
	p, err := t.store.Projects().Get(ctx, s.Project)
	if err != nil {
		return run, false, err
	}
	if def := s.Def.Suite; def != nil {
		return t.engine.StartSuite(ctx, p, def.Name, engine.SuiteRequest{Params: def.Params, By: by, Schedule: s.Name}, once)
	}
	q, err := gradeOf(s.Def)
	if err != nil {
		return run, false, err
	}
	q.By, q.Schedule = by, s.Name
	if q.Since, err = t.since(ctx, p, s, q.Since); err != nil {
		return run, false, err
	}
	return t.engine.Grade(ctx, p, q, once)
}

// since is the moment up to which a grade schedule has graded: the AsOf of its last run, or what the
// definition says where that is later. The zero time is since ever.
func (t *Ticker) since(ctx context.Context, p assay.Project, s assay.Schedule, given *time.Time) (*time.Time, error) {
	var since time.Time
	last, found, err := t.last(ctx, p, s)
	if err != nil {
		return nil, err
	}
	if found {
		// Where sessions settle sooner than at that run, some would be taken as eligible by then that were not.
		since = last.AsOf.Add(min(0, p.Settings.Settle-last.Spec.Settings.Settle))
	}
	if given != nil && given.After(since) {
		since = *given
	}
	return &since, nil
}

// last is the newest run that a grade schedule started, or that was started for it by hand. One that ended
// before it was planned took no session out of the next one's frame.
func (t *Ticker) last(ctx context.Context, p assay.Project, s assay.Schedule) (run assay.Run, found bool, err error) {
	q := store.RunQuery{Project: p.ID, Kind: assay.RunGrade, Schedule: s.Name}
	for cursor, more := "", true; more; more = cursor != "" {
		var runs []assay.Run
		if runs, cursor, err = t.store.Runs().List(ctx, q, store.Page{Cursor: cursor, Limit: 10}); err != nil {
			return run, false, err
		}
		for _, run := range runs {
			if !run.State.Terminal() || run.State == assay.RunCompleted || run.Sampled > 0 {
				return run, true, nil
			}
		}
	}
	return run, false, nil
}
