package assay

import (
	"fmt"
	"math"
	"strconv"
	"strings"
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

// Short is an amount for people: four decimals, and all of them where four would show nothing.
func (u USD) Short() string {
	if u > -Dollar/10_000 && u < Dollar/10_000 && u != 0 {
		return u.String()
	}
	return u.Fixed(4)
}

// Fixed writes dollars with exactly so many decimals, 1 to 9, rounded.
func (u USD) Fixed(decimals int) string {
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", uint64(-u)
	}
	unit, parts := uint64(1), uint64(Dollar)
	for range 9 - decimals {
		unit, parts = unit*10, parts/10
	}
	n = (n + unit/2) / unit
	return fmt.Sprintf("%s%d.%0*d", sign, n/parts, decimals, n%parts)
}

// Decimals is how many decimals amounts of one column need, four or more, so that each that is not 0
// shows something.
func Decimals(amounts ...USD) int {
	decimals, least := 4, Dollar/10_000
	for _, u := range amounts {
		for u = max(u, -u); u != 0 && u < least; least /= 10 {
			decimals++
		}
	}
	return decimals
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
