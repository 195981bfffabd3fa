package grading

import (
	"context"
	"testing"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
)

// Who asks about one session again may have mended what the paused run waits for: a key, a budget, a
// server. The new request takes the place of the old one instead of telling its old news.
func TestANewRequestTakesThePlaceOfAPausedOne(t *testing.T) {
	onEach(t, func(t *testing.T, s store.Store) {
		w := newWorld(t, s, 3)
		w.judge.script(func(context.Context, judge.Question, int) judge.Reply { return failing(assay.ClassBadCredentials) })
		w.drive()
		q := engine.GradeRequest{Judges: []string{"j"}, Session: "u0/s00000"}
		old := w.until(w.grade(q).ID, assay.RunPaused)
		w.judge.script(nil)
		now := w.grade(q)
		if now.ID == old.ID {
			t.Fatal("the paused run was told again")
		}
		w.until(now.ID, assay.RunCompleted)
		w.until(old.ID, assay.RunCancelled)
	})
}
