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
	meters   []*meter // by judge; nil for those that call nobody
	budget   *budget
	tight    *pausing // the budget allows no further call until one in flight has ended
	inflight int
	drafting int      // flights whose prompt is being rendered
	more     bool     // the last fill stopped at maxBatch
	opened   []flight // in the batch that is being committed
	batch    store.Batch
	lastRow  time.Time // when the row was last read or written
	failing  time.Time // when the store began to fail; zero while it answers
	pausing  *pausing
	streak   streak

	results   chan result
	drafts    chan drafted
	wake      chan struct{} // a limiter that refused may grant now
	aloneGate chan error    // one item may run alone now
	wantAlone bool
	heldAlone bool

	confirmed atomic.Int64 // nanoseconds since began at which the row was last known to be ours
	halt      atomic.Bool  // no call may leave any more
	weighs    atomic.Bool  // prompts are counted closely, because a budget is set
}

func newLoop(ctx context.Context, r *run) (*loop, error) {
	calls, cut := context.WithCancel(context.WithoutCancel(ctx))
	l := &loop{
		run: r, stop: ctx, calls: calls, cut: cut, began: time.Now(),
		results: make(chan result, answers), aloneGate: make(chan error, 1),
		drafts: make(chan drafted, answers), wake: make(chan struct{}, 1),
	}
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
		l.stuck(l.g.o.Now())
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
	return draining
}

// fill opens attempts for free slots; they leave after the commit.
func (l *loop) fill() error {
	if !l.failing.IsZero() {
		return nil
	}
	now := l.g.o.Now()
	l.more = false
	l.lanes()
	var group []flight
	defer func() { l.drawUp(group) }()
	for l.used()+len(group) < l.control.Concurrency && !l.heldAlone {
		if l.more = len(l.opened)+len(group) >= maxBatch; l.more {
			break
		}
		item, ok, err := l.queue.next(now)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if !l.admit(item, now, false, &group) {
			break
		}
	}
	l.fillAlone(now, &group)
	l.rest()
	return nil
}

// lanes opens what can run: under a tight budget nothing that costs.
func (l *loop) lanes() {
	l.queue.reopen()
	for i, m := range l.meters {
		if m != nil && l.tight != nil {
			l.queue.close(i)
		}
	}
}

// admit gives an item a slot, unless the process runs something alone (then it returns false) or the
// item's model takes no call now (then its lane is closed).
func (l *loop) admit(w waiting, now time.Time, alone bool, group *[]flight) bool {
	f := l.begin(w, now, alone)
	m := l.meters[w.item.Judge]
	if m != nil {
		permit, ok := m.share.TryTake(m.weight)
		if !ok {
			l.queue.putBack(w)
			l.queue.close(w.item.Judge)
			return true
		}
		f.permit = permit
	}
	if !alone && !l.g.o.Gate.TryEnter() {
		if m != nil {
			f.permit.Cancel()
		}
		l.queue.putBack(w)
		return false
	}
	if m != nil {
		*group = append(*group, f)
	} else {
		l.opened = append(l.opened, f)
	}
	return true
}

// fillAlone runs suspects one by one, after everything else, with nothing else in flight in the process.
func (l *loop) fillAlone(now time.Time, group *[]flight) {
	nothing := l.used()+len(*group) == 0
	switch {
	case l.heldAlone && nothing:
		if item, ok := l.queue.nextAlone(); ok {
			l.admit(item, now, true, group)
		} else {
			l.leaveAlone()
		}
	case !l.heldAlone && !l.wantAlone && nothing && l.queue.onlyAlone(now):
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
	if len(l.batch.Done) > 0 {
		l.tight = nil // what was set aside for them is free again
	}
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
	if err != nil {
		return err
	}
	l.know(control, before)
	if l.budget.due() {
		return l.budget.look(context.WithoutCancel(l.stop))
	}
	return nil
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
	case d := <-l.drafts:
		l.takeDraft(d)
	case <-l.wake:
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
	if l.used() < l.control.Concurrency {
		if at, ok := l.queue.due(); ok {
			nap = min(nap, max(at.Sub(l.g.o.Now()), gateRetry))
		}
		if at, ok := l.granted(); ok {
			nap = min(nap, at.Sub(l.g.o.Now()))
		}
	}
	return max(nap, time.Millisecond)
}
