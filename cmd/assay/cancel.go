package main

import (
	"context"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

type cancelCmd struct {
	RunID string `arg:"" name:"run" help:"Run, e.g. r3."`
	Now   bool   `help:"Cut calls in flight instead of keeping their answers."`
}

func (cancelCmd) Help() string {
	return `After the answer no new judge call starts later than 1 s. Calls in flight finish and are kept; with --now they are cut. A run that has ended is shown as it is. Verdicts stay.

Example:

    assay cancel r3`
}

func (c *cancelCmd) Run(a *app) error {
	return a.ask(c.RunID, func(ctx context.Context, d *door, id assay.RunID) (api.RunView, error) {
		v, err := d.Cancel(ctx, id, c.Now)
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
func (a *app) ask(run string, what func(context.Context, *door, assay.RunID) (api.RunView, error)) error {
	id, err := assay.ParseRunID(run)
	if err != nil {
		return err
	}
	d, err := a.look()
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
	return nil
}
