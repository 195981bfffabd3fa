package main

import (
	"encoding/json"
	"strconv"

	"assay/internal/api"
	"assay/internal/assay"
	report "assay/internal/report/old"
)

type reportCmd struct {
	runArg
}

func (reportCmd) Help() string {
	return `Counts of every item, coverage, and rates weighted to the frame, per judge and criterion, by day and arm. Where each session was graded more than once (--repeat) they take the first grading of each, and a table says how often gradings of the same session differ. The report of a retry reads the whole chain of runs. It can be asked for while the run runs. Of a suite's run it is how many of its cases passed.

Example:

    assay report r3
    assay report r3 --json > report.json`
}

func (c *reportCmd) Run(a *app) error {
	d, id, err := c.open(a, a.look)
	if err != nil {
		return err
	}
	v, err := d.Run(a.ctx, id)
	switch {
	case err != nil:
		return err
	case v.Suite != nil:
		return a.printCaseReport(v)
	}
	return a.printReport(d, id)
}

// caseReport is what can be said of a harness's run as a whole.
type caseReport struct {
	Run   assay.RunID      `json:"run"`
	Suite string           `json:"suite"`
	State assay.RunState   `json:"state"`
	Cases *assay.CaseTally `json:"cases,omitempty"`
	Rate  *float64         `json:"pass_rate,omitempty"`
}

func (a *app) printCaseReport(v api.RunView) error {
	r := caseReport{Run: v.ID, Suite: v.Suite.Name, State: v.State, Cases: v.Cases}
	if v.Cases != nil {
		r.Rate = v.Cases.PassRate()
	}
	if a.JSON {
		return a.printJSON(r)
	}
	a.print("%s\n", headText(v))
	a.print("suite       %s\n", r.Suite)
	if r.Cases == nil {
		a.print("cases       none\n")
		return nil
	}
	a.print("cases       %d: %s: `assay runs cases %s`\n", r.Cases.Total, r.Cases.Parts(), v.ID.String())
	if r.Rate != nil {
		a.print("pass rate   %s (%d of the %d that passed or failed)\n", strconv.FormatFloat(*r.Rate, 'g', 3, 64), r.Cases.Passed, r.Cases.Passed+r.Cases.Failed)
	}
	return nil
}

func (a *app) printReport(d *door, id assay.RunID) error {
	if a.JSON {
		raw, err := d.Report(a.ctx, id)
		if err != nil {
			return err
		}
		return a.printJSON(raw)
	}
	r, err := a.report(d, id)
	if err != nil {
		return err
	}
	return report.Text(a.out, r, a.width())
}

// printNoise prints what a run found that graded each session more than once to see how its judges differ.
func (a *app) printNoise(d *door, id assay.RunID) error {
	r, err := a.report(d, id)
	if err != nil {
		return err
	}
	return report.NoiseText(a.out, r, a.width())
}

func (a *app) report(d *door, id assay.RunID) (r report.Report, err error) {
	raw, err := d.Report(a.ctx, id)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, assay.Errorf(assay.CodeInternal, "read report of %s: %w", id, err).WithHint("is the server of another version? `assay doctor` tells")
	}
	return r, nil
}
