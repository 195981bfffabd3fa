package main

import (
	"context"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

type cancelCmd struct {
	runArg
	Now bool `help:"Cut calls in flight instead of keeping their answers."`
}

func (cancelCmd) Help() string {
	return `After the answer no new judge call starts later than 1 s. Calls in flight finish and are kept; with --now they are cut. A run that has ended is shown as it is. Verdicts stay.

Example:

    assay cancel r3`
}

func (c *cancelCmd) Run(a *app) error {
	return a.ask(c.runArg, func(ctx context.Context, d *door, id assay.RunID) (api.RunView, error) {
		v, err := d.CancelBy(ctx, id, who(), c.Now)
		if n := d.node(); err != nil || n == nil || !n.Owns() {
			return v, err
		}
		// Nobody drives it: what a dead process left is finished here, at once, without a call.
		ctx, stop := context.WithTimeout(ctx, orphanTime)
		defer stop()
		if last, err := d.Watch(ctx, id, func(api.RunView) bool { return true }); err == nil {
			v = last
		}
		return v, nil
	})
}

// orphanTime is far more than the end of a run without a driver takes.
const orphanTime = 3 * time.Second

// ask wants something of a run and prints how it stands then. It never takes the run up.
func (a *app) ask(run runArg, what func(context.Context, *door, assay.RunID) (api.RunView, error)) error {
	d, id, err := run.open(a, a.look)
	if err != nil {
		return err
	}
	v, err := what(a.ctx, d, id)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(v)
	}
	a.printHead(v)
	return a.printNoted(d, v)
}

// printNoted says what becomes of a wish that is stored and has not come true.
func (a *app) printNoted(d *door, v api.RunView) error {
	what := ""
	switch {
	case v.State.Terminal() || v.Cancelling:
		return nil
	case v.EndRequestedAt != nil:
		what = "its end"
	case v.PauseRequestedAt != nil && v.State != assay.RunPaused:
		what = "its pause"
	default:
		return nil
	}
	o, err := d.Owner(a.ctx)
	if err != nil {
		return err
	}
	if o.Driving {
		a.print("%s is noted and comes once nothing of it is in flight: `assay watch %s` follows it\n", what, v.ID.String())
		return nil
	}
	a.print("%s is noted; it takes effect when a process that drives takes the run up: `assay watch %s`, or `assay serve`\n", what, v.ID.String())
	return nil
}
