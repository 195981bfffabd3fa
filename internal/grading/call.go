package grading

import (
	"context"
	"errors"
	"slices"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
)

// flight is an item whose attempt is open.
type flight struct {
	item       assay.Item
	attempt    assay.Attempt
	unreadable *judge.Reply
	recall     bool   // unreadable is not known before the attempts are read
	shelf      *shelf // where its body is being read
}

// result is a flight that ended. A call that never left has no CallAt in its reply.
type result struct {
	flight
	reply judge.Reply
}

// call makes one call and reports how it ended, always.
func (l *loop) call(f flight) {
	reply := l.ask(&f)
	f.shelf = nil // bodies are large, and results wait
	l.results <- result{f, reply}
}

// keep takes an opened call back.
func (l *loop) keep(f flight) { l.results <- result{f, stayed} }

// stayed is the reply of a call that did not leave.
var stayed = judge.Reply{Class: assay.ClassAborted, Error: "the call did not leave: the run was stopped or slowed first"}

func (l *loop) ask(f *flight) judge.Reply {
	if err := l.recall(f); err != nil {
		return l.unread("read attempts", err)
	}
	j := l.judges[f.item.Judge]
	q := judge.Question{Repeat: f.item.Repeat, Unreadable: f.unreadable}
	if j.NeedsBody() {
		var err error
		if q.Session, q.Content, err = l.g.read(l.calls, f.shelf, f.item.Content); err != nil {
			return l.noBody(err)
		}
		if q.Session.Empty() {
			return judge.Reply{Class: assay.ClassSessionEmpty, Error: "the session holds no message to grade"}
		}
	}
	if !l.mayLeave() {
		return stayed
	}
	return j.Ask(l.calls, q)
}

func (l *loop) noBody(err error) judge.Reply {
	switch {
	case errors.Is(err, errUnreadable):
		return judge.Reply{Class: assay.ClassJudgeError, Error: err.Error()}
	case assay.CodeOf(err) == assay.CodeNotFound:
		return judge.Reply{Class: assay.ClassSessionMissing, Error: "the session's body is no longer stored"}
	}
	return l.unread("read session", err)
}

// unread is the reply of a call that was not made because the store did not give what it needs. Rows
// that are damaged stay so and end their item; else it is no fault of the item, which waits a moment.
func (l *loop) unread(what string, err error) judge.Reply {
	if assay.CodeOf(err) == assay.CodeInternal && l.calls.Err() == nil {
		return judge.Reply{Class: assay.ClassJudgeError, Error: what + ": " + err.Error()}
	}
	return judge.Reply{Class: assay.ClassAborted, Error: what + ": " + err.Error(), RetryAfter: time.Second}
}

// recall finds the unreadable answer that an item got from an earlier driver, so that the judge is
// shown it and the item is not asked again more than once.
func (l *loop) recall(f *flight) error {
	if !f.recall {
		return nil
	}
	l.g.reading <- struct{}{}
	attempts, err := l.g.o.Store.Items().Attempts(l.calls, l.ID, f.item.Seq)
	<-l.g.reading
	if err != nil {
		return err
	}
	f.recall = false
	for _, a := range slices.Backward(attempts) {
		if a.Status == assay.AttemptDone && a.Class == assay.ClassMalformed {
			f.unreadable = &judge.Reply{Class: a.Class, Error: a.Error, Raw: a.Raw}
			break
		}
	}
	return nil
}

// mayLeave holds a call until the run's row was confirmed within engine.ConfirmFor, and refuses it
// once the run is wanted to stop.
func (l *loop) mayLeave() bool {
	for {
		switch {
		case l.halt.Load() || l.calls.Err() != nil:
			return false
		case time.Since(l.began)-time.Duration(l.confirmed.Load()) < engine.ConfirmFor:
			return true
		}
		select {
		case <-l.calls.Done():
		case <-time.After(gateRetry):
		}
	}
}

// collect takes the answers that are there, up to a batch.
func (l *loop) collect() {
	for len(l.batch.Done) < maxBatch {
		select {
		case r := <-l.results:
			l.take(r)
		default:
			return
		}
	}
}

// take settles one answer: into the batch, and back into the queue when the item goes on.
func (l *loop) take(r result) {
	l.inflight--
	if !r.attempt.Alone {
		l.g.o.Gate.Leave()
	}
	now := l.g.o.Now()
	s := settle(r.flight, r.reply, now, jitter)
	if l.free[r.item.Judge] {
		s.outcome.Attempt.CostMicros = new(int64)
	}
	l.batch.Done = append(l.batch.Done, s.outcome)
	l.judgeOf(r.reply, now)
	if !s.again {
		return
	}
	item := r.item
	item.NotBefore, item.Class = s.outcome.NotBefore, s.outcome.Class
	if s.outcome.Counted {
		item.Counted++
	}
	l.queue.put(waiting{item: item, unreadable: s.unreadable, recall: r.recall, since: now}, now)
}

// give ends the driving after an error: calls in flight may finish, and what was paid for is kept.
// The answers go through the fence no more: the run was taken up by another or the store is gone.
func (l *loop) give(err error) error {
	l.halt.Store(true)
	for _, f := range l.opened { // they never left
		if !f.attempt.Alone {
			l.g.o.Gate.Leave()
		}
	}
	deadline := time.NewTimer(engine.StopGrace)
	defer deadline.Stop()
	for l.inflight > 0 {
		select {
		case r := <-l.results:
			l.take(r)
		case <-deadline.C:
			l.cut()
		}
	}
	l.writeLate()
	return err
}

// writeLate stores the attempts that were made: they are facts and cost money, but make no verdict.
func (l *loop) writeLate() {
	var late []assay.Attempt
	for _, o := range l.batch.Done {
		if o.Attempt.CallAt != nil {
			late = append(late, o.Attempt)
		}
	}
	if len(late) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.stop), engine.StopGrace)
	defer cancel()
	if err := l.g.o.Store.Items().Late(ctx, late); err != nil {
		l.g.o.Log.Error("store late attempts", "run", l.ID.String(), "attempts", len(late), "error", err)
	}
}
