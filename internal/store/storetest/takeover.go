package storetest

import (
	"context"
	"errors"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

// testTakeover lets a driver commit batches as fast as it can while its run is taken up, and checks
// that every batch happened whole before the takeover or not at all.
func testTakeover(t *testing.T, open opener) {
	s := open(t)
	for round := range 8 {
		takeOver(newWorld(t, s), round)
	}
}

func takeOver(w *world, after int) {
	const items, width = 120, 6
	f := w.grading(w.newRun(), w.fill(items))
	acknowledged := make(chan int, items) // how many items the driver knows to be graded
	ended := make(chan error, 1)
	go func() {
		var err error
		var b store.Batch
		for from := int64(1); err == nil && from <= items+width; from += width {
			b = store.Batch{Done: finished(f, b.Open), Now: at(7)}
			for seq := from; seq < from+width && seq <= items; seq++ {
				b.Open = append(b.Open, opened(f, seq, 1))
			}
			if _, err = w.Items().Commit(context.WithoutCancel(w.ctx), f, b); err == nil {
				acknowledged <- int(from) - 1
			}
		}
		ended <- err
	}()
	for range after {
		<-acknowledged
	}
	next := w.takeUp(f.Run, f.Epoch, true)
	seen := w.everything(f.Run)
	if err := <-ended; err != nil && !errors.Is(err, assay.ErrLost) {
		w.Fatal(err)
	}
	equal(w, "everything after the old driver ended", w.everything(f.Run), seen)

	known := 0
	for close(acknowledged); ; {
		n, ok := <-acknowledged
		if !ok {
			break
		}
		known = max(known, n)
	}
	var done, cut int
	for _, item := range w.items(f.Run) {
		attempts := w.attempts(f.Run, item.Seq)
		switch {
		case item.State == assay.ItemGraded:
			done++
		case len(attempts) == 1:
			cut++
			if item.Crashes != 1 || attempts[0].Status != assay.AttemptUnknown {
				w.Errorf("item %d was in flight at the takeover: %d crashes, attempt %s", item.Seq, item.Crashes, attempts[0].Status)
			}
		case item.Crashes != 0 || len(attempts) != 0:
			w.Errorf("item %d was not in flight at the takeover: %+v", item.Seq, item)
		}
	}
	if done < known || done%width != 0 || cut%width != 0 || cut > width {
		w.Errorf("%d items are graded where the driver knows of %d, and %d were in flight: a batch of %d was torn or lost", done, known, cut, width)
	}
	if n := w.counts(f.Run); int(n.Graded) != done || n.InFlight != 0 {
		w.Errorf("counts %+v", n)
	}
	w.goOn(next, done)
}

// finished grades what is open.
func finished(f store.Fence, open []assay.Attempt) (done []store.Outcome) {
	for _, a := range open {
		done = append(done, graded(a, true))
	}
	return done
}

// goOn checks that the new driver can go on.
func (w *world) goOn(f store.Fence, before int) {
	w.Helper()
	pending, err := w.Items().Pending(w.ctx, f.Run, 0, 1)
	w.ok(err)
	if len(pending) == 0 {
		return
	}
	a := opened(f, pending[0].Seq, pending[0].Attempts+1)
	w.commit(f, store.Batch{Open: []assay.Attempt{a}})
	w.commit(f, store.Batch{Done: []store.Outcome{graded(a, true)}})
	if n := w.counts(f.Run); int(n.Graded) != before+1 {
		w.Errorf("the new driver graded one more than %d: %+v", before, n)
	}
}
