package extract

import (
	"slices"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// times are all durations of a judge's calls.
type times struct {
	queue, backoff, permit, call []time.Duration
	failed                       int64
}

func (a *assembly) call(c *store.ExtractCall) error {
	t := &a.times
	if c.N == 1 {
		t.queue = append(t.queue, c.Wait)
	} else {
		t.backoff = append(t.backoff, c.Wait)
	}
	t.permit = append(t.permit, c.Delay)
	t.call = append(t.call, c.Call)
	if c.Class != assay.ClassNone {
		t.failed++
	}
	return nil
}

func (t *times) calls() Calls {
	return Calls{Queue: timesOf(t.queue), Backoff: timesOf(t.backoff), Permit: timesOf(t.permit), Call: timesOf(t.call), Failed: t.failed}
}

// timesOf takes quantiles as the smallest duration that so many are no longer than.
func timesOf(all []time.Duration) (t Times) {
	if len(all) == 0 {
		return t
	}
	slices.Sort(all)
	at := func(percent int) time.Duration { return all[max((len(all)*percent+99)/100-1, 0)] }
	t = Times{N: int64(len(all)), P50: at(50), P95: at(95), Most: all[len(all)-1]}
	for _, d := range all {
		t.Sum += d
	}
	return t
}
