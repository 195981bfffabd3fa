package main

import (
	"context"
	"errors"
	"fmt"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

type verdictsCmd struct {
	RunID   string `arg:"" name:"run" optional:"" help:"Run, e.g. r3."`
	Session string `placeholder:"USER/ID" help:"Every verdict on this session instead, newest first."`
	Judge   int    `placeholder:"N" help:"Only the Nth judge of the run."`
	Limit   int    `default:"0" placeholder:"N" help:"Verdicts at most; 0 is all."`
}

func (verdictsCmd) Help() string {
	return `A verdict is one judge version's answer about one session: a value per criterion with its reason and quoted evidence. Text is for reading; --json streams one verdict a line, however many there are.

Example:

    assay verdicts r3
    assay verdicts r3 --json | jq 'select(.pass == false)'
    assay verdicts --session alice/42`
}

func (c *verdictsCmd) Run(a *app) error {
	if (c.RunID == "") == (c.Session == "") {
		return misuse("name a run or a --session").WithHint("assay verdicts r3, or assay verdicts --session USER/ID")
	}
	if c.Session != "" {
		return c.session(a)
	}
	id, err := assay.ParseRunID(c.RunID)
	if err != nil {
		return err
	}
	d, err := a.look()
	if err != nil {
		return err
	}
	return a.printRunVerdicts(d, id, c.Judge, c.Limit)
}

// errEnough ends a stream whose limit is met.
var errEnough = errors.New("enough")

func (a *app) printRunVerdicts(d *door, id assay.RunID, judge, limit int) error {
	n := 0
	err := d.EachVerdict(a.ctx, id, judge, func(v assay.Verdict) error {
		if n++; limit > 0 && n > limit {
			return errEnough
		}
		return a.printVerdict(v)
	})
	if errors.Is(err, errEnough) {
		a.say("more verdicts were left; raise --limit, or --limit 0 for all")
		return nil
	}
	return err
}

func (c *verdictsCmd) session(a *app) error {
	user, id, err := assay.ParseSessionName(c.Session)
	if err != nil {
		return err
	}
	d, err := a.look()
	if err != nil {
		return err
	}
	more, err := each(a.ctx, c.Limit, func(ctx context.Context, p store.Page) (api.Page[assay.Verdict], error) {
		return d.SessionVerdicts(ctx, a.Project, user, id, p)
	}, a.printVerdict)
	if err == nil && more {
		a.say("more verdicts were left; raise --limit, or --limit 0 for all")
	}
	return err
}

func (a *app) printVerdict(v assay.Verdict) error {
	if a.JSON {
		return a.printLine(v)
	}
	a.print("%s  %s %s  %s", assay.SessionName(v.UserID, v.SessionID), v.Judge, shortHash(v.Version), passMark(v.Pass))
	if v.Reused {
		a.print("  reused from %s", v.Run.String())
	}
	if !v.Current {
		a.print("  about older content")
	}
	if v.Repeat > 0 {
		a.print("  repeat %d", v.Repeat)
	}
	a.print("\n")
	for _, f := range v.Findings {
		a.printFinding(f)
	}
	return nil
}

func (a *app) printFinding(f assay.Finding) {
	value := string(f.Value)
	switch {
	case f.Abstained:
		value = "abstained"
	case !f.Applies:
		value = "does not apply"
	}
	a.print("  %s: %s", f.Criterion, value)
	if f.Reason != "" {
		a.print(" - %s", f.Reason)
	}
	a.print("\n")
	for _, e := range f.Evidence {
		where := fmt.Sprintf("turn %d, message %d", e.Turn+1, e.Message+1)
		if !e.Verified {
			where = "not found in the transcript"
		}
		a.print("    %q (%s)\n", short(e.Quote, 200), where)
	}
}
