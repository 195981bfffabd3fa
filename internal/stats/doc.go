// Package stats turns counts into estimates. Its functions are pure.
//
// It owns the formulas: levels and differences of stratified samples with their intervals and tests, agreement,
// correction by labels, repeated tasks, and planning. docs/NUMBERS.md says what each is for, and
// docs/SIMULATION.md how often the intervals are right. It refuses to know storage and domain words: a stratum
// has a label, a line of neighbours that it belongs to, and counts; a user is a number.
//
// Its invariants: what is undefined is absent with a reason, never 0 and never NaN. Neither the order of rows nor
// the names of strata and users change a bit of any number. Every interval names its method and its confidence.
package stats
