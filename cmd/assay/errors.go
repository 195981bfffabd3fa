package main

import (
	"context"
	"errors"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

type runsErrorsCmd struct {
	runArg
	Class   string `placeholder:"CLASS" help:"Only items that ended so, e.g. timeout."`
	Waiting bool   `help:"Instead: items that wait to be tried again, until when and why."`
	Limit   int    `default:"20" help:"Items at most; 0 is all."`
}

func (runsErrorsCmd) Help() string {
	return `Errored and ungradable items: the session, the class, the last error, and the raw answer where there was one. With --json one item a line, with every call that was made for it.

Example:

    assay runs errors r3
    assay runs errors r3 --waiting
    assay runs errors r3 --class malformed_answer --limit 5`
}

// brokenItem is an item without a verdict and the calls that were made for it.
type brokenItem struct {
	assay.Item
	Calls []assay.Attempt `json:"calls"`
}

func (c *runsErrorsCmd) Run(a *app) error {
	d, id, err := c.open(a, a.look)
	if err != nil {
		return err
	}
	n := 0
	show := func(it assay.Item) error {
		if n++; c.Limit > 0 && n > c.Limit {
			return errEnough
		}
		calls, err := d.Item(a.ctx, id, it.Seq)
		if err != nil {
			return err
		}
		return a.printBroken(it, calls.Attempts)
	}
	queries := []api.ItemQuery{{State: assay.ItemErrored, Class: assay.Class(c.Class)}, {State: assay.ItemUngradable, Class: assay.Class(c.Class)}}
	if c.Waiting {
		queries = []api.ItemQuery{{Waiting: true}}
	}
	for _, q := range queries {
		_, err := each(a.ctx, 0, func(ctx context.Context, p store.Page) (api.Page[assay.Item], error) { return d.Items(ctx, id, q, p) }, show)
		if errors.Is(err, errEnough) {
			a.say("more items were left; raise --limit, or --limit 0 for all")
			return nil
		}
		if err != nil {
			return err
		}
	}
	switch {
	case n > 0:
	case c.Waiting:
		a.say("no item of %s waits to be tried again", id)
	case c.Class != "":
		a.say("no item of %s ended as %s", id, c.Class)
	default:
		a.say("no errors: no item of %s ended without a verdict by a fault", id)
	}
	return nil
}

// leftCalls counts those of which a call left, or may have left.
func leftCalls(attempts []assay.Attempt) (n int64) {
	for _, t := range attempts {
		if t.MayHaveLeft() {
			n++
		}
	}
	return n
}

func (a *app) printBroken(it assay.Item, calls []assay.Attempt) error {
	if a.JSON {
		return a.printLine(brokenItem{it, calls})
	}
	if it.UserID == "" { // a harness's case: no judge was called
		how := caseState(it.State, it.Class)
		if it.Class != assay.ClassNone {
			how += ": " + string(it.Class)
		}
		a.print("%s  %s, case %d\n", it.SessionID, how, it.Seq)
		if it.Error != "" {
			a.print("  %s\n", it.Error)
		}
		return nil
	}
	state, class := string(it.State), it.Class
	if n := len(calls); it.NotBefore != nil && n > 0 {
		state, class, it.Error = "waits until "+moment(it.NotBefore, time.UTC), calls[n-1].Class, calls[n-1].Error
	}
	a.print("%s  %s: %s, %s, item %d\n", assay.SessionName(it.UserID, it.SessionID), state, string(class), count(leftCalls(calls), "call"), it.Seq)
	if it.Error != "" {
		a.print("  %s\n", it.Error)
	}
	if n := len(calls); n > 0 && calls[n-1].Raw != "" {
		a.print("  answer: %s\n", short(calls[n-1].Raw, 500))
	}
	return nil
}
