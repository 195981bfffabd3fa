// Package stats turns counts into estimates. Its functions are pure.
//
// It owns the formulas. It refuses to know storage and domain words: a stratum has a label, a line
// of neighbours that it belongs to, and counts. Its invariant: an estimate that is undefined is
// absent with a reason; it is never 0 and never NaN.
//
// What is here are point estimates for the window (this frozen population), with coverage and
// worst-case bounds, and how much repeated measurements of one unit differ. Intervals are not: nothing here says how far chance may have moved a number.
package stats
