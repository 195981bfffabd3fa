package grading

import (
	"math/rand/v2"
	"slices"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/store"
)

// settled is what becomes of an attempt's item: an outcome to store and, where the item goes on, when
// and with which unreadable answer to show.
type settled struct {
	outcome    store.Outcome
	again      bool
	at         time.Time
	unreadable *judge.Reply
	answered   []assay.Answer // about units, this attempt's among them
}

// settle applies the policy of a reply's class. It is pure but for the jitter that spread gives, a
// number in [0, 1).
func settle(f flight, reply judge.Reply, now time.Time, spread func() float64) settled {
	if reply.Class == assay.ClassNone && len(reply.Answers) == 0 {
		reply.Class, reply.Error = assay.ClassMalformed, "the judge gave no answer"
	}
	policy, known := assay.Policies[reply.Class]
	if !known && reply.Class != assay.ClassNone {
		reply.Error = "unknown class " + string(reply.Class) + ": " + reply.Error
		reply.Class = assay.ClassJudgeError
		policy = assay.Policies[assay.ClassJudgeError]
	}
	s := settled{outcome: store.Outcome{
		Attempt: closeAttempt(f.attempt, reply, now), State: assay.ItemPending,
		Class: reply.Class, Error: reply.Error, Counted: !policy.Free,
	}}
	s.answered = f.answered
	switch {
	case reply.Class == assay.ClassNone && reply.Left > 0:
		s.outcome.Answers, s.outcome.Counted = reply.Answers, false
		s.answered, s.again, s.at = slices.Concat(f.answered, reply.Answers), true, now
		return s
	case reply.Class == assay.ClassNone:
		s.outcome.State, s.outcome.Answers, s.outcome.Pass = assay.ItemGraded, reply.Answers, passOf(reply.Answers)
		s.outcome.Cut = f.draft.Seen.Cut
		return s
	case ends(f, reply.Class, policy):
		s.outcome.State = policy.Ends
		return s
	}
	s.again = true
	s.unreadable = f.unreadable
	s.at = now.Add(backoff(f.item, reply, policy, spread()))
	if reply.Class == assay.ClassMalformed {
		s.unreadable, s.at = &reply, now
	}
	if s.at.After(now) {
		s.outcome.NotBefore = &s.at
	}
	return s
}

// ends says whether this attempt was the item's last. An unreadable answer is shown to the judge and
// asked again exactly once, whatever went wrong before it.
func ends(f flight, class assay.Class, p assay.Policy) bool {
	if p.Free {
		return false
	}
	if class == assay.ClassMalformed {
		return f.unreadable != nil
	}
	return f.item.Counted+1 >= p.Attempts
}

// backoff is how long an item waits. A provider that says how long is taken at its word, plus up to a
// tenth; else waits double with each try of their sort, jittered over their upper half. Either way
// items that failed together do not come back together.
func backoff(it assay.Item, reply judge.Reply, p assay.Policy, spread float64) time.Duration {
	if reply.RetryAfter > 0 {
		return reply.RetryAfter + time.Duration(spread*float64(reply.RetryAfter)/10)
	}
	tries := it.Counted
	if p.Free {
		tries = it.Attempts - 1 - it.Counted
	}
	wait := p.Backoff
	for range min(max(tries, 0), 16) {
		wait = min(2*wait, assay.MaxBackoff)
	}
	return wait/2 + time.Duration(spread*float64(wait/2))
}

func closeAttempt(a assay.Attempt, reply judge.Reply, now time.Time) assay.Attempt {
	a.Status, a.Class, a.Error = assay.AttemptDone, reply.Class, reply.Error
	if !reply.CallAt.IsZero() {
		a.CallAt = &reply.CallAt
	}
	if reply.EndedAt.IsZero() {
		reply.EndedAt = now
	}
	a.EndedAt = &reply.EndedAt
	a.HTTPStatus, a.RetryAfter, a.Usage = reply.HTTPStatus, reply.RetryAfter, reply.Usage
	a.Model, a.Fingerprint, a.RequestID, a.Raw = reply.Model, reply.Fingerprint, reply.RequestID, reply.Raw
	return a
}

// passOf is the item's pass: that of the unit "", which is the session, or what its judge rolled the
// answers about other units up to.
func passOf(answers []assay.Answer) *bool {
	for i := range answers {
		if answers[i].Unit == "" {
			return answers[i].Pass
		}
	}
	return nil
}

func jitter() float64 { return rand.Float64() }
