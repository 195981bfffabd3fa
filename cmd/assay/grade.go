package main

import (
	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/engine"
)

type gradeCmd struct {
	frameFlags
	sampleFlags
	marginFlags
	budgetFlags
	Concurrency    *int   `short:"c" placeholder:"N" help:"Judge calls in flight at most. Default: the project's, 10. Can be changed while it runs: assay runs set."`
	Session        string `placeholder:"USER/ID" help:"Grade this one session now and print its verdicts."`
	Detach         bool   `help:"Accept the run, print its number and return; whoever drives carries it on."`
	IdempotencyKey string `placeholder:"KEY" help:"Repeating the command with the same key gives the same run again."`
}

func (gradeCmd) Help() string {
	return `Draws the same sample for the same seed, reuses verdicts of the same judge version on the same content, calls the judge for the rest and stores every answer before the next call. It survives any crash: "assay watch" goes on where it stopped and pays for nothing twice.

With --margin or --for-budget it takes the n of each day and arm that "assay plan" proposes with the same flags.

With --budget the most that a call can cost is set aside before it leaves, and the run pauses when that could cross the budget: "assay runs set" raises it. Without a known price a budget refuses the judge; "assay models set" gives a price.

Ctrl-C stops gracefully: calls in flight finish, and "assay watch" goes on later. A second Ctrl-C ends at once.

Example:

    assay grade --judge resolved --from 2026-03-01 --to 2026-03-08
    assay grade --judge my-judge.yaml -n 50 -c 20 --budget 5
    assay grade --judge resolved --margin 0.02
    assay grade --judge task-success --session alice/42`
}

func (c *gradeCmd) Run(a *app) error {
	if err := c.marginFlags.check(c.sampleFlags); err != nil {
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
	d.sayCarried(0)
	q, err := c.ask(a, d)
	if err != nil {
		return err
	}
	key := c.IdempotencyKey
	if key == "" {
		key = client.NewKey()
	}
	g, err := d.Grade(a.ctx, a.Project, q, key)
	if err != nil {
		return a.inEmptyProject(d, err)
	}
	if err := a.sayReplaced(d, g); err != nil {
		return err
	}
	if g.Replayed {
		a.say("%s was accepted before with this key", g.ID)
	}
	if c.Detach {
		return a.printAccepted(g)
	}
	if c.Session != "" {
		return a.finishSingle(d, g.ID)
	}
	return a.finish(d, g.ID)
}

func (c *gradeCmd) ask(a *app, d *door) (engine.GradeRequest, error) {
	q, err := a.request(d, c.frameFlags, c.sampleFlags)
	if err != nil {
		return q, err
	}
	if c.Session != "" {
		if c.frameFlags != (frameFlags{}) || c.PerStratum != nil || c.Seed != nil || c.Since != "" || c.asked() {
			return q, misuse("--session grades one session: it goes with no frame, no -n, no margin and no --seed")
		}
		if _, _, err := assay.ParseSessionName(c.Session); err != nil {
			return q, err
		}
		q.Session = c.Session
	}
	if c.Concurrency != nil {
		if err := assay.ValidConcurrency(*c.Concurrency); err != nil {
			return q, err
		}
	}
	q.Concurrency, q.Budget, q.Unpriced = c.Concurrency, amount(c.Budget), c.AllowUnpriced
	if q.Judges, err = a.applyFiles(d, c.Judge); err != nil || !c.asked() {
		return q, err
	}
	return a.sized(d, q, c.marginFlags)
}

func (a *app) printAccepted(g api.Graded) error {
	if a.JSON {
		return a.printJSON(g)
	}
	a.print("%s\n", g.ID.String())
	return nil
}
