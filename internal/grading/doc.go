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
//	collect answers ─▶ settle each by its class ─▶ refill free slots ─▶ one fenced commit:
//	close attempts, end items, store verdicts, open the next attempts ─▶ let the opened calls leave
package grading
