package main

import (
	"assay/internal/api/client"
	"assay/internal/assay"
)

type retryCmd struct {
	RunID          string `arg:"" name:"run" help:"Run that has ended, e.g. r3."`
	Detach         bool   `help:"Accept the new run, print its number and return."`
	IdempotencyKey string `placeholder:"KEY" help:"Repeating the command with the same key gives the same run again."`
}

func (retryCmd) Help() string {
	return `Makes a new run of exactly the items that ended errored, cancelled or abandoned, with the same judges, sample and content. A report of the new run reads both.

Example:

    assay retry r3`
}

func (c *retryCmd) Run(a *app) error {
	id, err := assay.ParseRunID(c.RunID)
	if err != nil {
		return err
	}
	open := a.drive
	if c.Detach {
		open = a.look
	}
	d, err := open()
	if err != nil {
		return err
	}
	key := c.IdempotencyKey
	if key == "" {
		key = client.NewKey()
	}
	g, err := d.Retry(a.ctx, id, who(), key)
	if err != nil {
		return err
	}
	if c.Detach {
		return a.printAccepted(g)
	}
	a.say("%s retries %s", g.ID, id)
	return a.finish(d, g.ID)
}
