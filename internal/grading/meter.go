package grading

import (
	"fmt"
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

	refused bool      // the model took no call when the loop went round last
	drafts  int       // flights whose prompt is being rendered
	dear    assay.USD // what a call was refused for that a budget had no room for; 0: none was
}

// limitsWake is how often a run looks again that waits longer for limits that a person may raise.
const limitsWake = 5 * time.Minute

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

// take asks m's model for a permit, and remembers when it gave none.
func (m *meter) take() (limit.Permit, bool) {
	permit, ok := m.share.TryTake(m.weight)
	m.refused = !ok
	return permit, ok
}

// rest tells the limiters of judges that were not refused that nothing more is wanted for the moment: no
// other run needs to keep them a turn.
func (l *loop) rest() {
	for _, m := range l.meters {
		if m != nil && !m.refused {
			m.share.Idle()
		}
	}
}

// price is what a judge's model costs now; nil is not known.
func (l *loop) price(judge int) *assay.Price {
	if m := l.meters[judge]; m != nil {
		return m.price(&l.g.o)
	}
	return nil
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
func outcome(f flight, r judge.Reply) limit.Outcome {
	o := limit.Outcome{Kind: limit.Answered, RetryAfter: r.RetryAfter, Told: r.Told, Message: r.Error, Again: f.item.Counted > 0}
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

// waits says why a model takes no call for a while, as a cause to pause a run of which nothing else can
// happen; nil when it is not worth a pause.
func (m *meter) waits(now time.Time, id assay.RunID) *pausing {
	at, why := m.share.Wait()
	if cause, message, _, probe, broken := m.model.Broken(); broken {
		if !probe.After(now) {
			return nil // one call is out to see whether it is up again
		}
		return &pausing{reason: brokenReason(cause), wake: probe,
			sentence: message + ": " + assay.Policies[brokenClass(cause)].Remedy}
	}
	if at.Sub(now) < limitedFor {
		return nil
	}
	p := &pausing{reason: assay.ReasonRateLimited, wake: at, sentence: fmt.Sprintf("the provider asked to wait until %s (%s)", minute(at), why)}
	if why != limit.ReasonRetryAfter && why != limit.ReasonRemaining {
		p.wake = now.Add(limitsWake)
		p.sentence = m.limits(why, minute(at), id)
	}
	return p
}

// limits says which limit leaves no call, and how it is raised where a person set it.
func (m *meter) limits(why limit.Reason, until string, id assay.RunID) string {
	key, st := m.judge.Model(), m.model.State()
	again := fmt.Sprintf("a process that drives goes on within %d minutes, or at once with `assay resume %s`", int(limitsWake.Minutes()), id)
	var flag, most string
	switch requests, tokens := st.Set.RequestsPerMinute, st.Set.TokensPerMinute; {
	case why == limit.ReasonRequests && requests > 0 && requests/60 <= st.RequestsPerSecond:
		flag, most = "--requests-per-minute", fmt.Sprintf("%v requests per minute", requests)
	case why == limit.ReasonTokens && tokens > 0 && tokens/60 <= st.TokensPerSecond:
		flag, most = "--tokens-per-minute", fmt.Sprintf("%v tokens per minute", tokens)
	default:
		return fmt.Sprintf("the limits of %s, as the provider told or taught them, leave no call until %s (%s); when they allow one, %s", key, until, why, again)
	}
	return fmt.Sprintf("the limit of %s that was set for %s leaves no call until %s; raise it with `assay models set %s %s %s`, and %s",
		most, key, until, key.Endpoint, key.Model, flag, again)
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

// reprice takes the price at which a call leaves, or says that the call must be drawn up anew: it could
// cost more than was set aside for it.
func (l *loop) reprice(f *flight) bool {
	m := l.meters[f.item.Judge]
	if m == nil {
		return true
	}
	price := m.price(&l.g.o)
	if f.attempt.Reserved == nil {
		f.price = price
		return !l.weighs.Load() || l.budget.unpriced
	}
	most := price.Reservation(f.draft.Load.InputMost, f.draft.Load.OutputMost)
	if most == nil || *most > *f.attempt.Reserved {
		return false
	}
	f.price = price
	return true
}
