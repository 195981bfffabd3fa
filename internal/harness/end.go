package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/harness/shim"
	"assay/internal/logs"
	"assay/internal/store"
)

// finish ends the row of a harness that has ended: its results are read, then its success rule decides.
func (j *job) finish(ctx context.Context) error {
	var ended shim.Ended
	err := j.try(ctx, "read how a harness ended", func() (err error) {
		ended, err = shim.ReadExit(j.dir())
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return j.lost(ctx, assay.ReasonShimDied, fmt.Sprintf("it has ended, and how cannot be read: %s", err))
	}
	if err := j.events(ctx); err != nil {
		return err
	}
	j.facts.Exit, j.facts.Idle = &ended.Exit, false
	if ended.Harness.PID != 0 { // it may have ended before anybody asked
		j.facts.PID = ended.Harness.PID
	}
	if j.facts.LaunchedAt == nil && !ended.Began.IsZero() {
		j.facts.LaunchedAt = &ended.Began
	}
	j.facts.LogBytes, j.facts.LogLines, j.facts.LogDropped = ended.Log.Bytes, ended.Log.Lines, ended.Log.Dropped
	if err := j.put(ctx); err != nil {
		return err
	}
	switch ended.Exit.Cause {
	case assay.ExitLaunchFailed:
		return j.launchFailed(ctx, fmt.Errorf("%s", ended.Exit.Error))
	case assay.ExitOrphaned:
		why := fmt.Sprintf("no server came for %s, and it was ended", j.def().OrphanGrace.Duration())
		if ended.Terminated {
			why = "its shim was told to end, as everything is when a machine or a service is stopped, and ended it"
		}
		return j.lost(ctx, assay.ReasonOrphaned, why)
	}
	if err := j.enter(ctx, assay.PhaseFinishing, "its harness has ended: its results are read"); err != nil {
		return err
	}
	c, err := j.collect(ctx)
	if err != nil {
		return err
	}
	j.facts.Results = c.sums
	if err := j.put(ctx); err != nil {
		return err
	}
	how := said(ended)
	if c.tally.Total > 0 {
		how += "; " + c.tally.String()
	}
	if j.control.Cancel || ended.Exit.Cause == assay.ExitCancel {
		return j.cancelled(ctx, how)
	}
	event, change := judged(*j.def(), ended.Exit, c)
	if unread := assay.Unread(c.sums, c.tally.Total); unread != "" && change.Reason != assay.ReasonResultsMissing {
		how += "; " + unread
	}
	change.Phase, change.Sentence = assay.PhaseFinishing, causeFirst(change.Sentence, how)
	return j.move(ctx, event, change)
}

// said tells how a harness ended.
func said(e shim.Ended) string {
	x := e.Exit
	s := fmt.Sprintf("the harness ended with exit code %d", x.Code)
	if x.Signal != "" {
		s = "the harness was ended by " + x.Signal
	}
	if x.Killed && x.Signal == "" {
		s += ", and what it left was killed"
	}
	if len(e.Left) > 0 {
		s += fmt.Sprintf("; the kernel did not let go of processes %v", e.Left)
	}
	return s
}

// causeFirst puts why a run failed before how its harness ended: lists have room for the beginning only.
func causeFirst(why, how string) string {
	if why == "" {
		return how
	}
	return why + "; " + how
}

// judged says what the success rule makes of a harness that nobody cancelled. The change's sentence is why it
// failed, where how the harness ended does not say that by itself.
func judged(def assay.SuiteDefinition, x assay.Exit, c *collected) (engine.Event, store.Change) {
	failed := func(why assay.Reason, format string, args ...any) (engine.Event, store.Change) {
		return engine.EventFail, store.Change{Reason: why, Sentence: fmt.Sprintf(format, args...)}
	}
	switch {
	case x.Cause == assay.ExitTimeLimit:
		return failed(assay.ReasonTimeLimit, "its time limit of %s was reached", def.TimeLimit.Duration())
	case x.Signal != "":
		return failed(assay.ReasonSignal, "a signal that Assay did not send")
	}
	if why, sentence := success(def, x.Code, c); why != assay.ReasonNone {
		return failed(why, "%s", sentence)
	}
	return engine.EventDone, store.Change{Reason: assay.ReasonDone}
}

// cancelled ends a run whose cancel was asked for. what says what came of it.
func (j *job) cancelled(ctx context.Context, what string) error {
	return j.move(ctx, engine.EventCancel, store.Change{Reason: assay.ReasonAsked, Sentence: "cancelled: " + what})
}

// dead ends what the dead shim of this launch left, and the run with it.
func (j *job) dead(ctx context.Context) error {
	var left []int
	err := j.try(ctx, "sweep after a dead shim", func() (err error) {
		left, err = shim.Sweep(j.dir(), j.d.limits.ends)
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	why := "its shim died, what it left was ended"
	if !shim.Started(j.dir()) {
		why = "its launch was cut short: its harness was not started, or for a moment only"
	}
	switch {
	case err != nil:
		why = fmt.Sprintf("its shim died, and what it left could not be looked for: %s", err)
	case len(left) > 0:
		why = fmt.Sprintf("its shim died, and the kernel did not let go of processes %v", left)
	}
	if err := j.events(ctx); err != nil {
		return err
	}
	if size, err := logs.Size(LogDir(j.d.o.Dir, j.run.ID)); err == nil {
		j.facts.LogBytes, j.facts.LogLines, j.facts.LogDropped = size.Bytes, size.Lines, size.Dropped
	}
	return j.lost(ctx, assay.ReasonShimDied, why)
}

// gone says that no harness of the run lives, as far as this data folder knows: its shim has told how it
// ended, or is dead and left nothing. Without facts, which cannot be read, all launches are looked at.
func (j *job) gone() bool {
	launches := []string{j.dir()}
	if j.facts.Launch == 0 {
		launches, _ = filepath.Glob(filepath.Join(RunDir(j.d.o.Dir, j.run.ID), "a*"))
	}
	for _, dir := range launches {
		standing, err := shim.Look(dir)
		if err == nil && standing == shim.Dead {
			var left []int
			if left, err = shim.Sweep(dir, j.d.limits.ends); len(left) > 0 {
				return false
			}
		}
		if err != nil || standing != shim.Finished && standing != shim.Dead {
			return false
		}
	}
	return len(launches) > 0
}

// tries is how often something in the folder is tried: no memory or no descriptor passes by, a broken disk
// does not.
const tries = 3

func (j *job) try(ctx context.Context, what string, f func() error) (err error) {
	for i := range tries {
		if err = f(); err == nil {
			return nil
		}
		j.d.o.Log.Warn(what, "run", j.run.ID.String(), "try", i+1, "error", err)
		t := time.NewTimer(controlEvery)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
	return err
}

// lost ends a run whose harness is gone without having ended by itself, or has it started again while the
// suite allows it.
func (j *job) lost(ctx context.Context, reason assay.Reason, why string) error {
	j.facts.Idle = false
	if err := j.put(ctx); err != nil {
		return err
	}
	if j.control.Cancel {
		return j.cancelled(ctx, why)
	}
	launch, most := j.facts.Launch, 1+j.def().LostRetries
	if launch >= most {
		return j.move(ctx, engine.EventLost, store.Change{Reason: reason, Sentence: why})
	}
	// The next launch is in the facts before the run waits for it: who dies between the two has it launched
	// all the same.
	j.facts = assay.Harness{Launch: launch + 1, LogBytes: j.facts.LogBytes, LogLines: j.facts.LogLines, LogDropped: j.facts.LogDropped}
	if err := j.put(ctx); err != nil {
		return err
	}
	return j.move(ctx, engine.EventStop, store.Change{Reason: assay.ReasonLostRetried,
		Sentence: fmt.Sprintf("launch %d was lost (%s): it is started again, launch %d of %d", launch, why, launch+1, most)})
}
