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
	State  string `placeholder:"STATE" enum:"graded,errored,ungradable," default:"" help:"Only cases that ended so: graded, errored, ungradable."`
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
	q := api.CaseQuery{State: assay.ItemState(c.State)}
	if c.Failed {
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
			t.row(short(x.Key, 60), strconv.Itoa(x.Repeat), string(x.State), passMark(x.Pass), checksText(x.Findings), secondsCell(x.Seconds), short(orDash(caseWhy(x)), 80))
			return nil
		})
	switch {
	case err != nil || a.JSON:
		return err
	case n == 0:
		a.say("%s has no such case; `assay runs show %s` says what its result files held", id, id)
		return nil
	case c.Full:
		if more {
			a.say("more cases were left; raise --limit, or --limit 0 for all")
		}
		return nil
	}
	return a.endTable(t, more)
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
	a.print("%s  %s, %s", x.Key, string(x.State), passMark(x.Pass))
	if x.Class != "" {
		a.print(" (%s)", string(x.Class))
	}
	a.print("\n")
	for _, part := range []struct{ name, text string }{
		{"place", x.Place}, {"error", x.Error}, {"input", x.Input}, {"expected", x.Expected}, {"output", x.Output}, {"model", x.Model},
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
