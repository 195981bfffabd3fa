package number

import (
	"math"
	"strconv"
)

// Percent prints a share so that only all is 100 % and only none is 0 %.
func Percent(x float64) string {
	s := strconv.FormatFloat(100*x, 'f', 1, 64)
	switch {
	case math.Abs(x-1) < 1e-12: // all, but for the rounding of weights
		return "100.0 %"
	case x < 1 && s == "100.0":
		return ">99.9 %"
	case x > 0 && s == "0.0":
		return "<0.1 %"
	case s == "-0.0":
		return "0.0 %"
	}
	return s + " %"
}

// Points prints a difference of shares in percentage points, with its sign.
func Points(x float64) string {
	s := strconv.FormatFloat(100*x, 'f', 1, 64)
	switch {
	case s == "0.0" || s == "-0.0":
		return "0.0"
	case x > 0:
		return "+" + s
	}
	return s
}

// Whole prints a count: 12,345.
func Whole(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plain prints a number of no unit.
func Plain(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// Between is an interval in words, by how its ends are printed: "61.2 % to 70.3 %".
func (i Interval) Between(end func(float64) string) string { return end(i.Low) + " to " + end(i.High) }

// Level is how a confidence is said: "95 %".
func Level(confidence float64) string { return strconv.FormatFloat(100*confidence, 'g', 4, 64) + " %" }

// Exactly prints a number so that it can be read back to the bit.
func Exactly(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
