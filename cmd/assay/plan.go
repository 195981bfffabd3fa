package main

import (
	"errors"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
)

type planCmd struct {
	frameFlags
	sampleFlags
	marginFlags
	budgetFlags
	Concurrency *int `short:"c" placeholder:"N" help:"Judge calls in flight, to say how long it would take. Default: the project's."`
}

func (planCmd) Help() string {
	return `Shows the strata (day and arm) with N eligible sessions and n to be graded, how many verdicts exist already and would be reused, how many calls remain, and what they would take: tokens of the prompts as they would be sent, and a range of dollars where the price is known. Of a large sample a random part of the prompts is made and scaled up. Nothing is written and no judge is called.

With --margin or --for-budget it proposes n for each day and arm by three splits (the same for all, in proportion, and Neyman's, by where answers differ most), with the interval that a report is expected to have and what it costs.

Example:

    assay plan --judge resolved --from 2026-03-01 --to 2026-03-08 -n 50 --seed spring
    assay plan --judge resolved --margin 0.02 --target process
    assay plan --judge task-success --for-budget 5`
}

func (c *planCmd) Run(a *app) error {
	for _, j := range c.Judge {
		if isFile(j) {
			return misuse("plan writes nothing, so it does not apply %s", j).WithHint("`assay judge apply %s` first, then plan with its name", j)
		}
	}
	if err := c.marginFlags.check(c.sampleFlags); err != nil {
		return err
	}
	d, err := a.look()
	if err != nil {
		return err
	}
	q, err := a.request(d, c.frameFlags, c.sampleFlags)
	if err != nil {
		return err
	}
	q.Concurrency, q.Budget, q.Unpriced = c.Concurrency, amount(c.Budget), c.AllowUnpriced
	var p api.Plan
	if c.asked() {
		p, err = a.propose(d, q, c.marginFlags)
	} else {
		p, err = d.Plan(a.ctx, a.Project, q)
	}
	if err != nil {
		return a.inEmptyProject(d, err)
	}
	if a.JSON {
		return a.printJSON(p)
	}
	if err := a.printProposals(p); err != nil {
		return err
	}
	if err := a.printPlan(p, q.Budget); err != nil || p.Eligible > 0 {
		return err
	}
	return a.sayWhyEmpty(d)
}

// inEmptyProject adds to an error about something that is not there that nothing else is there either.
func (a *app) inEmptyProject(d *door, err error) error {
	if assay.CodeOf(err) != assay.CodeNotFound {
		return err
	}
	if p, lost := d.Project(a.ctx, a.Project); lost == nil && p.Totals != nil && p.Totals.Sessions == 0 {
		const place = "is it the right place? --data, --database and --project name another"
		e := assay.Errorf(assay.CodeNotFound, "%w; project %s in %s holds no sessions either", err, p.Name, a.place())
		if old := new(assay.Error); errors.As(err, &old) && old.Hint != "" {
			return e.WithHint("%s; %s", old.Hint, place)
		}
		return e.WithHint(place)
	}
	return err
}

// sayWhyEmpty says where sessions were looked for, since a person may be in the wrong folder.
func (a *app) sayWhyEmpty(d *door) error {
	p, err := d.Project(a.ctx, a.Project)
	if err != nil || p.Totals == nil {
		return err
	}
	if p.Totals.Sessions > 0 {
		a.say("none of the %s of project %s in %s is in this frame and eligible", count(p.Totals.Sessions, "session"), p.Name, a.place())
		return nil
	}
	a.say("project %s in %s holds no sessions: `assay import` reads some in; --data, --database and --project name another place", p.Name, a.place())
	return nil
}

func (a *app) printPlan(p api.Plan, budget *assay.USD) error {
	t := newTable(a.out, "DAY", "ARM", "ELIGIBLE", "SAMPLED")
	for _, s := range p.Strata {
		t.row(s.Day, s.Arm, humanize.Comma(s.Eligible), humanize.Comma(s.Sampled))
	}
	t.row("total", "", humanize.Comma(p.Eligible), humanize.Comma(p.Sampled))
	if err := t.end(); err != nil {
		return err
	}
	a.sayUnsampled(p)
	a.print("\n")
	j := newTable(a.out, "JUDGE", "VERSION", "ITEMS", "REUSED", "CALLS")
	for _, v := range p.Judges {
		j.row(v.Name, shortHash(v.Version), humanize.Comma(v.Items), humanize.Comma(v.Reused), humanize.Comma(v.Calls))
	}
	if err := j.end(); err != nil {
		return err
	}
	for _, v := range p.Judges {
		a.printCost(v, p.Spec.Repeats)
	}
	a.print("\nseed %s, days in %s, as of %s; %s\n", p.Spec.Seed, p.Spec.Settings.Zone, moment(&p.AsOf, time.UTC), planCost(p.Preview, budget))
	if month := planMonth(p); month != "" {
		a.print("%s\n", month)
	}
	a.printExcluded(p.Excluded)
	return nil
}

// printExcluded says which sessions were met but are not eligible.
func (a *app) printExcluded(x assay.Excluded) {
	if x.Unsettled > 0 {
		a.print("not eligible: %s too recent and may still grow (the project's settling time)\n", count(x.Unsettled, "session"))
	}
	if x.Undated > 0 {
		a.print("not eligible: %s without any time; --undated takes them in\n", count(x.Undated, "session"))
	}
	if x.Empty > 0 {
		a.print("not eligible: %s with nothing to grade\n", count(x.Empty, "session"))
	}
	if x.Late > 0 {
		a.print("not eligible: %s arrived or changed after the run was accepted; a new run sees them as they are then\n", count(x.Late, "session"))
	}
}
