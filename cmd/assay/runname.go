package main

import (
	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

// runArg names a run on the command line.
type runArg struct {
	RunID string `arg:"" name:"run" help:"Run, e.g. r3; last is the project's newest."`
}

// newest is what a person may write for the project's newest run.
const newest = "last"

// open opens a door for a command about a run. A name that is none is refused before anything is opened.
func (r runArg) open(a *app, open func() (*door, error)) (*door, assay.RunID, error) {
	var id assay.RunID
	if r.RunID != newest {
		var err error
		if id, err = assay.ParseRunID(r.RunID); err != nil {
			return nil, 0, err
		}
	}
	d, err := open()
	if err != nil {
		return nil, 0, err
	}
	if id == 0 {
		if id, err = a.newestRun(d); err != nil {
			return nil, 0, err
		}
	}
	d.sayCarried(id)
	return d, id, nil
}

func (a *app) newestRun(d *door) (assay.RunID, error) {
	runs, err := d.Runs(a.ctx, api.RunQuery{Project: a.Project}, store.Page{Limit: 1})
	if err != nil {
		return 0, err
	}
	if len(runs.Items) == 0 {
		return 0, assay.Errorf(assay.CodeNotFound, "project %s in %s has no run", a.Project, a.place()).WithHint("`assay grade` starts one")
	}
	return runs.Items[0].ID, nil
}
