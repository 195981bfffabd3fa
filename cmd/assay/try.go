package main

import (
	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/engine"
)

type judgeTryCmd struct {
	Judge   string `arg:"" help:"Name of a judge, or a YAML file: it is applied first, but for --dry-run."`
	Session string `arg:"" name:"user/id" help:"Session to ask about."`
	DryRun  bool   `help:"Make the prompt and show it with its tokens and the most that it can cost. Calls nobody, stores nothing."`
	budgetFlags
}

func (judgeTryCmd) Help() string {
	return `Asks about one session, whether it has a verdict or not, and shows the prompt as it was sent, the answer as it came, the verdict and what it cost. It is a run of one item like any other: limits, budgets and "assay spend" know of it. Where an earlier run of the same judge and session is paused, the new one takes its place and cancels it.

Example:

    assay judge try task-success alice/42 --dry-run
    assay judge try my-judge.yaml alice/42`
}

func (c *judgeTryCmd) Run(a *app) error {
	if _, _, err := assay.ParseSessionName(c.Session); err != nil {
		return err
	}
	if c.DryRun {
		return c.dry(a)
	}
	d, err := a.drive()
	if err != nil {
		return err
	}
	judges, err := a.applyFiles(d, []string{c.Judge})
	if err != nil {
		return err
	}
	g, err := d.Grade(a.ctx, a.Project, engine.GradeRequest{
		Judges: judges, Session: c.Session, Force: true, Budget: amount(c.Budget), Unpriced: c.AllowUnpriced, By: who(),
	}, client.NewKey())
	if err != nil {
		return a.inEmptyProject(d, err)
	}
	if err := a.sayReplaced(d, g); err != nil {
		return err
	}
	v, err := a.follow(d, g.ID, quiet{})
	if err != nil {
		return err
	}
	if err := c.show(a, d, v); err != nil {
		return err
	}
	return outcome(v)
}

func (c *judgeTryCmd) show(a *app, d *door, v api.RunView) error {
	t := api.Tried{Judge: v.Spec.Judges[0].Name, Version: v.Spec.Judges[0].Version, Session: c.Session, Run: &v}
	if v.Counts.Total > 0 {
		x, err := d.Exchange(a.ctx, v.ID, 1)
		if err != nil {
			return err
		}
		t.Exchange = &x
	}
	if err := d.EachVerdict(a.ctx, v.ID, 0, func(found assay.Verdict) error {
		t.Verdicts = append(t.Verdicts, found)
		return nil
	}); err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(t)
	}
	if t.Exchange != nil {
		if err := a.printExchange(*t.Exchange, exchangeParts{raw: true}); err != nil {
			return err
		}
	}
	for _, found := range t.Verdicts {
		a.print("\n")
		if err := a.printVerdict(found, "  "+v.ID.String()); err != nil {
			return err
		}
	}
	a.print("\ncost        %s\n", spendText(v.Spend.Spend))
	return nil
}

func (c *judgeTryCmd) dry(a *app) error {
	d, err := a.look()
	if err != nil {
		return err
	}
	q := api.TryRequest{Judge: c.Judge, Session: c.Session, DryRun: true, By: who()}
	if isFile(c.Judge) {
		source, err := readDefinition(a, c.Judge)
		if err != nil {
			return err
		}
		q.Judge, q.Source, q.Folder = "", source.Source, source.Folder
	}
	t, err := d.TryJudge(a.ctx, a.Project, q, "")
	if err != nil {
		if q.Source != "" && assay.CodeOf(err) != assay.CodeNotFound { // a session may be what is not there
			return assay.About(c.Judge, err)
		}
		return err
	}
	if a.JSON {
		return a.printJSON(t)
	}
	return a.printPrompt(t)
}

func (a *app) printPrompt(t api.Tried) error {
	p := t.Prompt
	a.print("%s %s about %s asks %s\n", t.Judge, shortHash(t.Version), t.Session, p.Model.String())
	if p.Class != assay.ClassNone {
		a.print("no call would leave: %s: %s\n", string(p.Class), p.Error)
		return nil
	}
	if err := a.printRequest(p.Request); err != nil {
		return err
	}
	a.print("\n")
	if p.Seen.Cut {
		a.print("transcript  a part was left out, and the text says which\n")
	}
	if p.Left > 0 {
		a.print("units       %d in this call, %d in later ones\n", p.Units, p.Left)
	}
	exact := "counted"
	if !p.Exact {
		exact = "estimated from the length, at most " + comma(p.Most)
	}
	a.print("tokens      %s in (%s), ", comma(p.Input), exact)
	if p.Output > 0 {
		a.print("at most %s out\n", comma(p.Output))
	} else {
		a.print("out without a bound\n")
	}
	a.print("price       %s\n", perMillion(p.Price))
	a.print("worst cost  USD %s\n", orUnknown(p.Worst))
	return nil
}
