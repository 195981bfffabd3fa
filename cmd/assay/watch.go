package main

import "assay/internal/api"

type watchCmd struct {
	runArg
}

func (watchCmd) Help() string {
	return `Works from any terminal. Where nobody drives, this process takes the run up; where the process that drives ends, this one goes on, until "assay serve" is there to do it. With --json every change is one line.

A run that pauses because nothing answers goes on by itself and is waited for. Exit status 0 when the run completes; 1 when it fails, is cancelled, or pauses until somebody acts.

Example:

    assay watch r3`
}

func (c *watchCmd) Run(a *app) error {
	d, id, err := c.open(a, a.driveMeanwhile)
	if err != nil {
		return err
	}
	if !a.JSON {
		return a.finish(d, id)
	}
	v, err := a.follow(d, id, &jsonLines{app: a})
	if err != nil {
		return err
	}
	return outcome(v)
}

// jsonLines prints every change of a run as one object on stdout.
type jsonLines struct{ app *app }

func (j *jsonLines) see(v api.RunView) { _ = j.app.printLine(v) }
func (j *jsonLines) end()              {}
