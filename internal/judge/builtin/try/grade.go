package main

import (
	"context"
	"fmt"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
)

// freeAttempts bounds the attempts of classes that a run would retry for ever.
const freeAttempts = 6

// grade asks about one session until no unit is left, with the waits and the attempts of the classes.
func grade(ctx context.Context, j judge.Judge, s *assay.Session) (out result) {
	q := judge.Question{Session: s}
	for attempt := 1; ; {
		r := j.Ask(ctx, q)
		out.calls++
		out.usage.Input += r.Usage.Input
		out.usage.Output += r.Usage.Output
		if r.Class == assay.ClassNone {
			q.Answered = append(q.Answered, r.Answers...)
			if r.Left == 0 {
				out.answers = q.Answered
				return out
			}
			q.Unreadable, attempt = nil, 1
			continue
		}
		policy := assay.Policies[r.Class]
		most := policy.Attempts
		if policy.Free {
			most = freeAttempts
		}
		if policy.Pauses || attempt >= most || !wait(ctx, max(r.RetryAfter, policy.Backoff<<(attempt-1))) {
			out.failed = fmt.Sprintf("%s: %s", r.Class, r.Error)
			return out
		}
		attempt++
		q.Unreadable = nil
		if r.Class == assay.ClassMalformed {
			q.Unreadable = &r
		}
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
