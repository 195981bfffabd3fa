package main

import (
	"context"
	"io"
	"strings"

	"assay/internal/api"
	"assay/internal/report/check"
	"assay/internal/report/print"
	"assay/internal/store"
)

type judgeCheckCmd struct {
	Name          string `arg:"" help:"Name of the judge."`
	RunID         string `name:"run" placeholder:"RUN" help:"Whose verdicts are checked. Default: the newest run of the judge's version that has ended."`
	Criterion     string `placeholder:"NAME" help:"Which question. Default: pass."`
	Rater         string `placeholder:"NAME" help:"Only this rater's labels. Default: all; where raters disagree the majority, or who decided."`
	From          string `placeholder:"RUN" help:"Correct the run's rate by labels on this other run's verdicts. It assumes that the judge errs here as there."`
	Disagreements bool   `help:"List every session on which judge and labels differ."`
	outputFlags
	Limit int `default:"50" help:"With --disagreements: rows at most; 0 is all."`
}

func (judgeCheckCmd) Help() string {
	return `Holds what the judge said against what people said: how often it is right and wrong, with intervals, how far raters agree with each other, where they and the judge differ, and the run's rate corrected by the labels. A number that the labels do not carry is left out, with the reason.

Example:

    assay judge check resolved
    assay judge check resolved --run r3 --disagreements`
}

func (c *judgeCheckCmd) Run(a *app) error {
	format, err := c.format(a)
	if err != nil {
		return err
	}
	d, err := a.look()
	if err != nil {
		return err
	}
	q := api.CheckQuery{Criterion: c.Criterion, Rater: c.Rater}
	if q.Run, err = a.namedRun(d, c.RunID); err != nil {
		return err
	}
	if q.From, err = a.namedRun(d, c.From); err != nil {
		return err
	}
	if c.Disagreements {
		return c.disagreements(a, d, q)
	}
	v, err := d.CheckJudge(a.ctx, a.Project, c.Name, q)
	if err != nil {
		return err
	}
	return c.write(a, func(w io.Writer, columns int) error { return print.Check(w, format, v, columns) })
}

// namedRun is a run's name, or "" for none; last is the newest.
func (a *app) namedRun(d *door, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	_, id, err := runArg{name}.open(a, func() (*door, error) { return d, nil })
	if err != nil {
		return "", err
	}
	return id.String(), nil
}

func (c *judgeCheckCmd) disagreements(a *app, d *door, q api.CheckQuery) error {
	t := newTable(a.out, "SESSION", "DAY AND ARM", "JUDGE", "LABEL", "BY", "USE", "THE JUDGE'S REASON", "NOTE")
	more, err := each(a.ctx, c.Limit,
		func(ctx context.Context, p store.Page) (api.Page[check.Disagreement], error) {
			return d.Disagreements(ctx, a.Project, c.Name, q, p)
		},
		func(w check.Disagreement) error {
			if a.JSON {
				return a.printLine(w)
			}
			t.row(w.Session, w.Stratum, w.Judge, w.Label, strings.Join(w.Raters, ", "), w.Use, short(w.Reason, 60), short(w.Note, 40))
			return nil
		})
	if err != nil || a.JSON {
		return err
	}
	return a.endTable(t, more)
}
