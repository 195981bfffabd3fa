// Package shim is the small process between Assay and a harness: it outlives the server that started it,
// so that a restart neither kills a harness nor forgets it.
//
// The package holds both ends. The shim itself (Main) is parent and subreaper of the harness; it owns the
// time limit, the grace and the orphan grace, masks and stores output, reads the report channel, and writes
// how the harness ended. The server's end (Launch, Look, Dial, Sweep) starts a shim, finds one again and
// cleans up after a dead one. Neither knows a database. The invariant: a shim holds the lock of its
// launch's folder from before its first instruction until it is gone, and exit.json is there only when no
// process of the harness is left and its log is whole.
//
//	          Launch            tree started                 leader exited
//	(nothing) ─────▶ starting ───────────────▶ executing ─────────────────────▶ ending ─▶ exit.json
//	                    │ cannot be started        │ stop, time limit, orphaned    ▲
//	                    │                          └──▶ stopping: TERM, grace, KILL┘
//	                    └──────────────────────────────────────────────▶ exit.json (launch_failed)
//
// docs/SUITES.md says what each file in the folder holds, and what follows from which are there.
package shim
