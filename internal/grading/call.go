package grading

import (
	"context"
	"errors"
	"slices"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/limit"
	"assay/internal/store"
)

// flight is an item whose attempt is open.
type flight struct {
	item       assay.Item
	attempt    assay.Attempt
	unreadable *judge.Reply
	answered   []assay.Answer
	recall     bool   // unreadable and answered are not known before the attempts are read
	shelf      *shelf // where its body is being read
	release    func() // gives back the memory of its session

	// Of judges that are metered:
	permit limit.Permit
	marked bool // its attempt was opened for the prompt, before there is a call
	draft  judge.Draft
	price  *assay.Price // when it was opened; what it costs is counted by it
	seen   *store.Seen  // what the judge was shown
}

// result is a flight that ended. A call that never left has no CallAt in its reply.
type result struct {
	flight
	reply judge.Reply
}

// call makes one call and reports how it ended, always. reading ends when no call is to leave any more.
func (l *loop) call(reading context.Context, f flight) {
	reply := l.ask(reading, &f)
	f.shelf, f.draft.Send, f.draft.Request = nil, nil, nil // bodies are large, and results wait
	if f.release != nil {
		f.release()
		f.release = nil
	}
	l.results <- &result{f, reply}
}

// keep takes an opened call back.
func (l *loop) keep(f flight) { l.results <- &result{f, stayed} }

// stayed is the reply of a call that did not leave.
var stayed = judge.Reply{Class: assay.ClassAborted, Error: "the call did not leave: the run was stopped or slowed first"}

func (l *loop) ask(reading context.Context, f *flight) judge.Reply {
	send := f.draft.Send
	if send == nil {
		q, reply := l.question(reading, f)
		if reply != nil {
			return *reply
		}
		send = func(ctx context.Context) judge.Reply { return l.judges[f.item.Judge].Ask(ctx, q) }
	}
	if !l.mayLeave() || !l.reprice(f) {
		return stayed
	}
	if _, quiet := f.permit.Quiet(); quiet { // since it was granted
		return stayed
	}
	return l.watched(f, send)
}

// watched makes the call under the eyes of the observer, if there is one.
func (l *loop) watched(f *flight, send func(context.Context) judge.Reply) judge.Reply {
	if l.g.o.Observer == nil {
		return send(l.calls)
	}
	j := l.Spec.Judges[f.item.Judge]
	c := judge.Call{Project: l.Project, Run: l.ID, Seq: f.item.Seq, N: f.attempt.N, Judge: j.Name, Version: j.Version, Kind: l.kinds[f.item.Judge]}
	if m := l.meters[f.item.Judge]; m != nil {
		c.Model, c.Provider = m.judge.Model(), m.judge.Provider()
	}
	inside, ended := l.g.o.Observer.Call(l.calls, c)
	reply := send(inside)
	ended(reply, cost(*f, reply, l.free(f.item.Judge)))
	return reply
}

func noBody(ctx context.Context, err error) judge.Reply {
	switch {
	case errors.Is(err, errUnreadable):
		return judge.Reply{Class: assay.ClassJudgeError, Error: err.Error()}
	case assay.CodeOf(err) == assay.CodeNotFound:
		return judge.Reply{Class: assay.ClassSessionMissing, Error: "the session's body is no longer stored"}
	}
	return unread(ctx, "read session", err)
}

// unread is the reply of a call that was not made because the store did not give what it needs. Rows
// that are damaged stay so and end their item; else it is no fault of the item, which waits a moment.
func unread(ctx context.Context, what string, err error) judge.Reply {
	switch {
	case ctx.Err() != nil:
		return stayed
	case assay.CodeOf(err) == assay.CodeInternal:
		return judge.Reply{Class: assay.ClassJudgeError, Error: what + ": " + err.Error()}
	}
	return judge.Reply{Class: assay.ClassAborted, Error: what + ": " + err.Error(), RetryAfter: time.Second}
}

// recall finds what an item got from an earlier driver: answers about units, and an unreadable answer
// that nothing readable followed, so that the judge is shown it and is asked again no more than once.
func (l *loop) recall(ctx context.Context, f *flight) error {
	if !f.recall {
		return nil
	}
	l.g.reading <- struct{}{}
	attempts, err := l.g.o.Store.Items().Attempts(ctx, l.ID, f.item.Seq)
	<-l.g.reading
	if err != nil {
		return err
	}
	if l.units[f.item.Judge] != assay.UnitSession {
		if f.answered, err = l.g.o.Store.Items().Answers(ctx, l.ID, f.item.Seq); err != nil {
			return err
		}
	}
	f.recall = false
	for _, a := range slices.Backward(attempts) {
		switch {
		case a.Status != assay.AttemptDone:
		case a.Class == assay.ClassMalformed:
			f.unreadable = &judge.Reply{Class: a.Class, Error: a.Error, Raw: a.Raw}
			return nil
		case a.Class == assay.ClassNone && !a.Late:
			return nil
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

// collect takes the answers and drafts that are there, up to a batch.
func (l *loop) collect() {
	for len(l.batch.Done) < maxBatch && len(l.opened) < maxBatch {
		select {
		case r := <-l.results:
			l.take(*r)
		case d := <-l.drafts:
			l.takeDraft(*d)
		default:
			return
		}
	}
}

// take settles one answer.
func (l *loop) take(r result) {
	l.inflight--
	l.end(r)
}

// end settles how an attempt ended: into the batch, and back into the queue when the item goes on.
func (l *loop) end(r result) {
	l.land(r.flight, &r.reply)
	now := l.g.o.Now()
	s := settle(r.flight, r.reply, now, jitter)
	if s.outcome.Attempt.CallAt != nil {
		s.outcome.Attempt.Cost = cost(r.flight, r.reply, l.free(r.item.Judge))
		s.outcome.Seen = r.seen
	}
	l.batch.Done = append(l.batch.Done, s.outcome)
	l.moved = l.moved || s.outcome.State != assay.ItemPending
	l.judgeOf(r.reply, now)
	if !s.again {
		return
	}
	item := r.item
	item.NotBefore, item.Class, item.Error = s.outcome.NotBefore, s.outcome.Class, s.outcome.Error
	if s.outcome.Counted {
		item.Counted++
	}
	l.queue.put(waiting{item: item, unreadable: s.unreadable, answered: s.answered, recall: r.recall, since: now}, now)
}

// free says that a judge calls nobody who could want money for it.
func (l *loop) free(judge int) bool { return l.kinds[judge] == assay.JudgeRules }

// give ends the driving after an error: calls in flight may finish, and what was paid for is kept.
// The answers go through the fence no more: the run was taken up by another or the store is gone.
func (l *loop) give(err error) error {
	l.halt.Store(true)
	l.stopReading()
	for _, f := range l.opened { // they never left
		l.budget.withdraw(f.attempt.Reserved)
		l.land(f, nil)
	}
	l.opened = nil
	deadline := time.NewTimer(engine.StopGrace)
	defer deadline.Stop()
	for l.inflight+l.drafting > 0 {
		select {
		case r := <-l.results:
			l.take(*r)
		case d := <-l.drafts:
			l.takeDraft(*d)
		case <-deadline.C:
			l.cut()
		}
	}
	l.budget.lost(l.batch.Done)
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
