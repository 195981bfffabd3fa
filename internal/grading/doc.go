// Package grading carries out one grade run: frame, sample, items, judge, verdicts.
//
// It owns planning (which sessions, in which order, which verdicts are reused) and the loop that
// keeps a bounded number of judge calls in flight and commits in groups. It refuses to know how a
// judge answers and how rows are stored. Its invariants:
//
//   - an attempt is committed before its call leaves, and its answer before its slot is used again;
//   - no call leaves unless the run's row was read within engine.ConfirmFor;
//   - what a class of failure does is in assay.Policies and nowhere else.
//
// One goroutine per run owns all of the loop's state (loop.go). A cycle:
//
//	collect answers and drafts ─▶ settle each by its class ─▶ refill free slots (fill.go) ─▶ one fenced
//	commit: close attempts, end items, store verdicts, open the next attempts ─▶ let the opened calls
//	leave ─▶ pause when nothing can happen for long (pausing.go)
//
// A call of a model is drafted before it is opened (draft.go): until its budgets (budget.go, purse.go)
// have room for the most that it can cost it is nothing but an item in the queue. Where the process died
// before (marks), the prompt has an attempt of its own, which costs nothing: an item whose prompt kills the
// process is found as one whose call does.
package grading
