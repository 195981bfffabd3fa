package main

import (
	"context"

	"assay/internal/api"
	"assay/internal/assay"
)

type endCmd struct {
	runArg
}

func (endCmd) Help() string {
	return `For a run whose last items cannot be finished: calls in flight finish, the rest is abandoned, and the run completes marked partial.

Example:

    assay end r3`
}

func (c *endCmd) Run(a *app) error {
	return a.ask(c.runArg, func(ctx context.Context, d *door, id assay.RunID) (api.RunView, error) {
		return d.End(ctx, id)
	})
}
