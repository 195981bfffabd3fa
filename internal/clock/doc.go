// Package clock starts runs by schedules.
//
// It owns when a schedule is due (a cron expression in a zone) and what becomes of each of its ticks. It
// refuses to know what a run does: it asks the engine for a suite or a grade run, as a door does. Its
// invariant: of one tick at most one run is started, whoever looks, however often, and whenever a process
// dies; and no tick is passed over without a word.
//
// The tick that a schedule owes stands in its row (NextAt). Once a second:
//
//	due rows ─▶ read again ─▶ missed? ────────────────────────────▶ Ticked: what became of it, and the
//	                          start, with the owed tick as           next tick, strictly after now
//	                          idempotency key ─▶ started, refused ─▶
//	                                          ─▶ key held: skip ───▶
//	                                                       queue ──▶ stays owed, looked at again
//	                                          ─▶ store away ───────▶ stays owed, for RetryFor
//
// Who pauses or changes a schedule between start and Ticked finds the run as its last all the same.
// A process that dies between start and Ticked leaves the tick owed: whoever looks next gets the same run
// from the idempotency record. Several ticks that have come due are dealt with as one, the latest, which
// counts the others as coalesced; the key is that of the first, which is the one that the row names.
//
// A grade schedule grades what became eligible since its last run: since that run's AsOf, whether a tick
// started it or RunNow. It is looked up in the rows of runs, not in the schedule's, so that no crash and no
// changed definition can lose it. A run that ended before it was planned graded nothing and is passed over.
// The first run is since ever, or since what the definition says.
package clock
