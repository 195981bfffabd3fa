// Package report says what a run found, with honest numbers.
//
// It owns what a report holds. It refuses to know how a run is carried on, how a number is estimated and how a page
// looks: rows come from report/extract, formulas from stats, pages from report/print. Its invariant: no number
// without its target, its interval, its n and its coverage, and none at all where it is undefined, but the reason
// instead.
//
// While a run is not terminal the estimates cover a completed prefix of its items in dispatch order only. Whatever
// ended first would favour short sessions; the prefix is a random sample of every stratum (package sampling). A
// retry that has not ended contributes nothing yet for the same reason.
//
// Its rooms: extract (rows into columns), number (the shape of an estimate), gate (a decision about one), compare,
// check and draw (judges against labels), propose (sizes for a plan), page and print (what people see).
package report
