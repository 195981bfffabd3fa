// Package draw chooses which graded sessions people label.
//
// It owns the choice and the probability of each member. It refuses to know how labels are given. Its invariant: a
// draw is a pure function of the run's verdicts, the method, the size and the seed, and every member of one that is
// a probability sample has the probability with which it was drawn among the graded sessions of its run.
package draw

import (
	"context"

	"assay/internal/assay"
	"assay/internal/store"
)

// Request says what to draw.
type Request struct {
	Run       assay.Run
	Judge     string // "" where the run has one
	Criterion string // "" is pass
	Method    assay.DrawMethod
	N         int
	Seed      string // "" is a fixed one
	By        string
	Against   *assay.Run // of disagreements: another run of the same contents; nil: against labels
}

// Sample chooses the members and says what a draw would be; it writes nothing (store.Labels.CreateDraw does).
func Sample(ctx context.Context, s store.Store, p assay.Project, q Request) (assay.Draw, []assay.DrawMember, error) {
	return assay.Draw{}, nil, assay.Errorf(assay.CodeInternal, "draws are not built yet")
}
