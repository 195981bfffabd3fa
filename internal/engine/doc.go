// Package engine says what runs next and what may become of a run.
//
// It owns the state machine of runs (machine.go, one table), their keys, asks (cancel, pause,
// resume, end, retry), what external runs report, and the interface by which a kind of run is driven. It
// refuses to know what a judge, a sample and a harness are: those arrive as a Planner, a SuiteResolver and
// as Drivers. Its invariant: a state is
// changed only along a row of the table, by a conditional change of the run's row.
//
//	           take_up                    done, end
//	queued ───────────────▶ running ───────────────────▶ completed
//	  ▲  ▲                   │ │ ▲ │  fail
//	  │  └─────── stop ──────┘ │ └─┼── driver_dead (epoch + 1)
//	  │                  pause │   └───────────────────▶ failed
//	  │ resume, wake           ▼
//	  └──────────────────── paused ── end ─────────────▶ completed
//
//	cancel: from queued, running and paused to cancelled, once nothing is in flight
//	a run begins queued; one that is told of by a harness that runs elsewhere begins running
//	lost: from running, of suite and external runs only; a suite that may be started again goes by stop
//
// Epochs and the fence. A driver holds a run at an epoch. Everything that it writes begins by
// locking the run's row at that epoch; when another process has taken the run up (epoch + 1), the
// write does nothing and returns assay.ErrLost, and the driver stops. What it had paid for is
// written as late attempts, which make no verdict.
//
// Confirmation. A driver starts no call unless it read its run's row within the last second
// (ConfirmFor). That bounds what may happen after a cancel was answered, after a takeover and after
// the database went away, without any message having to arrive. It bounds when calls start, not when
// they end: a driver that lost its run gives those in flight StopGrace, then cuts them. What they brought
// is stored as late attempts, because it was paid for.
package engine
