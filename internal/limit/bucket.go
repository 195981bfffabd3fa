package limit

import (
	"math"
	"time"
)

// slack is how much of what was not used is kept: it makes up for callers that come a little late, and
// it is the whole burst.
const slack = 100 * time.Millisecond

// bucket meters calls or tokens. Something may be taken whenever level is not negative, and takes level
// below zero by what it weighs: what is large waits no longer to leave, others wait longer after it.
type bucket struct {
	rate  float64 // per second; 0: not metered
	level float64
	at    time.Time
}

// advance fills the bucket up to now; nothing comes in before quiet ends.
func (b *bucket) advance(now, quiet time.Time) {
	from := later(b.at, quiet)
	b.at = later(b.at, now)
	if dt := now.Sub(from); dt > 0 && b.rate > 0 {
		b.level = min(b.level+b.rate*dt.Seconds(), b.rate*slack.Seconds())
	}
}

func (b *bucket) set(rate float64) {
	switch {
	case rate <= 0:
		b.level = 0
	case b.rate <= 0:
		b.level = 0
	default:
		b.level = min(b.level, rate*slack.Seconds())
	}
	b.rate = rate
}

// calls is how many calls of a weight may be taken now.
func (b *bucket) calls(weight float64) float64 {
	switch {
	case b.rate <= 0:
		return math.Inf(1)
	case b.level < 0:
		return 0
	case weight <= 0:
		return math.Inf(1)
	}
	return 1 + math.Floor(b.level/weight)
}

// free is when calls of a weight could be taken one after the other.
func (b *bucket) free(calls, weight float64) time.Time {
	missing := (calls-1)*weight - b.level
	if b.rate <= 0 || missing <= 0 {
		return b.at
	}
	return b.at.Add(time.Duration(math.Ceil(missing / b.rate * float64(time.Second))))
}

func (b *bucket) take(weight float64) {
	if b.rate > 0 {
		b.level -= weight
	}
}
