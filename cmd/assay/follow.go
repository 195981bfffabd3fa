package main

import (
	"errors"
	"fmt"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

// viewer is told of a run as it goes on. Ending it twice is safe.
type viewer interface {
	see(api.RunView)
	end()
}

// quiet shows nothing.
type quiet struct{}

func (quiet) see(api.RunView) {}
func (quiet) end()            {}

// follow watches a run until it ends or pauses, whoever drives it. When the owner goes away the
// door finds the next one, or this process becomes it, and the watch goes on.
func (a *app) follow(d *door, id assay.RunID, show viewer) (api.RunView, error) {
	defer show.end()
	a.followed.Store(int64(id))
	v, err := d.Watch(a.ctx, id, func(v api.RunView) bool {
		show.see(v)
		return !settled(v)
	})
	if err != nil && a.ctx.Err() != nil {
		show.end()
		return v, a.interrupted(d, id, v)
	}
	return v, err
}

// settled says whether nothing more happens to a run by itself.
func settled(v api.RunView) bool {
	switch {
	case v.State.Terminal():
		return true
	case v.State != assay.RunPaused || v.Cancelling || v.EndRequestedAt != nil:
		return false
	}
	// Who asks about one session wants to know; and nobody waits for the next month.
	return v.WakeAt == nil || v.Kind == assay.RunSingle || v.Reason == assay.Reason(assay.ClassBudget)
}

// outcome is the error, if any, that a command ends with when its run has come to rest.
func outcome(v api.RunView) error {
	e := func(format string, args ...any) *assay.Error {
		return assay.Errorf(assay.CodeInternal, format, args...).With("run", v.ID.String()).With("state", string(v.State)).With("reason", string(v.Reason))
	}
	if v.Suite != nil && v.State != assay.RunCompleted {
		return harnessOutcome(e, v)
	}
	switch v.State {
	case assay.RunCompleted:
		return nil
	case assay.RunPaused:
		return e("%s is paused: %s", v.ID, because(v)).WithHint("%s", pausedHint(v))
	case assay.RunCancelled:
		return e("%s was cancelled", v.ID).WithHint("`assay retry %s` grades the rest in a new run", v.ID)
	}
	err := e("%s %s: %s", v.ID, v.State, because(v)).WithHint("`assay runs errors %s` shows why", v.ID)
	if left(v.Counts) > 0 {
		err.WithHint("`assay runs errors %s` shows why, `assay retry %s` tries what has no verdict again", v.ID, v.ID)
	}
	return err
}

// pausedHint is what can be done about a run that a command left paused.
func pausedHint(v api.RunView) string {
	hint := fmt.Sprintf("`assay resume %s` goes on, `assay end %s` keeps what it has, `assay cancel %s` drops it", v.ID, v.ID, v.ID)
	if v.Kind == assay.RunSingle {
		hint = fmt.Sprintf("`assay resume %s` goes on; asking again starts a new run in its place and cancels %s", v.ID, v.ID)
	}
	if v.WakeAt != nil {
		hint += "; `assay serve` tries again at " + moment(v.WakeAt, time.UTC) + ", where it runs then"
	}
	return hint
}

// shortOutcome is outcome for where it was said just before why the run is paused, or its harness did not
// complete.
func shortOutcome(v api.RunView) error {
	err := outcome(v)
	e := new(assay.Error)
	switch {
	case !errors.As(err, &e):
	case v.State == assay.RunPaused:
		e.Message = v.ID.String() + " is paused"
	case v.Suite != nil && v.State != assay.RunCancelled:
		e.Message = fmt.Sprintf("%s %s", v.ID, v.State)
	}
	return err
}

// because says why a run is where it is. What a running run says of itself is old.
func because(v api.RunView) string {
	switch {
	case v.State == assay.RunRunning:
		return ""
	case v.Sentence != "":
		return v.Sentence
	}
	return string(v.Reason)
}

// interrupted stops gracefully after Ctrl-C and says how to go on.
func (a *app) interrupted(d *door, id assay.RunID, v api.RunView) error {
	stopped := func(format string, args ...any) *assay.Error {
		return assay.Errorf(assay.CodeUnavailable, format, args...).With("run", id.String())
	}
	if n := d.node(); n != nil && n.Identity().Drives && v.Suite != nil {
		if err := d.link.Close(a.patience()); err != nil {
			return err
		}
		within := ""
		if def := v.Suite.Def; def != nil {
			within = " within " + span(def.OrphanGrace.Duration())
		}
		return stopped("stopped watching %s; its harness goes on, and is ended where no process that drives comes%s", id, within).
			WithHint("`assay watch %s`, or `assay serve`, goes on with it, `assay cancel %s` stops it", id, id)
	}
	if n := d.node(); n != nil && n.Identity().Drives {
		a.say("stops: calls in flight may finish; Ctrl-C again ends at once")
		if err := d.link.Close(a.patience()); err != nil {
			return err
		}
		return stopped("stopped before %s ended; what was answered is kept", id).
			WithHint("`assay watch %s` goes on with it, `assay cancel %s` drops it", id, id)
	}
	by := "its server"
	if d.link != nil && d.node() == nil {
		by = d.link.Owner().String()
	}
	return stopped("stopped watching %s; %s goes on with it", id, by).
		WithHint("`assay watch %s` follows it again, `assay cancel %s` stops it", id, id)
}

// finish follows a run with a progress bar and prints how it ended.
func (a *app) finish(d *door, id assay.RunID) error {
	v, err := a.follow(d, id, a.newProgress(id))
	if err != nil {
		return err
	}
	if err := a.printEnd(v); err != nil {
		return err
	}
	if v.Spec.Repeats > 1 && v.State == assay.RunCompleted && !a.JSON {
		if err := a.printNoise(d, id); err != nil {
			return err
		}
	}
	if a.JSON {
		return outcome(v)
	}
	return shortOutcome(v)
}
