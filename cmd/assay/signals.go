package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"assay/internal/assay"
)

// sameSignal is how long after the first signal another is its echo: wrappers such as timeout(1) send
// it to the process and to its group.
const sameSignal = 300 * time.Millisecond

// afterForce says how to go on with the run that was followed.
func (a *app) afterForce() string {
	id := assay.RunID(a.followed.Load())
	if id == 0 {
		return ""
	}
	if a.harnessed.Load() {
		return fmt.Sprintf("; %s goes on being cancelled, and `assay watch %s` follows it", id, id)
	}
	return fmt.Sprintf("; what was answered is kept, and `assay watch %s` goes on with it", id)
}

// catchSignals makes a.ctx end at the first SIGINT or SIGTERM, so that the command stops
// gracefully, and ends the process at the second. State is in the database at every moment, so
// force costs only the answers of calls in flight.
func (a *app) catchSignals() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	a.ctx = ctx
	a.uninterrupted = signal.Ignored(os.Interrupt)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	a.stopCatching = func() { signal.Stop(signals) }
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case <-done:
				return
			case <-signals:
			}
			switch {
			case first.IsZero():
				first = time.Now()
				cancel()
			case time.Since(first) > sameSignal:
				fmt.Fprintln(a.err, "assay: ended by force"+a.afterForce())
				os.Exit(exitError)
			}
		}
	}()
	return func() { signal.Stop(signals); close(done); cancel() }
}
