package assay

import (
	"math"
	"math/bits"
	"time"
)

// Price is what a model costs, in US dollars per million tokens. AsOf is the day on which the price was
// looked up and Source where: the catalogue's name and version, or SourceSet.
type Price struct {
	Input      USD  `json:"input_per_million"`
	Cached     *USD `json:"cached_input_per_million,omitempty"` // nil: as Input
	CacheWrite *USD `json:"cache_write_per_million,omitempty"`  // nil: as Input
	Output     USD  `json:"output_per_million"`                 // reasoning tokens count as output
	// UpTo is the longest prompt, in tokens, for which the price is known to hold: several vendors charge
	// more for a longer one. 0 is any length.
	UpTo   int64      `json:"up_to_input_tokens,omitempty"`
	AsOf   *time.Time `json:"as_of,omitempty"`
	Source string     `json:"source,omitempty"`
}

// SourceSet is the source of a price that a person set.
const SourceSet = "set"

// Validate refuses prices that nobody charges.
func (p Price) Validate() error {
	for _, part := range []struct {
		name string
		usd  *USD
	}{{"input", &p.Input}, {"cached input", p.Cached}, {"cache write", p.CacheWrite}, {"output", &p.Output}} {
		if part.usd == nil {
			continue
		}
		if err := part.usd.Validate(); err != nil {
			return Errorf(CodeInvalid, "price of %s: %w", part.name, err).WithHint("write US dollars per million tokens, for instance 2.50")
		}
	}
	return nil
}

// Cost is what a call with this usage costs, rounded up to a billionth of a dollar; nil where the
// usage is not known, or not what so long a prompt costs.
func (p Price) Cost(u Usage) *USD {
	if !u.Known || !p.Holds(u.Input) {
		return nil
	}
	input := max(u.Input, 0)
	cached := min(max(u.Cached, 0), input)
	written := min(max(u.CacheWrite, 0), input-cached)
	var sum perMillion
	sum.add(p.Input, input-cached-written)
	sum.add(or(p.Cached, p.Input), cached)
	sum.add(or(p.CacheWrite, p.Input), written)
	sum.add(p.Output, u.Output)
	cost := sum.ceil()
	return &cost
}

// Holds says whether the price is known for a prompt of so many tokens.
func (p Price) Holds(input int64) bool { return p.UpTo == 0 || input <= p.UpTo }

// Reservation is what has to be set aside for a call whose prompt has at most input tokens and whose
// answer at most output. It is nil where nobody can say: there is no price, it is not known for so long
// a prompt, or nothing bounds the answer (output 0).
func (p *Price) Reservation(input, output int64) *USD {
	if p == nil || !p.Holds(input) || output <= 0 {
		return nil
	}
	most := p.Worst(input, output)
	return &most
}

// Worst is the most that a call can cost whose prompt has at most input tokens and whose answer at
// most output, however its prompt is split over the cache.
func (p Price) Worst(input, output int64) USD {
	var sum perMillion
	sum.add(max(p.Input, or(p.Cached, p.Input), or(p.CacheWrite, p.Input)), input)
	sum.add(p.Output, output)
	return sum.ceil()
}

func or(price *USD, other USD) USD {
	if price == nil {
		return other
	}
	return *price
}

// perMillion sums price times tokens exactly, in 128 bits: Worst bounds Cost because only the whole sum
// is rounded. Four products of two positive int64 cannot overflow it.
type perMillion struct{ high, low uint64 }

func (s *perMillion) add(price USD, tokens int64) {
	if price <= 0 || tokens <= 0 {
		return
	}
	high, low := bits.Mul64(uint64(price), uint64(tokens))
	var carry uint64
	s.low, carry = bits.Add64(s.low, low, 0)
	s.high, _ = bits.Add64(s.high, high, carry)
}

// ceil is the sum divided by a million and rounded up, at most MaxInt64.
func (s *perMillion) ceil() USD {
	low, carry := bits.Add64(s.low, 999_999, 0)
	high := s.high + carry
	if high >= 1_000_000 {
		return math.MaxInt64
	}
	n, _ := bits.Div64(high, low, 1_000_000)
	return USD(min(n, math.MaxInt64))
}
