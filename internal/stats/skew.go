package stats

import "math"

// reach is how many standard errors a limit below a level lies away whose summands lean by a to the right, t being
// Student's; for the limit above they lean by -a. It is Hall's where that is further than t, and at most mostSkew
// times t. Few users that all changed in one direction pull a level and its variance along: where some of them
// were not met, both are too small.
func reach(t, a float64) float64 { return max(t, min(hall(t, a), mostSkew*t)) }

// mostSkew is how much further than Student's a limit may lie. Beyond, the third moment of a handful of users is
// itself mostly chance.
const mostSkew = 1.5

// reached is the t whose reach is x >= 0.
func reached(x, a float64) float64 {
	low, high := x/mostSkew, x
	for range 60 {
		if mid := (low + high) / 2; reach(mid, a) < x {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// hall is the quantile of a studentised mean whose summands lean by a = sum x^3 / (sum x^2)^(3/2), from t of one
// whose do not: the inverse of the cubic transformation of Hall (On the removal of skewness by transformation,
// JRSS B 54, 1992).
func hall(t, a float64) float64 {
	if math.Abs(a) < 1e-9 {
		return t
	}
	return 3 / a * (math.Cbrt(1+a*(t-a/6)) - 1)
}
