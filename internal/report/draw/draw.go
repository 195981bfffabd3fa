// Package draw chooses which graded sessions people label.
//
// It owns the choice and the probability of each member. It refuses to know how labels are given. Its invariant: a
// draw is a pure function of the run's verdicts, the method, the size and the seed, and every member of one that is
// a probability sample has the probability with which it was drawn among the graded sessions of its run.
package draw

import "assay/internal/assay"

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
