package engine

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Gate lets one call of this process run with nothing else in flight: a call that was in flight
// when the process died twice is tried alone, so that the next crash can be blamed on it.
type Gate struct{ sem *semaphore.Weighted }

// wide is more than all runs together can have in flight.
const wide = 1 << 40

// NewGate makes an open gate. One process has one.
func NewGate() *Gate { return &Gate{semaphore.NewWeighted(wide)} }

// TryEnter admits one ordinary call, or says that somebody runs alone or waits to.
func (g *Gate) TryEnter() bool { return g.sem.TryAcquire(1) }

// Leave ends a call that TryEnter admitted.
func (g *Gate) Leave() { g.sem.Release(1) }

// Alone waits until nothing is in flight and keeps everything else out until LeaveAlone.
func (g *Gate) Alone(ctx context.Context) error { return g.sem.Acquire(ctx, wide) }

// LeaveAlone ends the lonely call.
func (g *Gate) LeaveAlone() { g.sem.Release(wide) }
