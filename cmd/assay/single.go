package main

import (
	"slices"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// finishSingle waits for a run of one session and prints its verdicts.
func (a *app) finishSingle(d *door, id assay.RunID) error {
	v, err := a.follow(d, id, quiet{})
	if err != nil {
		return err
	}
	if v.State != assay.RunCompleted {
		return outcome(v)
	}
	return a.printRunVerdicts(d, id, 0, "", 0)
}

// sayReplaced tells which paused run a new one about the same session took the place of.
func (a *app) sayReplaced(d *door, g api.Graded) error {
	if g.Kind != assay.RunSingle || g.Replayed {
		return nil
	}
	runs, err := d.Runs(a.ctx, api.RunQuery{Project: a.Project, Kind: assay.RunSingle}, store.Page{Limit: pageSize})
	if err != nil {
		return err
	}
	for _, r := range runs.Items {
		if r.ID >= g.ID || r.Spec.Frame.Session != g.Spec.Frame.Session || !slices.EqualFunc(r.Spec.Judges, g.Spec.Judges, sameVersion) {
			continue
		}
		if r.State == assay.RunCancelled && r.Sentence == engine.ReplacedSentence {
			a.say("%s takes the place of %s, which was paused and is cancelled now", g.ID, r.ID)
		}
		return nil
	}
	return nil
}

func sameVersion(a, b assay.RunJudge) bool { return a.Version == b.Version }
