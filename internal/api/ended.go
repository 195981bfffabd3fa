package api

import (
	"sync"

	"assay/internal/assay"
)

// endedKept bounds what ended remembers.
const endedKept = 10_000

// ended remembers the counts of runs that have ended. They never change, and a list of large runs
// would count their items anew every time.
type ended struct {
	mu    sync.Mutex
	known map[assay.RunID]assay.Counts
}

// counts returns what is known of run, or asks.
func (e *ended) counts(run assay.Run, ask func() (assay.Counts, error)) (assay.Counts, error) {
	if !run.State.Terminal() {
		return ask()
	}
	e.mu.Lock()
	c, ok := e.known[run.ID]
	e.mu.Unlock()
	if ok {
		return c, nil
	}
	c, err := ask()
	if err != nil {
		return c, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil || len(e.known) >= endedKept {
		e.known = map[assay.RunID]assay.Counts{}
	}
	e.known[run.ID] = c
	return c, nil
}
