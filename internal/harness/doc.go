// Package harness carries one suite run on: it has the harness launched behind its shim, follows what it
// says, tells it to end, and reads what it left.
//
// It owns the run's row from the moment that the run was taken up, and the order in which folder and row
// change. It refuses to know processes (shim does), formats of results and definitions (results and define
// do) and which run comes next (engine does). The invariant: a launch is started once, whoever drives and
// however often it is taken up, and the row says that a harness has ended only when no process of it is left
// or none can be reached for longer than its shim lives alone.
//
// A driver that stops leaves the run running and the harness alone; the next one looks at the launch's
// folder and goes on from what it finds (the table in docs/SUITES.md):
//
//	unlaunched ─▶ launch ─▶ starting ─▶ alive: follow ─▶ finished: read results, judge, end the row
//	                                        └──────────▶ dead: sweep, lost or the next launch
package harness
