package grading

import (
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/limit"
)

// meter holds one judge of a run to the limits of its model, which it shares with all other runs of the
// process, and knows the model's price.
type meter struct {
	judge  judge.Metered
	model  *limit.Limiter
	share  *limit.Share
	weight int64 // tokens of a call, as the calls so far averaged
	output int64 // of them the answer's
}

// firstWeight is what a call is thought to weigh before one was seen.
const firstWeight, firstOutput = 2_000, 300

// newMeters joins the limiters of the run's metered judges; nil stands for judges that call nobody.
func (l *loop) newMeters() {
	l.meters = make([]*meter, len(l.judges))
	for i, j := range l.judges {
		m, ok := j.(judge.Metered)
		if !ok {
			continue
		}
		key := m.Model()
		model := l.g.o.Limits.For(limit.Key(key))
		if l.Reason == assay.ReasonResumed {
			model.Retry() // a person asked for it now
		}
		l.meters[i] = &meter{judge: m, model: model, share: model.Join(l.ID.String()), weight: firstWeight, output: firstOutput}
		go l.forward(l.meters[i].share.C())
	}
}

// forward makes one signal of those of several models, until the driving ends.
func (l *loop) forward(granted <-chan struct{}) {
	for {
		select {
		case <-granted:
		case <-l.calls.Done():
			return
		}
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

func (l *loop) leaveMeters() {
	for _, m := range l.meters {
		if m != nil {
			m.share.Leave()
		}
	}
}

// rest tells the limiters of judges that were not refused that nothing more is wanted for the moment: no
// other run needs to keep them a turn.
func (l *loop) rest() {
	for i, m := range l.meters {
		if m != nil && !l.queue.lane(i).closed {
			m.share.Idle()
		}
	}
}

// price is the model's price now; nil is not known.
func (m *meter) price(o *Options) *assay.Price {
	if o.Price == nil {
		return nil
	}
	return o.Price(m.judge.Provider(), m.judge.Model())
}

// weighed takes a call's tokens into the averages.
func (m *meter) weighed(u assay.Usage) {
	m.weight += (u.Input + u.Output - m.weight) / 16
	m.output += (u.Output - m.output) / 16
}

// outcome is what a reply tells the limiter.
func outcome(r judge.Reply) limit.Outcome {
	o := limit.Outcome{Kind: limit.Answered, RetryAfter: r.RetryAfter, Told: r.Told, Message: r.Error}
	if r.Usage.Known {
		o.Tokens = r.Usage.Input + r.Usage.Output
	}
	switch r.Class {
	case assay.ClassRateLimited:
		o.Kind = limit.Limited
	case assay.ClassQuota:
		o.Kind = limit.Quota
	case assay.ClassUnreachable:
		o.Kind = limit.Unreachable
	case assay.ClassProviderError, assay.ClassTimeout, assay.ClassNetwork:
		o.Kind = limit.Failed
	case assay.ClassAborted:
		o.Kind = limit.Aborted
	}
	return o
}

// cost is what a call cost, as far as that is known. What a provider refuses it does not bill.
func cost(f flight, r judge.Reply, free bool) *assay.USD {
	switch {
	case free, r.HTTPStatus >= 400:
		return new(assay.USD)
	case r.Billed != nil:
		return r.Billed
	case f.price == nil:
		return nil
	}
	return f.price.Cost(r.Usage)
}

// holding says why a model takes no call for a while, as a cause to pause a run of which nothing else
// can happen; nil when it is not worth a pause.
func (m *meter) holding(now time.Time) *pausing {
	at, why := m.share.Wait()
	if cause, message, _, probe, broken := m.model.Broken(); broken {
		return &pausing{reason: brokenReason(cause), wake: max(probe.Sub(now), time.Second),
			sentence: message + ": " + assay.Policies[brokenClass(cause)].Remedy}
	}
	if at.Sub(now) < limitedFor {
		return nil
	}
	return &pausing{reason: assay.ReasonRateLimited, wake: at.Sub(now),
		sentence: "the provider asked to wait until " + at.UTC().Format("2006-01-02 15:04 UTC") + " (" + string(why) + ")"}
}

func brokenClass(k limit.Kind) assay.Class {
	switch k {
	case limit.Unreachable:
		return assay.ClassUnreachable
	case limit.Quota:
		return assay.ClassQuota
	}
	return assay.ClassProviderError
}

func brokenReason(k limit.Kind) assay.Reason {
	if k == limit.Failed {
		return assay.ReasonProviderDown
	}
	return assay.Reason(brokenClass(k))
}

// dearer says that a call's price changed since its reservation was stored: it is drawn up anew.
func (l *loop) dearer(f *flight) bool {
	m := l.meters[f.item.Judge]
	if m == nil || f.price == nil {
		return false
	}
	now := worst(m.price(&l.g.o), f.draft.Load)
	return f.attempt.Reserved != nil && (now == nil || *now > *f.attempt.Reserved)
}

// worst is the most that a call can cost; nil where that is not known.
func worst(p *assay.Price, load judge.Load) *assay.USD {
	if p == nil || !p.Holds(load.InputMost) || load.OutputMost <= 0 {
		return nil
	}
	most := p.Worst(load.InputMost, load.OutputMost)
	return &most
}
