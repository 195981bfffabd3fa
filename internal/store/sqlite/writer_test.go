package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// queue makes callers wait for a busy writer in the order given and returns the order in which they
// got it.
func queue(t *testing.T, order []priority) []priority {
	t.Helper()
	w := &writer{conn: new(conn)}
	var got []priority
	synctest.Test(t, func(t *testing.T) {
		if err := w.acquire(t.Context(), forAsk); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for _, p := range order {
			group.Go(func() {
				if err := w.acquire(t.Context(), p); err != nil {
					t.Error(err)
					return
				}
				got = append(got, p) // the writer itself keeps others out
				w.release()
			})
			synctest.Wait()
		}
		w.release()
		group.Wait()
	})
	return got
}

func TestWriterServesByPriority(t *testing.T) {
	got := queue(t, []priority{forImport, forCommit, forPlan, forAsk, forImport, forBeat, forCommit, forAsk})
	if want := []priority{forAsk, forAsk, forBeat, forCommit, forCommit, forPlan, forImport, forImport}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func TestWriterStarvesNobody(t *testing.T) {
	order := append([]priority{forImport, forPlan}, slices.Repeat([]priority{forCommit}, 3*patience)...)
	got := queue(t, order)
	if i := slices.Index(got, forImport); i > patience+2 {
		t.Errorf("an import waited for %d others", i)
	}
	if i := slices.Index(got, forPlan); i > patience+2 {
		t.Errorf("a plan waited for %d others", i)
	}
}

func TestWriterGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writer{conn: new(conn)}
		if err := w.acquire(t.Context(), forAsk); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- w.acquire(ctx, forAsk) }()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		next := make(chan error, 1)
		go func() { next <- w.acquire(t.Context(), forImport) }()
		synctest.Wait()
		w.release()
		if err := <-next; err != nil {
			t.Errorf("the one that waited behind: %v", err)
		}
	})
}
