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
	gateRetry  = 20 * time.Millisecond  // how often a call tries that waits for the gate or for the row
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

	reading     context.Context // ends when no call is to leave: nothing need be read or rendered for one
	stopReading context.CancelFunc

	control  assay.RunControl
	queue    queue
	meters   []*meter // by judge; nil for those that call no provider
	budget   *budget
	tight    []*refusal // by judge: the budget has no room for its next call
	inflight int
	drafting int      // flights whose prompt is being rendered
	opened   []flight // in the batch that is being committed
	batch    store.Batch
	lastRow  time.Time // when the row was last read or written
	failing  time.Time // when the store began to fail; zero while it answers
	said     string    // of the store's errors, the last that was logged
	saidAt   time.Time
	pausing  *pausing
	streak   streak

	results   chan *result // pointers, or each loop would take megabytes
	drafts    chan *drafted
	wake      chan struct{} // a limiter that refused may grant now
	aloneGate chan error    // one item may run alone now
	wantAlone bool
	heldAlone bool
	moved     bool // an item ended

	confirmed atomic.Int64 // nanoseconds since began at which the row was last known to be ours
	halt      atomic.Bool  // no call may leave any more
	weighs    atomic.Bool  // prompts are counted closely, because a budget is set
}

func newLoop(ctx context.Context, r *run) (*loop, error) {
	calls, cut := context.WithCancel(context.WithoutCancel(ctx))
	l := &loop{
		run: r, stop: ctx, calls: calls, cut: cut, began: time.Now(),
		results: make(chan *result, answers), aloneGate: make(chan error, 1),
		drafts: make(chan *drafted, answers), wake: make(chan struct{}, 1),
	}
	l.reading, l.stopReading = context.WithCancel(calls)
	l.tight = make([]*refusal, len(r.judges))
	l.queue.lanes = make([]lane, len(r.judges))
	l.queue.source = func(after int64, limit int) ([]assay.Item, error) {
		return r.g.o.Store.Items().Pending(context.WithoutCancel(ctx), r.ID, after, limit)
	}
	var err error
	l.budget, err = r.g.newBudget(context.WithoutCancel(ctx), r.Run)
	return l, err
}

// carry drives until the run left running or was lost.
func (l *loop) carry() error {
	defer l.cut()
	defer l.leaveAlone()
	if err := l.beat(); err != nil {
		return err
	}
	l.newMeters()
	defer l.leaveMeters()
	for {
		l.collect()
		draining := l.observe()
		more := false
		if !draining {
			var err error
			if more, err = l.fill(); l.survive(err) != nil {
				return l.give(err)
			}
		}
		if err := l.commit(); err != nil {
			return l.give(err)
		}
		if err := l.survive(l.look()); err != nil {
			return l.give(err)
		}
		l.stuck(l.g.o.Now())
		if l.idle(draining) {
			if done, err := l.finish(); done || err != nil {
				return err
			}
			continue
		}
		if !more {
			l.await()
		}
	}
}

// idle says that nothing is in flight or unwritten and nothing can start.
func (l *loop) idle(draining bool) bool {
	return l.used() == 0 && len(l.batch.Done) == 0 && (draining || l.queue.empty())
}

// used is how many slots are taken: from the draft of a call to its answer.
func (l *loop) used() int { return l.inflight + len(l.opened) + l.drafting }

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
	if draining {
		l.stopReading()
	} else if l.reading.Err() != nil {
		l.reading, l.stopReading = context.WithCancel(l.calls) // what was asked for was taken back
	}
	return draining
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
	l.shelve(l.opened)
	before := time.Now()
	l.batch.Now = l.g.o.Now()
	var control assay.RunControl
	err := l.budget.commit(func() (err error) {
		control, err = l.g.o.Store.Items().Commit(context.WithoutCancel(l.stop), l.fence, l.batch)
		return err
	}, &l.batch)
	l.lastRow = time.Now()
	if err != nil {
		return l.survive(err)
	}
	l.know(control, before)
	l.batch = store.Batch{Done: l.batch.Done[:0], Open: l.batch.Open[:0]}
	l.leave()
	return nil
}

// leave lets the calls leave that were opened, but for those that a concurrency or a budget that was
// lowered meanwhile has no room for. Of those that are marked it has the prompts made.
func (l *loop) leave() {
	over := l.budget.over(l.control.Budget)
	var marked []flight
	for _, f := range l.opened {
		if f.marked {
			marked = append(marked, f)
		} else if l.inflight++; over || l.inflight > l.control.Concurrency {
			go l.keep(f)
		} else {
			go l.call(l.reading, f)
		}
	}
	clear(l.opened)
	l.opened = l.opened[:0]
	l.drawUp(marked)
}

func (l *loop) beat() error {
	before := time.Now()
	control, err := l.g.o.Store.Runs().Beat(context.WithoutCancel(l.stop), l.fence, l.g.o.Now())
	l.lastRow = time.Now()
	if err != nil {
		return err
	}
	l.know(control, before)
	return nil
}

// look reads the project's budget again when that is due.
func (l *loop) look() error {
	if !l.failing.IsZero() || !l.budget.due() {
		return nil
	}
	err := l.budget.look(context.WithoutCancel(l.stop))
	l.weighs.Store(l.budget.set(l.control.Budget))
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
	l.weighs.Store(l.budget.set(control.Budget))
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
		l.complain(err)
	}
	if !l.graceEnds.IsZero() && time.Now().After(l.graceEnds) {
		return err
	}
	return nil
}

// complain logs an error of the store: a new one at once, the same no more than once a minute. What can be
// written and not read fails again and again with every heartbeat between.
func (l *loop) complain(err error) {
	if text := err.Error(); text != l.said || time.Since(l.saidAt) >= time.Minute {
		l.said, l.saidAt = text, time.Now()
		l.g.o.Log.Error("read or write run; no new call starts until it can be", "run", l.ID.String(), "error", err)
	}
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
		l.take(*r)
	case d := <-l.drafts:
		l.takeDraft(*d)
	case <-l.wake:
	case err := <-l.aloneGate:
		l.wantAlone, l.heldAlone = false, err == nil
	case <-stop:
	case <-timer.C:
	}
}

// nap is how long nothing needs to be done. While the store is away, the run drains or something runs
// alone, nothing can start.
func (l *loop) nap() time.Duration {
	if !l.failing.IsZero() {
		return storeRetry
	}
	nap := beatEvery - time.Since(l.lastRow)
	if l.used() < l.control.Concurrency && !l.halt.Load() && !l.heldAlone {
		now := l.g.o.Now()
		if at, ok := l.queue.due(); ok {
			nap = min(nap, max(at.Sub(now), gateRetry))
		}
		if at, ok := l.granted(); ok {
			nap = min(nap, at.Sub(now))
		}
	}
	return max(nap, time.Millisecond)
}

// granted is when the first model that takes no call now may take one again.
func (l *loop) granted() (at time.Time, ok bool) {
	for _, m := range l.meters {
		if m == nil || !m.refused {
			continue
		}
		if t, _ := m.share.Wait(); !t.IsZero() && (!ok || t.Before(at)) {
			at, ok = t, true
		}
	}
	return at, ok
}
