package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

func testStore(t *testing.T, open opener) {
	t.Run("a healthy store has no findings", func(t *testing.T) {
		s := open(t)
		for range 2 {
			newWorld(t, s).furnish()
		}
		w := newWorld(t, s)
		run, _ := w.furnish()
		w.retry(run, w.fill(4), func(f store.Fence) { w.grade(f, 1, 2, 3, 4) })
		f := w.grading(w.newRun(), w.fill(2))
		w.open(f, 1)
		w.takeUp(f.Run, 1, true)
		findings, err := s.Check(w.ctx)
		w.ok(err)
		equal(t, "findings", len(findings), 0)
		for _, f := range findings {
			t.Log(f)
		}
	})
	t.Run("info", func(t *testing.T) {
		w := newWorld(t, open(t))
		info, err := w.Info(w.ctx)
		w.ok(err)
		if info.Kind == "" || info.Version == "" || info.Where == "" || info.Schema < 1 || info.Bytes < 1 {
			t.Errorf("info %+v is not whole", info)
		}
	})
	t.Run("one owner", func(t *testing.T) { testOwner(newWorld(t, open(t))) })
	t.Run("a cancelled context", func(t *testing.T) { testCancelledContext(newWorld(t, open(t))) })
	t.Run("readers and writers at once", func(t *testing.T) { testConcurrent(newWorld(t, open(t))) })
	t.Run("a cancel is stored while an import writes", func(t *testing.T) { testAskDuringImport(newWorld(t, open(t))) })
	t.Run("close", func(t *testing.T) { testClose(newWorld(t, open(t))) })
}

func testOwner(w *world) {
	first, err := w.Owner().TryOwn(w.ctx)
	w.ok(err)
	if first == nil {
		w.Fatal("nobody owns, and yet TryOwn says so")
	}
	second, err := w.Owner().TryOwn(w.ctx)
	w.ok(err)
	if second != nil {
		w.Fatal("two owners")
	}
	select {
	case <-first.Lost():
		w.Fatal("ownership is lost at once")
	default:
	}
	if g := first.Grace(); g < 0 || g > 5*time.Second {
		w.Errorf("grace %s", g)
	}
	w.fill(1) // an owner writes as others do
	w.ok(first.Release())
	w.ok(first.Release())
	third, err := w.Owner().TryOwn(w.ctx)
	w.ok(err)
	if third == nil {
		w.Fatal("a released ownership is still held")
	}
	w.ok(third.Release())
}

func testCancelledContext(w *world) {
	f := w.grading(w.newRun(), w.fill(1))
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	_, err := w.Items().Commit(ctx, f, store.Batch{Now: at(9), Open: []assay.Attempt{opened(f, 1, 1)}})
	if !errors.Is(err, context.Canceled) {
		w.Fatalf("error %v, want context.Canceled", err)
	}
	if _, err := w.Runs().Get(ctx, f.Run); !errors.Is(err, context.Canceled) {
		w.Fatalf("error %v, want context.Canceled", err)
	}
	equal(w, "attempts", len(w.attempts(f.Run, 1)), 0)
	w.open(f, 1)
}

func testConcurrent(w *world) {
	const workers, each = 8, 25
	heads := w.fill(workers * each)
	var fences []store.Fence
	for i := range workers {
		fences = append(fences, w.grading(w.newRun(), heads[i*each:(i+1)*each]))
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for _, f := range fences[:4] {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				n, err := w.Items().Counts(w.ctx, f.Run, at(9))
				if err != nil || n.Total != each || n.Pending+n.Graded != each || n.InFlight > n.Pending {
					w.Errorf("counts %+v, error %v", n, err)
					return
				}
			}
		})
	}
	together(workers, func(i int) {
		f := fences[i]
		for seq := int64(1); seq <= each; seq++ {
			b := store.Batch{Now: at(9), Open: []assay.Attempt{opened(f, seq, 1)}}
			if seq > 1 {
				b.Done = []store.Outcome{graded(opened(f, seq-1, 1), true)}
			}
			if _, err := w.Items().Commit(w.ctx, f, b); err != nil {
				w.Errorf("commit: %v", err)
				return
			}
		}
	})
	close(stop)
	readers.Wait()
	for _, f := range fences {
		equal(w, "counts", w.counts(f.Run), assay.Counts{Total: each, Pending: 1, Graded: each - 1, Passed: each - 1, InFlight: 1})
	}
}

func testAskDuringImport(w *world) {
	run := w.create(w.newRun())
	ctx, stop := context.WithCancel(w.ctx)
	var importers sync.WaitGroup
	writing := make(chan struct{})
	var once sync.Once
	for k := range 4 {
		importers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				var batch []store.NewSession
				for j := range 100 {
					batch = append(batch, session(fmt.Sprint("u", k), fmt.Sprint(i, "-", j), "c"))
				}
				if _, err := w.Sessions().Put(ctx, w.project.ID, 0, batch, start); err != nil && ctx.Err() == nil {
					w.Errorf("put: %v", err)
					return
				}
				once.Do(func() { close(writing) })
			}
		})
	}
	<-writing
	begun := time.Now()
	asked, err := w.Runs().Ask(w.ctx, run.ID, store.AskCancel, "", at(5))
	took := time.Since(begun)
	stop()
	importers.Wait()
	w.ok(err)
	equal(w, "cancel", asked.CancelRequestedAt, ptr(at(5)))
	if took > time.Second {
		w.Errorf("a cancel took %s while four imports wrote", took)
	}
}

func testClose(w *world) {
	f := w.grading(w.newRun(), w.fill(1))
	w.ok(w.Close())
	w.ok(w.Close())
	_, err := w.Runs().Get(w.ctx, f.Run)
	w.code(err, assay.CodeUnavailable)
	_, err = w.Items().Commit(w.ctx, f, store.Batch{Now: at(9)})
	w.code(err, assay.CodeUnavailable)
}
