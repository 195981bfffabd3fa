package api

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/assay"
)

// TestOneReaderForAllWatchers: the store is asked at most every 250 ms however many watch, and not
// at all when nobody does.
func TestOneReaderForAllWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		h := newHub(func(context.Context, assay.RunID) (RunView, error) {
			n := reads.Add(1)
			var v RunView
			v.ID, v.State, v.Counts.Graded = 7, assay.RunRunning, n
			return v, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var seen atomic.Int64
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if err := h.watch(ctx, 7, watcher{see: func(RunView, event) (bool, error) { seen.Add(1); return true, nil }}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := reads.Load(); n < 200 || n > 60*4+10 {
			t.Errorf("%d reads in a minute", n)
		}
		if s, n := seen.Load(), reads.Load(); s < 50*(n-2) {
			t.Errorf("50 watchers saw %d changes of %d", s, n)
		}
		before := reads.Load()
		time.Sleep(time.Minute) // of the bubble's clock
		if after := reads.Load(); after > before+1 || len(h.feeds) != 0 {
			t.Errorf("nobody watches: %d reads, %d feeds", after-before, len(h.feeds))
		}
	})
}

func TestSilentStreamsBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(func(context.Context, assay.RunID) (RunView, error) {
			var v RunView
			v.ID, v.State = 7, assay.RunPaused
			return v, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Second)
		defer cancel()
		seen, beats := 0, 0
		err := h.watch(ctx, 7, watcher{
			see:  func(RunView, event) (bool, error) { seen++; return true, nil },
			beat: func() error { beats++; return nil },
		})
		if err != nil || seen != 1 || beats != 6 {
			t.Errorf("%d events and %d beats in a minute, %v", seen, beats, err)
		}
	})
}

func TestWatchersOutliveAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("away")
		n := 0
		h := newHub(func(context.Context, assay.RunID) (RunView, error) {
			var v RunView
			v.ID, v.State = 7, assay.RunRunning
			switch n++; {
			case n == 1:
				return v, nil
			case n < 5:
				return v, away
			}
			v.State = assay.RunCompleted
			return v, nil
		})
		var last RunView
		err := h.watch(t.Context(), 7, watcher{see: func(v RunView, _ event) (bool, error) { last = v; return true, nil }})
		if err != nil || last.State != assay.RunCompleted {
			t.Errorf("%s, %v", last.State, err)
		}
		gone := newHub(func(context.Context, assay.RunID) (RunView, error) {
			return RunView{}, assay.Errorf(assay.CodeNotFound, "no run")
		})
		if err := gone.watch(t.Context(), 7, watcher{}); assay.CodeOf(err) != assay.CodeNotFound {
			t.Error(err)
		}
	})
}

func TestPokeReadsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var state atomic.Value
		state.Store(assay.RunRunning)
		h := newHub(func(context.Context, assay.RunID) (RunView, error) {
			var v RunView
			v.ID, v.State = 7, state.Load().(assay.RunState)
			return v, nil
		})
		done := make(chan time.Time)
		go func() {
			_ = h.watch(t.Context(), 7, watcher{see: func(RunView, event) (bool, error) { return true, nil }})
			done <- time.Now()
		}()
		time.Sleep(10*time.Second + time.Millisecond)
		state.Store(assay.RunCancelled)
		began := time.Now()
		h.poke(7)
		if took := (<-done).Sub(began); took != 0 {
			t.Errorf("it took %s", took)
		}
		h.poke(7) // nobody watches any more
	})
}

func TestPace(t *testing.T) {
	at := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	var p pacer
	step := func(after time.Duration, epoch, graded, reused, pending int64) *RunView {
		v := &RunView{}
		v.State, v.Epoch = assay.RunRunning, epoch
		v.Counts = assay.Counts{Graded: graded, Reused: reused, Pending: pending}
		p.measure(v, at.Add(after))
		return v
	}
	if v := step(0, 1, 100, 100, 1000); v.Rate != nil || v.Remaining != nil {
		t.Error("a rate out of nothing")
	}
	if v := step(10*time.Second, 1, 200, 100, 900); *v.Rate != 10 || *v.Remaining != 90 {
		t.Errorf("%v %v", *v.Rate, *v.Remaining)
	}
	if v := step(20*time.Second, 1, 400, 100, 700); *v.Rate != 20 { // since the second mark: the first is out of the window
		t.Errorf("%v", *v.Rate)
	}
	if v := step(30*time.Second, 1, 800, 100, 300); *v.Rate != 40 {
		t.Errorf("%v", *v.Rate)
	}
	if v := step(40*time.Second, 2, 800, 100, 300); v.Rate != nil {
		t.Error("a rate across two epochs")
	}
	if v := step(50*time.Second, 2, 800, 100, 300); v.Rate != nil {
		t.Error("a rate of 0 promises never to end")
	}
}
