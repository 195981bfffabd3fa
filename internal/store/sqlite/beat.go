package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// gather is how long heartbeats wait for others after some were written, and together how many one
// transaction takes. Each run has several a second, they go before other writes, and a transaction of its
// own for each would leave hundreds of runs no time for anything else.
const (
	gather   = 20 * time.Millisecond
	together = 500
)

// beats are the heartbeats that wait to be written. Nobody who finds others waiting writes: whoever came
// first does it for all.
type beats struct {
	write *writer

	mu      sync.Mutex
	waiting []*pulse
	writing bool      // somebody looks after those that wait
	last    time.Time // when some were written
}

type pulse struct {
	fence   store.Fence
	now     time.Time
	control assay.RunControl
	err     error
	done    chan struct{} // closed when the others are there
}

// beat stores a heartbeat under its fence. One whose ctx ends may be stored all the same.
func (b *beats) beat(ctx context.Context, f store.Fence, now time.Time) (assay.RunControl, error) {
	if ctx.Err() != nil {
		return assay.RunControl{}, context.Cause(ctx)
	}
	p := &pulse{fence: f, now: now, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, p)
	if !b.writing {
		b.writing = true
		go b.flush(context.WithoutCancel(ctx), max(0, gather-time.Since(b.last)))
	}
	b.mu.Unlock()
	select {
	case <-p.done:
		return p.control, p.err
	case <-ctx.Done():
		return assay.RunControl{}, context.Cause(ctx)
	}
}

// flush writes what waits until nothing does.
func (b *beats) flush(ctx context.Context, wait time.Duration) {
	for {
		if wait > 0 {
			<-time.After(wait)
		}
		var group []*pulse
		err := b.write.do(ctx, forBeat, func(t tx) error {
			group = b.take()
			for _, p := range group {
				p.control, p.err = beat(ctx, t, p.fence, p.now)
				if p.err != nil && !errors.Is(p.err, assay.ErrLost) {
					return p.err
				}
			}
			return nil
		})
		if group == nil {
			group = b.take() // the transaction did not begin
		}
		for _, p := range group {
			if err != nil {
				p.control, p.err = assay.RunControl{}, err
			}
			close(p.done)
		}
		if b.rest() {
			return
		}
		wait = gather
	}
}

func (b *beats) take() []*pulse {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), together)
	group := b.waiting[:n:n]
	if b.waiting = b.waiting[n:]; len(b.waiting) == 0 {
		b.waiting = nil
	}
	return group
}

// rest says that nobody waits any more.
func (b *beats) rest() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = time.Now()
	b.writing = len(b.waiting) > 0
	return !b.writing
}
