package grading

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/store"
)

// drafted is what became of a flight's draft: a call that may be opened, or a reply without a call.
type drafted struct {
	flight
	ended *judge.Reply
}

// drafters is how many of one group are rendered at once: it is work for the processor.
const drafters = 4

// drawUp renders the prompts of a group of flights, so that what each can cost is known before it is
// opened. Every flight comes back through l.drafts.
func (l *loop) drawUp(group []flight) {
	if len(group) == 0 {
		return
	}
	l.drafting += len(group)
	l.shelve(group)
	ctx := l.reading
	for i := range min(drafters, len(group)) {
		go func() {
			for k := i; k < len(group); k += drafters {
				f := group[k]
				ended := l.draft(ctx, &f)
				f.shelf = nil // bodies are large
				l.drafts <- &drafted{f, ended}
			}
		}()
	}
}

// draft fills in f.draft, or says how the question ended without a call.
func (l *loop) draft(ctx context.Context, f *flight) (ended *judge.Reply) {
	q, reply := l.question(ctx, f)
	if reply != nil {
		return reply
	}
	f.draft = l.meters[f.item.Judge].judge.Draft(q)
	if f.draft.Ended != nil {
		return f.draft.Ended
	}
	l.pack(f)
	if count := f.draft.Load.Count; count != nil && l.weighs.Load() {
		_, f.draft.Load.InputMost, _ = count()
	}
	return nil
}

// pack makes of what the judge will see what is stored of it. Few do so at a time: an encoder takes a
// megabyte.
func (l *loop) pack(f *flight) {
	if f.draft.Seen.Text == "" {
		return
	}
	l.g.reading <- struct{}{}
	body, _ := store.CompressBody([]byte(f.draft.Seen.Text))
	<-l.g.reading
	f.seen = &store.Seen{Hash: f.draft.Seen.Hash, Text: body}
	f.draft.Seen.Text = ""
}

// takeDraft takes a draft in: its call is opened with the next commit, unless a budget forbids it or the
// run is wanted to stop or to go slower.
func (l *loop) takeDraft(d drafted) {
	f := d.flight
	m := l.meters[f.item.Judge]
	l.drafting--
	m.drafts--
	now := l.g.o.Now()
	unread := d.ended != nil && d.ended.Class == assay.ClassAborted
	switch {
	case d.ended != nil && (f.marked || !(unread && l.halt.Load())):
		l.end(result{f, *d.ended})
		return
	case f.marked:
		l.unmark(&f, now)
	}
	if l.halt.Load() || l.inflight+len(l.opened) >= l.control.Concurrency {
		l.putBack(f)
		return
	}
	f.price = m.price(&l.g.o)
	f.attempt.Reserved = f.price.Reservation(f.draft.Load.InputMost, f.draft.Load.OutputMost)
	if no := l.budget.promise(now, f.attempt.Reserved, l.control.Budget); no != nil {
		no.price, m.dear = f.price, no.amount
		l.tight[f.item.Judge] = no
		l.putBack(f)
		return
	}
	f.attempt.Seen = f.draft.Seen.Hash
	f.permit.Weigh(f.draft.Load.Input + m.output)
	f.attempt.OpenedAt = now
	l.opened = append(l.opened, f)
}

// unmark closes the attempt that was opened for a prompt: the call gets one of its own, with what it may
// cost.
func (l *loop) unmark(f *flight, now time.Time) {
	l.batch.Done = append(l.batch.Done, store.Outcome{
		Attempt: closeAttempt(f.attempt, judge.Reply{Class: assay.ClassPrompt}, now),
		State:   assay.ItemPending, Class: assay.ClassPrompt, Error: f.item.Error, NotBefore: f.item.NotBefore,
	})
	f.marked = false
	f.item.Attempts++
	f.attempt = assay.Attempt{
		Run: l.ID, Seq: f.item.Seq, N: f.item.Attempts, Epoch: l.Epoch, Status: assay.AttemptOpen,
		Alone: f.attempt.Alone, OpenedAt: now, Wait: f.attempt.Wait,
	}
}

// putBack returns a flight of which nothing was promised or stored to the queue.
func (l *loop) putBack(f flight) {
	l.land(f, nil)
	f.item.Attempts--
	l.queue.putBack(waiting{item: f.item, unreadable: f.unreadable, answered: f.answered, recall: f.recall, since: f.attempt.OpenedAt.Add(-f.attempt.Wait)})
}

// land gives back what a flight holds of the process. reply is nil when its call never left.
func (l *loop) land(f flight, reply *judge.Reply) {
	if !f.attempt.Alone {
		l.g.o.Gate.Leave()
	}
	if f.release != nil {
		f.release()
	}
	m := l.meters[f.item.Judge]
	switch {
	case m == nil:
	case reply == nil || reply.CallAt.IsZero() && reply.Class != assay.ClassUnreachable:
		f.permit.Cancel()
	default:
		if reply.Usage.Known {
			m.weighed(reply.Usage)
		}
		f.permit.Done(outcome(f, *reply))
	}
}

// question puts together what f's judge is asked, or says why it cannot be. It waits for room in memory
// until ctx ends.
func (l *loop) question(ctx context.Context, f *flight) (judge.Question, *judge.Reply) {
	if err := l.recall(ctx, f); err != nil {
		r := unread(ctx, "read attempts", err)
		return judge.Question{}, &r
	}
	q := judge.Question{Repeat: f.item.Repeat, Unreadable: f.unreadable, Answered: f.answered}
	if !l.judges[f.item.Judge].NeedsBody() {
		return q, nil
	}
	var err error
	if q.Session, q.Content, f.release, err = l.g.read(ctx, f.shelf, f.item.Content); err != nil {
		r := noBody(ctx, err)
		return q, &r
	}
	if q.Session.Empty() {
		return q, &judge.Reply{Class: assay.ClassSessionEmpty, Error: "the session holds no message to grade"}
	}
	return q, nil
}

// begin makes a flight of an item that may run now.
func (l *loop) begin(w waiting, now time.Time, alone bool) flight {
	w.item.Attempts++
	since := w.since
	if since.IsZero() {
		since = l.began
	}
	var reserved *assay.USD
	if l.free(w.item.Judge) {
		reserved = new(assay.USD) // also while it runs, and after a crash, its cost is known
	}
	return flight{item: w.item, unreadable: w.unreadable, answered: w.answered, recall: w.recall, attempt: assay.Attempt{
		Run: l.ID, Seq: w.item.Seq, N: w.item.Attempts, Epoch: l.Epoch, Status: assay.AttemptOpen,
		Alone: alone, OpenedAt: now, Wait: max(now.Sub(since), 0), Reserved: reserved,
	}}
}
