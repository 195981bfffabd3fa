package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// catchSignals makes a.ctx end at the first SIGINT or SIGTERM, so that the command stops
// gracefully, and ends the process at the second. State is in the database at every moment, so
// force costs only the answers of calls in flight.
func (a *app) catchSignals() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	a.ctx = ctx
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-signals:
			}
			if n > 0 {
				fmt.Fprintln(a.err, "assay: ended by force")
				os.Exit(exitError)
			}
			cancel()
		}
	}()
	return func() { signal.Stop(signals); close(done); cancel() }
}
