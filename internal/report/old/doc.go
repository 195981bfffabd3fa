// Package old says what a run found, with honest numbers.
//
// It owns the shape of a report and its text for a terminal. It refuses to know how a run is carried
// on and how a number is estimated: rows come from store, formulas from stats. Its invariant: no
// number without its target, its n and its coverage, and none at all where it is undefined, but the
// reason instead.
//
// While a run is not terminal the estimates cover a completed prefix of its items in dispatch order
// only. Whatever ended first would favour short sessions; the prefix is a random sample of every
// stratum (package sampling). A retry that has not ended contributes nothing yet for the same reason.
package old
