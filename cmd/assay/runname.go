package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

// runArg names a run on the command line.
type runArg struct {
	RunID string `arg:"" name:"run" help:"Run, e.g. r3; last is the project's newest, last:SUITE the newest of a suite."`
}

// newest is what a person may write for the project's newest run; newest:SUITE is that of one suite.
const newest = "last"

// open opens a door for a command about a run. A name that is none is refused before anything is opened.
func (r runArg) open(a *app, open func() (*door, error)) (*door, assay.RunID, error) {
	var id assay.RunID
	suite, ofSuite := strings.CutPrefix(r.RunID, newest+":")
	switch ofSuite = ofSuite && suite != ""; {
	case ofSuite, r.RunID == newest:
	default:
		var err error
		if id, err = assay.ParseRunID(r.RunID); err != nil {
			return nil, 0, noRunName(r.RunID)
		}
	}
	d, err := open()
	if err != nil {
		return nil, 0, err
	}
	if id == 0 {
		if !ofSuite {
			suite = ""
		}
		if id, err = a.newestRun(d, suite); err != nil {
			return nil, 0, err
		}
	}
	d.sayCarried(id)
	return d, id, nil
}

// noRunName says how runs are named to a person who wrote a number or a suite.
func noRunName(given string) error {
	hint := "`assay runs` lists them"
	switch n, err := strconv.ParseInt(given, 10, 64); {
	case err == nil && n > 0:
		hint = fmt.Sprintf("the run of that number is r%d", n)
	case err != nil && suiteName.MatchString(given):
		hint = fmt.Sprintf("`%s:%s` is the newest run of the suite %s, if there is one", newest, given, given)
	}
	return assay.Errorf(assay.CodeInvalid, "%q names no run: write r17, %s for the project's newest, or %s:SUITE for the newest of a suite", given, newest, newest).
		WithHint("%s", hint)
}

// suiteName is what a suite may be called.
var suiteName = regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)

// newestRun is the project's newest run, or where one is named the newest of a suite.
func (a *app) newestRun(d *door, suite string) (assay.RunID, error) {
	runs, err := d.Runs(a.ctx, api.RunQuery{Project: a.Project, Suite: suite}, store.Page{Limit: 1})
	switch {
	case err != nil:
		return 0, err
	case len(runs.Items) > 0:
		return runs.Items[0].ID, nil
	case suite != "":
		return 0, assay.Errorf(assay.CodeNotFound, "the suite %s in project %s, %s, has no run", suite, a.Project, a.place()).
			WithHint("`assay suite run %s` starts one, `assay suite list` shows which suites there are", suite)
	}
	return 0, assay.Errorf(assay.CodeNotFound, "project %s in %s has no run", a.Project, a.place()).WithHint("`assay grade` or `assay suite run` starts one")
}
