package main

import (
	"context"

	"assay/internal/api"
	"assay/internal/assay"
)

type pauseCmd struct {
	runArg
}

func (pauseCmd) Help() string {
	return `No new call starts; the run is paused when its calls in flight have ended. It keeps its judges to itself: another grade run of them is refused until it is resumed, ended or cancelled.

Example:

    assay pause r3`
}

func (c *pauseCmd) Run(a *app) error {
	return a.ask(c.runArg, func(ctx context.Context, d *door, id assay.RunID) (api.RunView, error) {
		return d.Pause(ctx, id)
	})
}
