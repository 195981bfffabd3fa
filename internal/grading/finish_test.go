package grading

import (
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
)

// What pauses a run, and whether it wakes by itself.
func TestWhatPauses(t *testing.T) {
	type call struct {
		class assay.Class
		after time.Duration
	}
	every := func(n int, gap time.Duration, class assay.Class) (calls []call) {
		for i := range n {
			calls = append(calls, call{class, time.Duration(i) * gap})
		}
		return calls
	}
	for name, c := range map[string]struct {
		calls  []call
		reason assay.Reason
		wakes  bool
	}{
		"a wrong key":                      {every(1, 0, assay.ClassBadCredentials), assay.Reason(assay.ClassBadCredentials), false},
		"no quota":                         {every(1, 0, assay.ClassQuota), assay.Reason(assay.ClassQuota), true},
		"no such model":                    {every(1, 0, assay.ClassModelMissing), assay.Reason(assay.ClassModelMissing), false},
		"no budget":                        {every(1, 0, assay.ClassBudget), assay.Reason(assay.ClassBudget), false},
		"nobody answers: the limiter says": {every(100, time.Minute, assay.ClassUnreachable), "", false},
		"limited for half an hour":         {every(31, time.Minute, assay.ClassRateLimited), assay.ReasonRateLimited, true},
		"limited for less":                 {every(30, time.Minute, assay.ClassRateLimited), "", false},
		"limited with a success":           {append(every(29, time.Minute, assay.ClassRateLimited), call{assay.ClassNone, 29 * time.Minute}, call{assay.ClassRateLimited, 31 * time.Minute}), "", false},
		"what breaks single items":         {every(100, time.Minute, assay.ClassProviderError), "", false},
		"the first cause is the one given": {[]call{{assay.ClassQuota, 0}, {assay.ClassBadCredentials, 0}}, assay.Reason(assay.ClassQuota), true},
	} {
		t.Run(name, func(t *testing.T) {
			l := &loop{}
			for _, call := range c.calls {
				reply := judge.Reply{Class: call.class, Error: "because"}
				if call.class == assay.ClassProviderError {
					reply.HTTPStatus = 500
				}
				l.judgeOf(reply, noon.Add(call.after))
			}
			switch {
			case c.reason == "":
				if l.pausing != nil {
					t.Errorf("pauses: %+v", l.pausing)
				}
			case l.pausing == nil || l.pausing.reason != c.reason || l.pausing.wake.IsZero() == c.wakes || l.pausing.sentence == "":
				t.Errorf("%+v, want %s (wakes by itself: %v)", l.pausing, c.reason, c.wakes)
			}
		})
	}
	for class, p := range assay.Policies {
		l := &loop{}
		l.judgeOf(judge.Reply{Class: class}, noon)
		l.judgeOf(judge.Reply{Class: class}, noon.Add(time.Hour))
		if wants := p.Pauses && class != assay.ClassUnreachable || class == assay.ClassRateLimited; (l.pausing != nil) != wants {
			t.Errorf("%s pauses: %v, its policy says %v", class, l.pausing != nil, wants)
		}
	}
}
