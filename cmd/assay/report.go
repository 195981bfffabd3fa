package main

import (
	"encoding/json"

	"assay/internal/assay"
	"assay/internal/report"
)

type reportCmd struct {
	RunID string `arg:"" name:"run" help:"Run, e.g. r3."`
}

func (reportCmd) Help() string {
	return `Counts of every item, coverage, and rates weighted to the frame, per judge and criterion, by day and arm. The report of a retry reads the whole chain of runs. It can be asked for while the run runs.

Example:

    assay report r3
    assay report r3 --json > report.json`
}

func (c *reportCmd) Run(a *app) error {
	id, err := assay.ParseRunID(c.RunID)
	if err != nil {
		return err
	}
	d, err := a.look()
	if err != nil {
		return err
	}
	return a.printReport(d, id)
}

func (a *app) printReport(d *door, id assay.RunID) error {
	raw, err := d.Report(a.ctx, id)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.printJSON(raw)
	}
	var r report.Report
	if err := json.Unmarshal(raw, &r); err != nil {
		return assay.Errorf(assay.CodeInternal, "read report of %s: %w", id, err).WithHint("is the server of another version? `assay doctor` tells")
	}
	return report.Text(a.out, r, a.width())
}
