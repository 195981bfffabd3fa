package clock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/assay"
)

// most bounds how many ticks are counted as one: two years of minutes.
const most = 1 << 20

// deal deals with the tick that a schedule owes, as far as it can now. An error leaves it owed.
func (t *Ticker) deal(ctx context.Context, s assay.Schedule, d *debt) error {
	s, owes, err := t.again(ctx, s, d.owed)
	if err != nil || !owes {
		return err
	}
	if waits, err := t.waits(ctx, d); err != nil || waits {
		return err
	}
	now := t.now()
	tick, next, err := gather(s.Def, d.owed, now)
	if err != nil {
		return err
	}
	if missed(s.Def, tick, d) {
		tick.Outcome = assay.TickMissed
		tick.Sentence = fmt.Sprintf("nobody was there at %s to start it, and catch_up is none", tick.At.Format(time.RFC3339))
	} else if ended, err := t.begin(ctx, s, d, &tick); err != nil || !ended {
		return err
	}
	tick.DoneAt = t.now()
	first, err := t.store.Schedules().Ticked(ctx, s.ID, d.owed, tick, next)
	if err != nil {
		return err
	}
	if !first {
		t.log.Info("a tick was recorded by another process, or its schedule was paused or changed meanwhile", "project", s.Project, "schedule", s.Name, "tick", d.owed, "run", tick.Run.String())
	}
	return nil
}

// again reads the schedule once more and says whether it still owes the tick: starting the ones before
// it in the list took time, in which a person may have paused, changed or deleted it.
func (t *Ticker) again(ctx context.Context, s assay.Schedule, owed time.Time) (assay.Schedule, bool, error) {
	fresh, err := t.store.Schedules().Get(ctx, s.ProjectID, s.Name)
	if assay.CodeOf(err) == assay.CodeNotFound && err != nil {
		return s, false, nil
	}
	owes := err == nil && fresh.ID == s.ID && !fresh.Paused && fresh.NextAt != nil && fresh.NextAt.Equal(owed)
	return fresh, owes, err
}

// waits says whether the run that a queued tick waits for is still active.
func (t *Ticker) waits(ctx context.Context, d *debt) (bool, error) {
	if d.holder == 0 {
		return false, nil
	}
	run, err := t.store.Runs().Get(ctx, d.holder)
	if assay.CodeOf(err) == assay.CodeNotFound && err != nil {
		return false, nil
	}
	return err == nil && !run.State.Terminal(), err
}

// gather takes the ticks from the one owed up to now as one, the latest. next is strictly after now; nil
// where no tick comes any more.
func gather(def assay.ScheduleDef, owed, now time.Time) (tick assay.Tick, next *time.Time, err error) {
	table, err := parse(def)
	if err != nil {
		return tick, nil, err
	}
	tick.At = owed.UTC()
	for tick.Coalesced < most {
		at, ok := table.next(tick.At)
		if !ok || at.After(now) {
			break
		}
		tick.At = at
		tick.Coalesced++
	}
	if at, ok := table.next(now); ok {
		next = &at
	}
	return tick, next, nil
}

// missed says whether nobody was there for a tick and the schedule does not make up for it. One that was
// seen in time and could not be started since is not missed.
func missed(def assay.ScheduleDef, tick assay.Tick, d *debt) bool {
	return def.CatchUp == assay.CatchUpNone && d.began.Sub(tick.At) > Late
}

// begin starts what the schedule starts and writes into tick what became of that. false: it stays owed.
func (t *Ticker) begin(ctx context.Context, s assay.Schedule, d *debt, tick *assay.Tick) (ended bool, err error) {
	limited, stop := context.WithTimeout(ctx, startLimit)
	defer stop()
	run, _, err := t.start(limited, s, Asker(s.Name), onceFor(s, d.owed))
	holder := holderOf(err)
	switch {
	case err == nil:
		tick.Outcome, tick.Run = assay.TickStarted, run.ID
	case holder != 0 && s.Def.Overlap == assay.OverlapQueue:
		d.holder = holder
		return false, nil
	case holder != 0:
		tick.Outcome, tick.Run, tick.Sentence = assay.TickSkipped, holder, sentence(err)
	case refused(err) || t.now().Sub(d.began) > RetryFor:
		tick.Outcome, tick.Sentence = assay.TickFailed, sentence(err)
		t.log.Warn("a tick was refused", "project", s.Project, "schedule", s.Name, "tick", tick.At, "error", err)
	default:
		return false, err
	}
	return true, nil
}

// holderOf is the active run that holds the key of what was to be started; 0 for every other error.
func holderOf(err error) assay.RunID {
	held, ok := errors.AsType[*assay.Error](err)
	if !ok || held.Code != assay.CodeConflict {
		return 0
	}
	id, _ := assay.ParseRunID(held.Details["run"])
	return id
}

// refused says whether asking again would give the same answer: the request is at fault, not the moment.
func refused(err error) bool {
	switch assay.CodeOf(err) {
	case assay.CodeUnavailable, assay.CodeInternal, assay.CodeLost:
		return false
	}
	return true
}

// sentence is an error with what to do, for a person who reads it in the morning.
func sentence(err error) string {
	if e, ok := errors.AsType[*assay.Error](err); ok && e.Hint != "" {
		return err.Error() + "; " + e.Hint
	}
	return err.Error()
}
