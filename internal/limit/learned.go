package limit

import (
	"math"
	"time"
)

const (
	under      = 0.97 // of the ceiling: where a learned bound rests
	restFirst  = 4 * time.Second
	restMost   = 30 * time.Second
	opening    = 0.60 // growth per second while nothing is known well
	climbing   = 0.30 // while a ceiling was known and has moved
	returning  = 0.20 // while below where it rests
	probing    = 0.03 // above where it rests
	probeMost  = 1.25 // of the ceiling
	unusedMost = 2.5  // seconds of calls not made that a provider may have saved up
	// A rate's ceiling has moved when more calls were accepted than it explains: so many, and those of so
	// many seconds.
	proofCalls  = 2.0
	proofOfRate = 0.1
)

// learned is a bound that 429s taught: calls per second, or calls in flight.
type learned struct {
	value    float64 // 0: nothing is learned, nothing is bounded
	ceiling  float64 // what the provider accepted at the last 429; 0: it is not known, or has moved
	interval time.Duration
	rest     time.Time // until then it stays under the ceiling
	// excess is how many calls more than the ceiling allows have left since the last episode. Below zero
	// are those that a provider may have saved up: as long as it is, calls above the ceiling prove nothing.
	excess  float64
	metered bool    // a rate: excess counts
	climb   float64 // growth per second while no ceiling is known
	lag     float64 // seconds after which a refusal was heard of: what grows does so blindly that long
	sure    bool    // the ceiling was met from below
}

// grow raises the bound for a time in which it was what kept calls back.
func (b *learned) grow(now time.Time, dt float64, pressed bool, most float64) {
	if b.value <= 0 {
		return
	}
	if b.metered && b.ceiling > 0 {
		b.excess = max(b.excess-b.ceiling*dt, -unusedMost*b.ceiling)
	}
	if !pressed || b.value >= most {
		return
	}
	dt *= b.pace()
	switch home := b.home(); {
	case b.ceiling <= 0:
		b.value *= 1 + b.climb*dt
	case b.value < home:
		if b.value *= 1 + returning*dt; b.value >= home {
			b.value = home
			b.rest = later(b.rest, now.Add(b.restFor()))
		}
	case now.Before(b.rest):
	case b.moved():
		b.ceiling, b.interval, b.climb = 0, restFirst, climbing
	default:
		b.value = min(b.value+b.ceiling*probing*min(1, b.probePace())*dt, probeMost*b.ceiling)
	}
}

// home is where the bound rests: what is accepted in flight is known to the call, a rate is not.
func (b *learned) home() float64 {
	if b.metered {
		return under * b.ceiling
	}
	return b.ceiling
}

// pace slows growth where refusals are heard of late or calls are rare.
func (b *learned) pace() float64 {
	pace := 1 / max(1, b.lag/2)
	if b.metered {
		pace *= min(1, b.value)
	}
	return pace
}

// probePace keeps probes from running past the ceiling between two calls that could tell.
func (b *learned) probePace() float64 {
	if b.metered {
		return b.value / 5
	}
	return 1
}

// probes says that the bound is above where it rests to see whether the provider accepts more.
func (b *learned) probes() bool { return b.ceiling > 0 && b.value > b.home()*1.0001 }

// moved says that more was accepted than the ceiling explains.
func (b *learned) moved() bool {
	if b.metered {
		return b.probes() && b.excess > proofCalls+proofOfRate*b.ceiling
	}
	return b.value > 1.1*b.ceiling+1
}

// cut puts the bound under a new ceiling, at value.
func (b *learned) cut(now time.Time, ceiling, value float64) {
	switch was := b.ceiling; {
	case was <= 0 || math.Abs(ceiling/was-1) > 0.1:
		b.interval, b.sure = restFirst, false
	case b.probes():
		b.sure = true
		b.interval = min(2*b.interval, restMost)
	}
	b.ceiling, b.value, b.excess = ceiling, value, 0
	b.rest = now.Add(b.restFor())
}

// restFor is a number of calls at least, so that what is called rarely is not refused often.
func (b *learned) restFor() time.Duration {
	if !b.metered || b.value <= 0 {
		return b.interval
	}
	calls := 10.0
	if b.sure {
		calls = 30
	}
	return max(b.interval, time.Duration(calls/b.value*float64(time.Second)))
}

// dear makes probes rare that cost a silence each.
func (b *learned) dear(now time.Time, silence time.Duration) {
	if b.sure {
		b.interval = min(max(b.interval, 20*silence), restMost)
		b.rest = now.Add(silence + b.restFor())
	}
}

// again forgets how long to rest: the bound is looked for anew.
func (b *learned) again(now time.Time) { b.interval, b.rest = restFirst, now }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
