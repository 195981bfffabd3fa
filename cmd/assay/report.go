package main

import (
	"encoding/json"
	"io"
	"strconv"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/report"
	"assay/internal/report/print"
)

type reportCmd struct {
	runArg
	Target     string   `enum:"window,process," default:"" placeholder:"TARGET" help:"window: the level of exactly these sessions. process: what the agent does on traffic like this. Default: window."`
	Confidence float64  `placeholder:"SHARE" help:"Of intervals. Default: 0.95."`
	Control    string   `placeholder:"ARM" help:"The arm that lifts are against. Default: control, else the largest."`
	Shares     string   `placeholder:"SHARES" help:"How sessions were meant to go to arms: treatment=5,control=95, or any where that changed. Default: to all alike."`
	FailIf     []string `sep:"none" placeholder:"GATE" help:"Fail where this holds: 'rate < 0.9', 'rate:tone < 80%', 'lift < 0', 'coverage < 0.95', 'errors > 5%'. Exit status 3 is failed, 4 inconclusive. Can be given several times."`
	outputFlags
}

func (reportCmd) Help() string {
	return `What a run found: per judge and question the weighted level with its interval, n, N, coverage and worst cases, over the frame and by day, arm, agent version and source; the lift between arms, after a check that sessions went to arms as meant; what the fails say; what broke; how long calls took and what they cost. Where each session was graded more than once (--repeat) levels take the first grading of each, and a table says how often gradings of the same session differ. The report of a retry reads the whole chain of runs. It can be asked for while the run runs, of the beginning that has ended. Of a suite's run it is how many of its cases passed.

Example:

    assay report r3
    assay report r3 --target process --fail-if 'rate < 0.9'
    assay report r3 -o report.html
    assay report r3 --json > report.json`
}

func (c *reportCmd) Run(a *app) error {
	f, err := c.format(a)
	if err != nil {
		return err
	}
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
	q := api.ReportQuery{Target: c.Target, Confidence: c.Confidence, Control: c.Control, Shares: c.Shares, Gates: c.FailIf}
	raw, r, err := a.reportOf(d, id, q)
	if err != nil {
		return err
	}
	if err := c.write(a, func(w io.Writer, columns int) error {
		if f == print.JSON {
			return writeRaw(w, raw)
		}
		return print.Report(w, f, r, columns)
	}); err != nil {
		return err
	}
	return gated(r.Gates)
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
	raw, r, err := a.reportOf(d, id, api.ReportQuery{})
	switch {
	case err != nil:
		return err
	case a.JSON:
		return writeRaw(a.out, raw)
	}
	return print.Report(a.out, print.Text, r, a.width())
}

// printNoise prints what a run found that graded each session more than once to see how its judges differ.
func (a *app) printNoise(d *door, id assay.RunID) error {
	_, r, err := a.reportOf(d, id, api.ReportQuery{})
	if err != nil {
		return err
	}
	return print.Noise(a.out, r, a.width())
}

// reportOf is a report as it came, and as it is printed.
func (a *app) reportOf(d *door, id assay.RunID, q api.ReportQuery) (raw json.RawMessage, r report.Report, err error) {
	if raw, err = d.Report(a.ctx, id, q); err != nil {
		return nil, r, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, r, assay.Errorf(assay.CodeInternal, "read report of %s: %w", id, err).WithHint("is the server of another version? `assay doctor` tells")
	}
	return raw, r, nil
}

// writeRaw indents JSON as it came.
func writeRaw(w io.Writer, raw json.RawMessage) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(raw)
}
