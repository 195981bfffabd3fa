package assay

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// USD is an amount in billionths of a US dollar, so that the price of one token is a whole number or
// nearly one and sums of a million calls do not drift. In JSON it is a number of dollars.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1_000_000_000

// MaxUSD bounds amounts that people give.
const MaxUSD = 1_000_000 * Dollar

// String writes dollars with as many of nine decimals as are needed, at least two: "12.50".
func (u USD) String() string {
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", uint64(-u)
	}
	decimals := strings.TrimRight(fmt.Sprintf("%09d", n%uint64(Dollar)), "0")
	for len(decimals) < 2 {
		decimals += "0"
	}
	return sign + strconv.FormatUint(n/uint64(Dollar), 10) + "." + decimals
}

// MarshalJSON writes a number of dollars.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON reads a number of dollars, not negative, with at most nine decimals. It takes whatever
// MarshalJSON writes, so sums beyond MaxUSD too, and exponents, since other programs write 1e-9. What
// people send in JSON is bounded by Validate. null is refused: an amount left out is not 0.
func (u *USD) UnmarshalJSON(b []byte) (err error) {
	*u, err = parse(string(b), math.MaxInt64)
	return err
}

// ParseUSD reads what a person writes, "12.50" or "$12.50": dollars with at most nine decimals, not
// negative, at most MaxUSD.
func ParseUSD(s string) (USD, error) {
	return parse(strings.TrimPrefix(strings.TrimSpace(s), "$"), MaxUSD)
}

// Validate refuses amounts that nobody means.
func (u USD) Validate() error {
	switch {
	case u < 0:
		return notDollars(u.String(), "is negative")
	case u > MaxUSD:
		return notDollars(u.String(), "is more than "+MaxUSD.String())
	}
	return nil
}

func notDollars(s, why string) error {
	return Errorf(CodeInvalid, "amount %.40q %s", s, why).WithHint("write US dollars, for instance 12.50")
}

// parse reads digits, perhaps a point and digits, perhaps an exponent. It computes with whole numbers
// only: a float64 cannot hold 12.1 dollars.
func parse(s string, most USD) (USD, error) {
	if strings.HasPrefix(s, "-") {
		return 0, notDollars(s, "is negative")
	}
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(s[i+1:]); err != nil || exponent < -30 || exponent > 30 {
			return 0, notDollars(s, "is not an amount of dollars")
		}
		mantissa = s[:i]
	}
	whole, decimals, point := strings.Cut(mantissa, ".")
	digits := whole + decimals
	if whole == "" || (point && decimals == "") || strings.Trim(digits, "0123456789") != "" {
		return 0, notDollars(s, "is not an amount of dollars")
	}
	shift := 9 + exponent - len(decimals) // billionths = digits * 10^shift
	for ; shift < 0 && strings.HasSuffix(digits, "0"); shift++ {
		digits = strings.TrimSuffix(digits, "0")
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return 0, nil
	}
	if shift < 0 {
		return 0, notDollars(s, "has more than nine decimals")
	}
	n, err := strconv.ParseInt(digits+strings.Repeat("0", shift), 10, 64)
	if err != nil || USD(n) > most {
		return 0, notDollars(s, "is more than "+most.String())
	}
	return USD(n), nil
}

// Price is what a model costs, each per million tokens. AsOf is the day on which the price was looked
// up and Source where: "catalogue VERSION" or "set".
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

// add stops at the ends of int64 in place of wrapping round.
func add(a, b USD) USD {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}
