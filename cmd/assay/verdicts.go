package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

type verdictsCmd struct {
	RunID   string `arg:"" name:"run" optional:"" help:"Run, e.g. r3; last is the project's newest, last:SUITE the newest of a suite."`
	Session string `placeholder:"USER/ID" help:"Only verdicts on this session; without a run those of every run, newest first."`
	Judge   int    `placeholder:"N" help:"Only the Nth judge of the run."`
	Limit   *int   `placeholder:"N" help:"Verdicts at most; 0 is all. Default: 50, with --json all."`
}

func (verdictsCmd) Help() string {
	return `A verdict is one judge version's answer about one session: a value per criterion with its reason and quoted evidence. Text is for reading, with at most three quotes each; --json streams whole verdicts, one a line, however many there are.

Example:

    assay verdicts r3
    assay verdicts r3 --json | jq 'select(.pass == false)'
    assay verdicts r3 --session alice/42
    assay verdicts --session alice/42`
}

func (c *verdictsCmd) Run(a *app) error {
	switch {
	case c.RunID == "" && c.Session == "":
		return misuse("name a run or a --session").WithHint("assay verdicts r3, or assay verdicts --session USER/ID")
	case c.RunID == "":
		return c.session(a)
	}
	name := ""
	if c.Session != "" {
		user, session, err := assay.ParseSessionName(c.Session)
		if err != nil {
			return err
		}
		name = assay.SessionName(user, session)
	}
	d, id, err := runArg{c.RunID}.open(a, a.look)
	if err != nil {
		return err
	}
	return a.printRunVerdicts(d, id, c.Judge, name, c.limit(a))
}

// limit is how many verdicts are printed; 0 is all. A person who asked for no number gets what can
// be read, a program everything.
func (c *verdictsCmd) limit(a *app) int {
	switch {
	case c.Limit != nil:
		return *c.Limit
	case a.JSON:
		return 0
	}
	return 50
}

// errEnough ends a stream whose limit is met.
var errEnough = errors.New("enough")

// printRunVerdicts prints the verdicts of a run, or those on one of its sessions.
func (a *app) printRunVerdicts(d *door, id assay.RunID, judge int, session string, limit int) error {
	run, err := d.Run(a.ctx, id)
	if err != nil {
		return err
	}
	n := 0
	err = d.EachVerdict(a.ctx, id, judge, func(v assay.Verdict) error {
		if session != "" && session != assay.SessionName(v.UserID, v.SessionID) {
			return nil
		}
		if n++; limit > 0 && n > limit {
			return errEnough
		}
		return a.printVerdict(v, repeatMark(v, run.Spec.Repeats))
	})
	if errors.Is(err, errEnough) {
		a.say("more verdicts were left; raise --limit, or --limit 0 for all")
		return nil
	}
	if err == nil && n == 0 {
		a.say("no verdict; `assay runs show %s` tells how its items ended", id)
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
	repeats := map[assay.RunID]int{}
	more, err := each(a.ctx, c.limit(a), func(ctx context.Context, p store.Page) (api.Page[assay.Verdict], error) {
		return d.SessionVerdicts(ctx, a.Project, user, id, p)
	}, func(v assay.Verdict) error {
		if _, known := repeats[v.Run]; !known {
			run, err := d.Run(a.ctx, v.Run)
			if err != nil {
				return err
			}
			repeats[v.Run] = run.Spec.Repeats
		}
		return a.printVerdict(v, "  "+v.Run.String()+repeatMark(v, repeats[v.Run]))
	})
	if err == nil && more {
		a.say("more verdicts were left; raise --limit, or --limit 0 for all")
	}
	return err
}

// repeatMark tells apart the gradings of a session, from 0, of a run that makes several.
func repeatMark(v assay.Verdict, repeats int) string {
	if repeats < 2 && v.Repeat == 0 {
		return ""
	}
	return fmt.Sprintf("  repeat %d", v.Repeat)
}

// subject is what was judged: a session, or a harness's case, which belongs to no user.
func subject(user, id string) string {
	if user == "" {
		return id
	}
	return assay.SessionName(user, id)
}

func (a *app) printVerdict(v assay.Verdict, run string) error {
	if a.JSON {
		return a.printLine(v)
	}
	a.print("%s  %s %s  %s%s", subject(v.UserID, v.SessionID), v.Judge, shortHash(v.Version), passMark(v.Pass), run)
	if v.Reused {
		a.print("  reused from %s", v.Run.String())
	}
	if !v.Current {
		a.print("  about older content")
	}
	a.print("\n")
	for _, f := range v.Findings {
		a.printFinding(f)
	}
	return nil
}

// shownQuotes is how many quotes of a finding a person is shown.
const shownQuotes = 3

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
	for _, e := range f.Evidence[:min(len(f.Evidence), shownQuotes)] {
		where := fmt.Sprintf("turn %d, message %d", e.Turn, e.Message)
		if !e.Verified {
			where = "not found in the transcript"
		}
		a.print("    > %s  (%s)\n", short(e.Quote, 160), where)
	}
	if rest := len(f.Evidence) - shownQuotes; rest > 0 {
		a.print("    > %s more; --json shows all\n", humanize.Comma(int64(rest)))
	}
}
