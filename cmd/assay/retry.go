package main

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/engine"
)

type retryCmd struct {
	runArg
	budgetFlags
	Plan           bool   `help:"Say how much would be graded again, and start nothing."`
	Detach         bool   `help:"Accept the new run, print its number and return."`
	IdempotencyKey string `placeholder:"KEY" help:"Repeating the command with the same key gives the same run again."`
}

func (retryCmd) Help() string {
	return `Takes a run that has ended, and makes a new one of exactly its items that ended errored, cancelled or abandoned, with the same judges, sample and content. A report of the new run reads both. Without --budget it gets what the old run's budget left.

Example:

    assay retry r3 --plan
    assay retry r3`
}

func (c *retryCmd) Run(a *app) error {
	open := a.drive
	if c.Detach || c.Plan {
		open = a.look
	}
	d, id, err := c.open(a, open)
	if err != nil {
		return err
	}
	old, err := d.Run(a.ctx, id)
	if err != nil {
		return err
	}
	if c.Plan && old.Suite == nil {
		return a.printLeft(old)
	}
	if old.State.Terminal() && old.Suite == nil {
		a.say("%s", leftText(old))
	}
	key := c.IdempotencyKey
	if key == "" {
		key = client.NewKey()
	}
	g, err := d.Retry(a.ctx, id, engine.RetryRequest{Budget: amount(c.Budget), Unpriced: c.AllowUnpriced, By: who()}, key)
	if err != nil {
		return err
	}
	if c.Detach {
		return a.printAccepted(g)
	}
	a.say("%s retries %s", g.ID, id)
	return a.finish(d, g.ID)
}

// printLeft says what a retry would do.
func (a *app) printLeft(v api.RunView) error {
	if a.JSON {
		return a.printJSON(map[string]any{"run": v.ID, "items": left(v.Counts), "by_class": v.Counts.ByClass})
	}
	a.print("%s\n", leftText(v))
	return nil
}

// left counts what ended without a verdict.
func left(c assay.Counts) int64 { return c.Errored + c.Cancelled + c.Abandoned }

// leftText says how much that is and what it costs at least: known before anything is paid.
func leftText(v api.RunView) string {
	c := v.Counts
	n := left(c)
	text := fmt.Sprintf("%s left %s without a verdict (%s errored, %s cancelled, %s abandoned): a retry asks %s, and more where one is tried again",
		v.ID, count(n, "item"), humanize.Comma(c.Errored), humanize.Comma(c.Cancelled), humanize.Comma(c.Abandoned), count(n, "time"))
	if c.Ungradable > 0 {
		text += fmt.Sprintf("; %s more cannot be graded, which no retry changes", humanize.Comma(c.Ungradable))
	}
	return text
}
