package main

import (
	"encoding/json"
	"io"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/report/compare"
	"assay/internal/report/print"
	"assay/internal/store"
)

type compareCmd struct {
	A          string   `arg:"" help:"The baseline, e.g. r3; last~1 is the run before the newest."`
	B          string   `arg:"" help:"The run that is held against it; last is the project's newest."`
	By         string   `enum:"session,case,none," default:"" placeholder:"KEY" help:"How sessions are paired: session (the judge changed), case (the agent changed) or none. Default: by what fits."`
	Judge      string   `placeholder:"NAME" help:"Which judge, where the runs have several."`
	JudgeA     string   `placeholder:"NAME" help:"Which judge of A, where it is not that of B."`
	JudgeB     string   `placeholder:"NAME" help:"Which judge of B."`
	Primary    string   `placeholder:"NAME" help:"The question that was declared before looking. Default: pass."`
	Confidence float64  `placeholder:"SHARE" help:"Of intervals. Default: 0.95."`
	FailIf     []string `sep:"none" placeholder:"GATE" help:"Fail where this holds: 'drop > 0.02', 'drop:tone > 1%', 'coverage < 0.95'. Exit status 3 is failed, 4 inconclusive. Can be given several times."`
	Flips      int      `default:"20" placeholder:"N" help:"List so many of the pairs that changed; 0 is none. Default: 20."`
	Criterion  string   `placeholder:"NAME" help:"Whose flips are listed. Default: pass."`
	outputFlags
}

func (compareCmd) Help() string {
	return `Says first what differs between the runs: the judge, the agent, the sessions. Then the drop, A - B, over pairs that both sides answered, weighted as A's sample was drawn, with its interval; by arm and stratum; what was left out and why; and the pairs that flipped, with both reasons. Where the judge's noise was measured (grade --repeat) it says how many flips are expected from that alone.

Example:

    assay compare r3 r4
    assay compare r3 r4 --fail-if 'drop > 0.02' --fail-if 'coverage < 0.95'
    assay compare last~1 last -o comparison.html
    assay compare r3 last --format junit -o gates.xml`
}

func (c *compareCmd) Run(a *app) error {
	f, err := c.format(a)
	if err != nil {
		return err
	}
	d, idA, err := runArg{c.A}.open(a, a.look)
	if err != nil {
		return err
	}
	_, idB, err := runArg{c.B}.open(a, func() (*door, error) { return d, nil })
	if err != nil {
		return err
	}
	q := api.CompareQuery{Key: c.By, JudgeA: c.JudgeA, JudgeB: c.JudgeB, Primary: c.Primary, Confidence: c.Confidence, Gates: c.FailIf}
	if c.Judge != "" {
		q.JudgeA, q.JudgeB = or(q.JudgeA, c.Judge), or(q.JudgeB, c.Judge)
	}
	raw, err := d.Compare(a.ctx, idA, idB, q)
	if err != nil {
		return err
	}
	var v compare.Comparison
	if err := json.Unmarshal(raw, &v); err != nil {
		return assay.Errorf(assay.CodeInternal, "read the comparison of %s and %s: %w", idA, idB, err).WithHint("is the server of another version? `assay doctor` tells")
	}
	flips, err := c.flips(a, d, idA, idB, q, v)
	if err != nil {
		return err
	}
	if err := c.write(a, func(w io.Writer, columns int) error {
		if f == print.JSON {
			return writeRaw(w, withFlips(raw, flips))
		}
		return print.Comparison(w, f, v, flips, columns)
	}); err != nil {
		return err
	}
	return gated(v.Gates)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// flips are those that are listed; none where there are no pairs of yes and no.
func (c *compareCmd) flips(a *app, d *door, idA, idB assay.RunID, q api.CompareQuery, v compare.Comparison) ([]compare.Flip, error) {
	if c.Flips <= 0 || v.Pairing.Key == compare.ByNone {
		return nil, nil
	}
	page, err := d.Flips(a.ctx, idA, idB, q, api.FlipQuery{Criterion: c.Criterion}, store.Page{Limit: min(c.Flips, api.MaxLimit)})
	return page.Items, err
}

// withFlips adds flips to a comparison as it came.
func withFlips(raw json.RawMessage, flips []compare.Flip) json.RawMessage {
	if len(flips) == 0 {
		return raw
	}
	list, err := json.Marshal(flips)
	if err != nil || len(raw) == 0 || raw[len(raw)-1] != '}' {
		return raw
	}
	out := append(raw[:len(raw)-1:len(raw)-1], `,"flips":`...)
	return append(append(out, list...), '}')
}
