package main

import (
	"encoding/json"

	"assay/internal/assay"
	"assay/internal/report"
)

type reportCmd struct {
	runArg
}

func (reportCmd) Help() string {
	return `Counts of every item, coverage, and rates weighted to the frame, per judge and criterion, by day and arm. Where each session was graded more than once (--repeat) they take the first grading of each, and a table says how often gradings of the same session differ. The report of a retry reads the whole chain of runs. It can be asked for while the run runs.

Example:

    assay report r3
    assay report r3 --json > report.json`
}

func (c *reportCmd) Run(a *app) error {
	d, id, err := c.open(a, a.look)
	if err != nil {
		return err
	}
	return a.printReport(d, id)
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
