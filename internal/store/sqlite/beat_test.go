package sqlite

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// Heartbeats that wait together are one transaction, whatever becomes of each: what has less priority is
// not held up by hundreds of runs.
func TestHeartbeatsGoTogether(t *testing.T) {
	ctx, now := t.Context(), time.Now()
	s := healthy(t, t.TempDir())
	defer s.Close()
	run := onlyRun(t, s)
	if err := s.write.acquire(ctx, forAsk); err != nil {
		t.Fatal(err)
	}
	const drivers = together + 50
	var group sync.WaitGroup
	for i := range drivers {
		group.Go(func() {
			f := store.Fence{Run: run.ID, Epoch: run.Epoch + int64(i%2)}
			if control, err := s.Runs().Beat(ctx, f, now); errors.Is(err, assay.ErrLost) != (i%2 == 1) || err == nil && control.Concurrency != run.Concurrency {
				t.Errorf("driver %d: %+v (%v)", i, control, err)
			}
		})
	}
	gone, leave := context.WithCancel(ctx)
	group.Go(func() {
		if _, err := s.Runs().Beat(gone, store.Fence{Run: run.ID, Epoch: run.Epoch}, now); !errors.Is(err, context.Canceled) {
			t.Errorf("a heartbeat whose caller has left: %v", err)
		}
	})
	waits := func(n int) func() bool {
		return func() bool {
			s.beats.mu.Lock()
			defer s.beats.mu.Unlock()
			return len(s.beats.waiting) == n
		}
	}
	until(t, waits(drivers+1))
	leave()
	plan := make(chan error, 1)
	go func() { plan <- s.write.acquire(ctx, forPlan) }()
	until(t, func() bool {
		s.write.mu.Lock()
		defer s.write.mu.Unlock()
		return len(s.write.queues[forPlan]) == 1 && len(s.write.queues[forBeat]) == 1
	})
	s.write.release()
	if err := <-plan; err != nil {
		t.Fatal(err)
	}
	until(t, waits(drivers+1-together)) // the next group waits until others had their turn
	s.write.release()
	group.Wait()
	until(t, func() bool { s.beats.mu.Lock(); defer s.beats.mu.Unlock(); return !s.beats.writing })
}

// A store that is closed meanwhile answers those who wait.
func TestHeartbeatsOfAClosedStore(t *testing.T) {
	s := healthy(t, t.TempDir())
	run := onlyRun(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Runs().Beat(t.Context(), store.Fence{Run: run.ID, Epoch: run.Epoch}, time.Now()); assay.CodeOf(err) != assay.CodeUnavailable {
			t.Errorf("%v", err)
		}
	}
}

func onlyRun(t *testing.T, s *Store) assay.Run {
	t.Helper()
	runs, _, err := s.Runs().List(t.Context(), store.RunQuery{}, store.Page{Limit: 2})
	if err != nil || len(runs) != 1 {
		t.Fatal(len(runs), err)
	}
	return runs[0]
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not happen")
		}
	}
}
