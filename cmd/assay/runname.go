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
	RunID string `arg:"" name:"run" help:"Run, e.g. r3; last is the project's newest, last~1 the one before, last:SUITE the newest of a suite."`
}

// newest is what a person may write for the project's newest run; newest:SUITE is that of one suite, and newest~1
// the run before the newest.
const newest = "last"

// before is newest~N.
var before = regexp.MustCompile(`^last~([1-9][0-9]{0,2})$`)

// open opens a door for a command about a run. A name that is none is refused before anything is opened.
func (r runArg) open(a *app, open func() (*door, error)) (*door, assay.RunID, error) {
	var id assay.RunID
	suite, ofSuite := strings.CutPrefix(r.RunID, newest+":")
	back := 0
	if m := before.FindStringSubmatch(r.RunID); m != nil {
		back, _ = strconv.Atoi(m[1]) // it has three digits at most
	}
	switch ofSuite = ofSuite && suite != ""; {
	case ofSuite, r.RunID == newest, back > 0:
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
		if id, err = a.newestRun(d, suite, back); err != nil {
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

// newestRun is the project's newest run, or where one is named the newest of a suite; back is how many newer ones
// are passed over.
func (a *app) newestRun(d *door, suite string, back int) (assay.RunID, error) {
	runs, err := d.Runs(a.ctx, api.RunQuery{Project: a.Project, Suite: suite}, store.Page{Limit: back + 1})
	switch {
	case err != nil:
		return 0, err
	case len(runs.Items) > back:
		return runs.Items[back].ID, nil
	case suite != "":
		return 0, assay.Errorf(assay.CodeNotFound, "the suite %s in project %s, %s, has no run", suite, a.Project, a.place()).
			WithHint("`assay suite run %s` starts one, `assay suite list` shows which suites there are", suite)
	case len(runs.Items) > 0:
		return 0, assay.Errorf(assay.CodeNotFound, "project %s in %s has only %s", a.Project, a.place(), count(int64(len(runs.Items)), "run")).WithHint("`assay runs` lists them")
	}
	return 0, assay.Errorf(assay.CodeNotFound, "project %s in %s has no run", a.Project, a.place()).WithHint("`assay grade` or `assay suite run` starts one")
}
