package grading

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

const (
	beatEvery  = 300 * time.Millisecond // how often the run's row is read and its heartbeat written
	page       = 2048                   // pending items read at once
	maxBatch   = 1024                   // attempts opened, and closed, in one transaction
	gateRetry  = 20 * time.Millisecond
	storeRetry = 200 * time.Millisecond
	answers    = 1024 // ended calls that may wait to be collected
)

// loop keeps a run's calls in flight. All fields but the last group belong to the goroutine of carry.
type loop struct {
	*run
	stop      context.Context // ends when the process stops
	calls     context.Context // cut to abort calls in flight
	cut       context.CancelFunc
	began     time.Time
	graceEnds time.Time // set when stop ended

	control  assay.RunControl
	queue    queue
	inflight int
	more     bool     // the last fill stopped at maxBatch
	opened   []flight // in the batch that is being committed
	batch    store.Batch
	lastRow  time.Time // when the row was last read or written
	failing  time.Time // when the store began to fail; zero while it answers
	pausing  *pausing
	streak   streak

	results   chan result
	aloneGate chan error // one item may run alone now
	wantAlone bool
	heldAlone bool

	confirmed atomic.Int64 // nanoseconds since began at which the row was last known to be ours
	halt      atomic.Bool  // no call may leave any more
}

func newLoop(ctx context.Context, r *run) *loop {
	calls, cut := context.WithCancel(context.WithoutCancel(ctx))
	l := &loop{
		run: r, stop: ctx, calls: calls, cut: cut, began: time.Now(),
		results: make(chan result, answers), aloneGate: make(chan error, 1),
	}
	l.queue.source = func(after int64, limit int) ([]assay.Item, error) {
		return r.g.o.Store.Items().Pending(context.WithoutCancel(ctx), r.ID, after, limit)
	}
	return l
}

// carry drives until the run left running or was lost.
func (l *loop) carry() error {
	defer l.cut()
	defer l.leaveAlone()
	if err := l.beat(); err != nil {
		return err
	}
	for {
		l.collect()
		l.sleepers(l.g.o.Now())
		draining := l.observe()
		if !draining {
			if err := l.survive(l.fill()); err != nil {
				return l.give(err)
			}
		}
		if err := l.commit(); err != nil {
			return l.give(err)
		}
		if l.idle(draining) {
			if done, err := l.finish(); done || err != nil {
				return err
			}
			continue
		}
		if !l.more {
			l.await()
		}
	}
}

// idle says that nothing is in flight or unwritten and nothing can start.
func (l *loop) idle(draining bool) bool {
	return l.inflight == 0 && len(l.batch.Done) == 0 && (draining || l.queue.empty())
}

// observe reads what is wanted of the run and says whether no new attempt may be opened.
func (l *loop) observe() (draining bool) {
	stopped := l.stop.Err() != nil
	draining = stopped || asked(l.control) || l.pausing != nil
	l.halt.Store(draining)
	if stopped && l.graceEnds.IsZero() {
		l.graceEnds = time.Now().Add(engine.StopGrace)
	}
	if l.control.Now || (stopped && !time.Now().Before(l.graceEnds)) {
		l.cut()
	}
	return draining
}

// fill opens attempts for free slots; they leave after the commit.
func (l *loop) fill() error {
	if !l.failing.IsZero() {
		return nil
	}
	now := l.g.o.Now()
	l.more = false
	for l.inflight+len(l.opened) < l.control.Concurrency && !l.heldAlone {
		if l.more = len(l.opened) >= maxBatch; l.more {
			break
		}
		item, ok, err := l.queue.next(now)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if !l.g.o.Gate.TryEnter() {
			l.queue.putBack(item)
			break
		}
		l.open(item, now, false)
	}
	l.fillAlone(now)
	return nil
}

// fillAlone runs suspects one by one, after everything else, with nothing else in flight in the process.
func (l *loop) fillAlone(now time.Time) {
	switch {
	case l.heldAlone && l.inflight+len(l.opened) == 0:
		if item, ok := l.queue.nextAlone(now); ok {
			l.open(item, now, true)
		} else {
			l.leaveAlone()
		}
	case !l.heldAlone && !l.wantAlone && l.inflight+len(l.opened) == 0 && l.queue.onlyAlone(now):
		l.wantAlone = true
		go func() { l.aloneGate <- l.g.o.Gate.Alone(l.calls) }()
	}
}

func (l *loop) leaveAlone() {
	if l.wantAlone {
		l.cut() // a gate that is not ours yet must not be ours later
		if <-l.aloneGate == nil {
			l.g.o.Gate.LeaveAlone()
		}
		l.wantAlone = false
	}
	if l.heldAlone {
		l.g.o.Gate.LeaveAlone()
		l.heldAlone = false
	}
}

func (l *loop) open(w waiting, now time.Time, alone bool) {
	w.item.Attempts++
	since := w.since
	if since.IsZero() {
		since = l.began
	}
	l.opened = append(l.opened, flight{item: w.item, unreadable: w.unreadable, recall: w.recall, attempt: assay.Attempt{
		Run: l.ID, Seq: w.item.Seq, N: w.item.Attempts, Epoch: l.Epoch, Status: assay.AttemptOpen,
		Alone: alone, OpenedAt: now, Wait: max(now.Sub(since), 0),
	}})
}

// commit writes the batch under the fence, or only the heartbeat when there is nothing to write, and
// then lets the opened calls leave. A store that is away is tried again: answers stay in the batch,
// and calls stop by themselves because nothing confirms the row.
func (l *loop) commit() error {
	for _, f := range l.opened[len(l.batch.Open):] {
		l.batch.Open = append(l.batch.Open, f.attempt)
	}
	if len(l.batch.Done)+len(l.batch.Open) == 0 {
		if time.Since(l.lastRow) < beatEvery {
			return nil
		}
		return l.survive(l.beat())
	}
	if !l.failing.IsZero() && time.Since(l.lastRow) < storeRetry {
		return nil
	}
	l.shelve()
	before := time.Now()
	l.batch.Now = l.g.o.Now()
	control, err := l.g.o.Store.Items().Commit(context.WithoutCancel(l.stop), l.fence, l.batch)
	l.lastRow = time.Now()
	if err != nil {
		return l.survive(err)
	}
	l.know(control, before)
	l.batch = store.Batch{Done: l.batch.Done[:0], Open: l.batch.Open[:0]}
	for _, f := range l.opened {
		if l.inflight++; l.inflight > control.Concurrency { // lowered meanwhile
			go l.keep(f)
		} else {
			go l.call(f)
		}
	}
	clear(l.opened)
	l.opened = l.opened[:0]
	return nil
}

func (l *loop) beat() error {
	before := time.Now()
	control, err := l.g.o.Store.Runs().Beat(context.WithoutCancel(l.stop), l.fence, l.g.o.Now())
	l.lastRow = time.Now()
	if err == nil {
		l.know(control, before)
	}
	return err
}

// know takes in what the row said. The row was ours at some time after before: counting from there
// errs on the safe side.
func (l *loop) know(control assay.RunControl, before time.Time) {
	l.control, l.failing = control, time.Time{}
	if asked(control) {
		l.halt.Store(true) // now: what this commit opened must not leave
	}
	l.confirmed.Store(int64(before.Sub(l.began)))
}

// asked says that the run is wanted to do something else than go on.
func asked(c assay.RunControl) bool { return c.Cancel || c.Pause || c.End }

// survive turns an error of the store into nil while there is hope.
func (l *loop) survive(err error) error {
	if err == nil || errors.Is(err, assay.ErrLost) {
		return err
	}
	if l.failing.IsZero() {
		l.failing = time.Now()
		l.g.o.Log.Error("read or write run; no new call starts until it can be", "run", l.ID.String(), "error", err)
	}
	if !l.graceEnds.IsZero() && time.Now().After(l.graceEnds) {
		return err
	}
	return nil
}

// await sleeps until an answer, a timer or a stop.
func (l *loop) await() {
	timer := time.NewTimer(l.nap())
	defer timer.Stop()
	stop := l.stop.Done()
	if !l.graceEnds.IsZero() {
		stop = nil // known already; the timer looks after the grace
	}
	select {
	case r := <-l.results:
		l.take(r)
	case err := <-l.aloneGate:
		l.wantAlone, l.heldAlone = false, err == nil
	case <-stop:
	case <-timer.C:
	}
}

// nap is how long nothing needs to be done.
func (l *loop) nap() time.Duration {
	nap := beatEvery - time.Since(l.lastRow)
	if !l.failing.IsZero() {
		nap = storeRetry
	}
	if at, ok := l.queue.due(); ok && l.inflight < l.control.Concurrency {
		nap = min(nap, max(at.Sub(l.g.o.Now()), gateRetry))
	}
	return max(nap, time.Millisecond)
}
