package grading

import (
	"time"

	"assay/internal/assay"
	"assay/internal/limit"
)

// fill opens attempts for free slots; they leave after the commit. more says that it stopped at maxBatch,
// or where the queue reads no more at once.
func (l *loop) fill() (more bool, err error) {
	if !l.failing.IsZero() {
		return false, nil
	}
	now := l.g.o.Now()
	l.lanes()
	var group []flight
	defer func() { l.drawUp(group) }()
	for l.used()+len(group) < l.control.Concurrency && !l.heldAlone {
		if more = len(l.opened)+len(group) >= maxBatch; more {
			break
		}
		item, ok, err := l.queue.next(now)
		if err != nil {
			return false, err
		}
		if !ok || !l.admit(item, now, false, &group) {
			break
		}
	}
	more = more || l.queue.paused()
	l.fillAlone(now, &group)
	l.rest()
	return more, nil
}

// lanes opens what can run: not the judges that a budget has no room for.
func (l *loop) lanes() {
	l.queue.reopen()
	for i, no := range l.tight {
		m := l.meters[i]
		if m != nil {
			m.refused = false
		}
		switch {
		case no == nil:
		case l.budget.stands(no, l.control.Budget, l.price(i)):
			l.queue.close(i)
		default:
			l.tight[i] = nil
		}
	}
}

// admit gives an item a slot, unless the process runs something alone (then it returns false) or nothing
// of its judge may leave now (then its lane is closed).
func (l *loop) admit(w waiting, now time.Time, alone bool, group *[]flight) bool {
	f := l.begin(w, now, alone)
	m := l.meters[w.item.Judge]
	ok := l.affords(w.item.Judge, now)
	if m != nil && ok {
		f.permit, ok = m.take()
	}
	if !ok {
		l.queue.putBack(w)
		l.queue.close(w.item.Judge)
		return true
	}
	if !alone && !l.g.o.Gate.TryEnter() {
		f.permit.Cancel()
		l.queue.putBack(w)
		return false
	}
	if m != nil {
		m.drafts++
		f.marked = l.marks(alone)
	}
	switch {
	case f.marked:
		f.attempt.Class = assay.ClassPrompt
		l.opened = append(l.opened, f)
	case m != nil:
		*group = append(*group, f)
	default:
		l.opened = append(l.opened, f)
	}
	return true
}

// marks says that an attempt is opened already for the prompt: where the process died before, what it had
// in hand must be in rows, or a session whose prompt kills it would never be blamed.
func (l *loop) marks(alone bool) bool { return alone || l.Stalls > 0 && !l.moved }

// affords says whether a budget may have room for another call of a judge. Once it had none, no more
// prompts are made than it has room for: all but one of them could be in vain.
func (l *loop) affords(judge int, now time.Time) bool {
	switch m := l.meters[judge]; {
	case m != nil:
		return m.dear == 0 || m.drafts == 0 || int64(m.drafts) < int64(l.budget.room(l.control.Budget)/m.dear)
	case l.free(judge):
		return true
	}
	l.tight[judge] = l.budget.promise(now, nil, l.control.Budget)
	return l.tight[judge] == nil
}

// fillAlone runs suspects one by one, after everything else, with nothing else in flight in the process.
func (l *loop) fillAlone(now time.Time, group *[]flight) {
	switch {
	case l.used()+len(*group) > 0:
	case l.heldAlone:
		for w, ok := l.queue.nextAlone(); ok; w, ok = l.queue.nextAlone() {
			if l.admit(w, now, true, group); l.used()+len(*group) > 0 {
				return
			}
		}
		l.leaveAlone() // while they wait for their model, others go on
	case !l.wantAlone && l.queue.onlyAlone(now) && l.mayAlone(now):
		l.wantAlone = true
		go func() { l.aloneGate <- l.g.o.Gate.Alone(l.calls) }()
	}
}

// mayAlone says whether a suspect could leave if it were alone. Who asks for that stops everybody.
func (l *loop) mayAlone(now time.Time) bool {
	for w, ok := l.queue.nextAlone(); ok; w, ok = l.queue.nextAlone() {
		l.queue.putBack(w)
		judge := w.item.Judge
		ok := l.affords(judge, now)
		if m := l.meters[judge]; m != nil && ok {
			var permit limit.Permit
			permit, ok = m.take()
			permit.Cancel()
		}
		if ok {
			return true
		}
		l.queue.close(judge)
	}
	return false
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
