package main

import (
	"context"
	"strconv"
	"strings"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

type runsCasesCmd struct {
	runArg
	State  string `placeholder:"STATE" enum:"graded,errored,skipped,unscored,ungradable," default:"" help:"Only cases that ended so: graded, errored, skipped, unscored (it ran and has no score), ungradable (either of these two)."`
	Failed bool   `help:"Only cases that the harness says have failed."`
	Full   bool   `help:"With input, output and what each check said."`
	Limit  int    `default:"50" help:"Cases at most; 0 is all."`
}

func (runsCasesCmd) Help() string {
	return `Cases come from the result files of a suite's run. "pass" is what the harness said of the whole case; what its checks said stands beside it, and the two may differ. With --json one case a line.

Example:

    assay runs cases r3
    assay runs cases r3 --failed --full`
}

func (c *runsCasesCmd) Run(a *app) error {
	d, id, err := c.open(a, a.look)
	if err != nil {
		return err
	}
	q := c.query()
	if q.Full = c.Full || a.JSON; c.Failed {
		q.Pass = new(false)
	}
	t := newTable(a.out, "CASE", "REPEAT", "STATE", "PASS", "CHECKS", "SECONDS", "WHY")
	n := 0
	more, err := each(a.ctx, c.Limit,
		func(ctx context.Context, p store.Page) (api.Page[assay.Case], error) { return d.Cases(ctx, id, q, p) },
		func(x assay.Case) error {
			n++
			switch {
			case a.JSON:
				return a.printLine(x)
			case c.Full:
				a.printCase(x)
				return nil
			}
			t.row(short(x.Key, 60), strconv.Itoa(x.Repeat), caseState(x.State, x.Class), passMark(x.Pass), checksText(x.Findings), secondsCell(x.Seconds), short(orDash(caseWhy(x)), 80))
			return nil
		})
	switch {
	case err != nil || a.JSON:
		return err
	case n == 0:
		return a.sayNoCases(d, id)
	case c.Full:
		if more {
			a.say("more cases were left; raise --limit, or --limit 0 for all")
		}
		return nil
	}
	return a.endTable(t, more)
}

func (c *runsCasesCmd) query() api.CaseQuery {
	switch c.State {
	case "skipped":
		return api.CaseQuery{State: assay.ItemUngradable, Class: assay.ClassCaseSkipped}
	case "unscored":
		return api.CaseQuery{State: assay.ItemUngradable, Class: assay.ClassCaseUnscored}
	}
	return api.CaseQuery{State: assay.ItemState(c.State)}
}

// sayNoCases says why a list of cases is empty.
func (a *app) sayNoCases(d *door, id assay.RunID) error {
	v, err := d.Run(a.ctx, id)
	switch {
	case err != nil:
		return err
	case v.Suite == nil:
		a.say("%s grades sessions and has no cases: `assay verdicts %s` shows what was found", id, id)
	case v.Cases != nil:
		a.say("%s has no such case among its %d", id, v.Cases.Total)
	case !v.State.Terminal():
		a.say("%s has no cases yet: they are read when its harness has ended", id)
	case v.Suite.Def != nil && len(v.Suite.Def.Results) == 0:
		a.say("%s has no cases: its suite names no result files", id)
	default:
		a.say("%s has no cases: `assay runs show %s` says why", id, id)
	}
	return nil
}

// caseState says in the words of harnesses how a case ended.
func caseState(state assay.ItemState, class assay.Class) string {
	switch {
	case state != assay.ItemUngradable:
	case class == assay.ClassCaseSkipped:
		return "skipped"
	case class == assay.ClassCaseUnscored:
		return "unscored"
	}
	return string(state)
}

// caseWhy is the first thing that says why a case did not pass.
func caseWhy(x assay.Case) string {
	if x.Error != "" {
		return x.Error
	}
	for _, f := range x.Findings {
		if f.Reason != "" && string(f.Value) != "true" {
			return f.Criterion + ": " + f.Reason
		}
	}
	return ""
}

// checksText names the checks of a case with what they found, where that is few.
func checksText(findings []assay.Finding) string {
	parts := make([]string, len(findings))
	for i, f := range findings {
		parts[i] = f.Criterion + "=" + orDash(string(f.Value))
	}
	return short(orDash(strings.Join(parts, " ")), 60)
}

func (a *app) printCase(x assay.Case) {
	a.print("%s  %s", x.Key, caseState(x.State, x.Class))
	if x.Pass != nil {
		a.print(", %s", passMark(x.Pass))
	}
	a.print("\n")
	why := "error"
	if x.State == assay.ItemUngradable {
		why = "why"
	}
	for _, part := range []struct{ name, text string }{
		{"place", x.Place}, {why, x.Error}, {"input", x.Input}, {"expected", x.Expected}, {"output", x.Output}, {"model", x.Model},
	} {
		if part.text != "" {
			a.print("  %s:\n", part.name)
			a.printText(part.text, "    ")
		}
	}
	for _, f := range x.Findings {
		a.print("  %s = %s", f.Criterion, orDash(string(f.Value)))
		if f.Reason != "" {
			a.print("  %s", f.Reason)
		}
		a.print("\n")
	}
	if len(x.Cut) > 0 {
		a.print("  too long, and lost their end: %s\n", strings.Join(x.Cut, ", "))
	}
	a.print("\n")
}

// secondsCell prints a number of seconds that may not be known.
func secondsCell(x *float64) string {
	if x == nil {
		return "-"
	}
	return strconv.FormatFloat(*x, 'f', 2, 64)
}
