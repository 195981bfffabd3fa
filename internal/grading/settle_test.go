package grading

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"assay/internal/assay"
	"assay/internal/judge"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func half() float64 { return 0.5 }

func yes() []assay.Answer {
	pass := true
	return []assay.Answer{{Pass: &pass, Findings: []assay.Finding{{Criterion: "ok", Applies: true, Value: []byte("true")}}}}
}

func TestSettleEveryClass(t *testing.T) {
	first := flight{item: assay.Item{Attempts: 1}}
	last := func(n int) flight { return flight{item: assay.Item{Attempts: n, Counted: n - 1}} }
	reasked := flight{item: assay.Item{Attempts: 2, Counted: 1}, unreadable: &judge.Reply{Raw: "?"}}
	for _, c := range []struct {
		name  string
		f     flight
		class assay.Class
		state assay.ItemState
		again bool
	}{
		{"verdict", first, assay.ClassNone, assay.ItemGraded, false},
		{"timeout", first, assay.ClassTimeout, assay.ItemPending, true},
		{"timeout at last", last(3), assay.ClassTimeout, assay.ItemErrored, false},
		{"5xx", first, assay.ClassProviderError, assay.ItemPending, true},
		{"5xx at last", last(4), assay.ClassProviderError, assay.ItemErrored, false},
		{"network at last", last(4), assay.ClassNetwork, assay.ItemErrored, false},
		{"refused", first, assay.ClassRefused, assay.ItemErrored, false},
		{"unreadable", first, assay.ClassMalformed, assay.ItemPending, true},
		{"unreadable after a timeout is asked again too", last(2), assay.ClassMalformed, assay.ItemPending, true},
		{"unreadable twice", reasked, assay.ClassMalformed, assay.ItemErrored, false},
		{"cut by length", first, assay.ClassTruncated, assay.ItemErrored, false},
		{"judge broke", first, assay.ClassJudgeError, assay.ItemErrored, false},
		{"unheard-of class", first, "from_mars", assay.ItemErrored, false},
		{"rate limited", first, assay.ClassRateLimited, assay.ItemPending, true},
		{"rate limited for the hundredth time", flight{item: assay.Item{Attempts: 100}}, assay.ClassRateLimited, assay.ItemPending, true},
		{"too long", first, assay.ClassContextTooLong, assay.ItemUngradable, false},
		{"filtered", first, assay.ClassContentFiltered, assay.ItemUngradable, false},
		{"missing", first, assay.ClassSessionMissing, assay.ItemUngradable, false},
		{"empty", first, assay.ClassSessionEmpty, assay.ItemUngradable, false},
		{"bad key", first, assay.ClassBadCredentials, assay.ItemPending, true},
		{"quota", first, assay.ClassQuota, assay.ItemPending, true},
		{"no such model", first, assay.ClassModelMissing, assay.ItemPending, true},
		{"nobody there", first, assay.ClassUnreachable, assay.ItemPending, true},
		{"aborted", first, assay.ClassAborted, assay.ItemPending, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply := judge.Reply{Class: c.class, Error: "because"}
			if c.class == assay.ClassNone {
				reply.Answers = yes()
			}
			s := settle(c.f, reply, noon, half)
			if s.outcome.State != c.state || s.again != c.again {
				t.Errorf("state %s again %v, want %s %v", s.outcome.State, s.again, c.state, c.again)
			}
			if (s.outcome.State == assay.ItemGraded) != (len(s.outcome.Answers) > 0) {
				t.Errorf("an item is graded if and only if it has answers: %+v", s.outcome)
			}
		})
	}
}

func TestNoAnswerIsUnreadableNotAVerdict(t *testing.T) {
	s := settle(flight{item: assay.Item{Attempts: 1}}, judge.Reply{}, noon, half)
	if s.outcome.Class != assay.ClassMalformed || s.outcome.State != assay.ItemPending || s.unreadable == nil {
		t.Errorf("got %+v", s)
	}
}

func TestRetryAfterIsNeverCutShort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		after := time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(t, "retry after"))
		it := assay.Item{Attempts: rapid.IntRange(1, 500).Draw(t, "attempts")}
		spread := rapid.Float64Range(0, 0.999).Draw(t, "spread")
		s := settle(flight{item: it}, judge.Reply{Class: assay.ClassRateLimited, RetryAfter: after}, noon, func() float64 { return spread })
		wait := s.at.Sub(noon)
		if wait < after || wait > max(after+after/10, assay.MaxBackoff) {
			t.Fatalf("waits %s, provider asked for %s", wait, after)
		}
		if s.outcome.Counted {
			t.Fatal("a rate limit used up an attempt")
		}
	})
}

func TestEveryClassHasAPolicyThatEndsOrIsFree(t *testing.T) {
	for class, p := range assay.Policies {
		if p.Free == (p.Attempts > 0) || p.Remedy == "" || (p.Ends == "") != p.Free {
			t.Errorf("%s: %+v", class, p)
		}
	}
}

// Without a word of the provider the wait doubles from try to try up to a bound, and the jitter takes
// at most half of it.
func TestBackoffDoublesAndIsBounded(t *testing.T) {
	p := assay.Policies[assay.ClassProviderError]
	for tries, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute, time.Minute} {
		it := assay.Item{Attempts: tries + 1, Counted: tries}
		least, most := backoff(it, judge.Reply{}, p, 0), backoff(it, judge.Reply{}, p, 1)
		if least != want/2 || most != want {
			t.Errorf("after %d tries the wait is %s to %s, want %s to %s", tries, least, most, want/2, want)
		}
	}
	if wait := backoff(assay.Item{Attempts: 1000}, judge.Reply{}, assay.Policies[assay.ClassRateLimited], 1); wait != assay.MaxBackoff {
		t.Errorf("the thousandth wait is %s", wait)
	}
}
