package main

import (
	"assay/internal/api"
	"assay/internal/assay"
)

type resumeCmd struct {
	runArg
	Detach bool `help:"Queue it and return."`
}

func (resumeCmd) Help() string {
	return `Goes on with the items that have no verdict; what was paid for is not asked again. A run that is not paused is followed, as "assay watch" does.

Example:

    assay resume r3`
}

// underWay is a run that needs nobody to say go: its process died or stopped, and any that drives
// takes it up.
func underWay(v api.RunView) bool {
	active := v.State == assay.RunQueued || v.State == assay.RunRunning
	return active && !v.Cancelling && v.PauseRequestedAt == nil && v.EndRequestedAt == nil
}

func (c *resumeCmd) Run(a *app) error {
	open := a.drive
	if c.Detach {
		open = a.look
	}
	d, id, err := c.open(a, open)
	if err != nil {
		return err
	}
	v, err := d.Run(a.ctx, id)
	if err == nil && !underWay(v) {
		v, err = d.Resume(a.ctx, id)
	}
	if err != nil {
		return err
	}
	if !c.Detach {
		return a.finish(d, id)
	}
	if a.JSON {
		return a.printJSON(v)
	}
	a.printHead(v)
	return nil
}
