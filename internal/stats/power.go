package stats

import "math"

// Power of two-sided tests at level alpha, by the normal approximation: the chance to find an effect, and in
// its own direction. Sizes may be effective sizes: n over the design effect.

// PowerOf is the power for an effect whose estimate has standard error se, P(Z + |effect|/se > z_{1-alpha/2}).
// Without an effect it is alpha/2. Out_of_range for se <= 0 or alpha outside of 0 to 1.
func PowerOf(effect, se, alpha float64) Value { return power(effect, se, se, alpha) }

// power with the standard error where there is no effect (se0) and where there is.
func power(effect, se0, se, alpha float64) Value {
	if !finite(effect, se0, se) || se0 < 0 || se <= 0 || !(alpha > 0 && alpha < 1) {
		return None(OutOfRange)
	}
	return defined(normalCDF((math.Abs(effect) - normalQuantile(1-alpha/2)*se0) / se))
}

// PowerTwo is that of two rates a and b with samples of n and m: no effect has the variance of their pooled
// rate (Fleiss, Statistical Methods for Rates and Proportions, 1981, 3; R's power.prop.test).
// Out_of_range for rates outside of 0 to 1, for two of which each is 0 or 1, and for n or m not above 0.
func PowerTwo(a, b, n, m, alpha float64) Value {
	if !shares(a, b) || !(n > 0 && m > 0) {
		return None(OutOfRange)
	}
	pooled := (n*a + m*b) / (n + m)
	return power(a-b, math.Sqrt(pooled*(1-pooled)*(1/n+1/m)), math.Sqrt(a*(1-a)/n+b*(1-b)/m), alpha)
}

// PowerPaired is that of McNemar's test on n pairs of which shares rise and fall change up and down (Connor,
// Sample size for testing differences in proportions for the paired-sample design, Biometrics 43, 1987).
// Out_of_range for shares that sum to more than 1, no change at all, or n not above 0.
func PowerPaired(rise, fall, n, alpha float64) Value {
	if !shares(rise, fall, rise+fall) || !(n > 0) {
		return None(OutOfRange)
	}
	change := rise + fall
	return power(rise-fall, math.Sqrt(change/n), math.Sqrt(max(change-sq(rise-fall), 0)/n), alpha)
}

// PowerOne is that of a rate p in n units against a fixed rate null (Fleiss 1981, 1). Out_of_range for rates
// outside of 0 to 1, p of 0 or 1, or n not above 0.
func PowerOne(p, null, n, alpha float64) Value {
	if !shares(p, null) || !(n > 0) {
		return None(OutOfRange)
	}
	return power(p-null, math.Sqrt(null*(1-null)/n), math.Sqrt(p*(1-p)/n), alpha)
}

func shares(xs ...float64) bool {
	for _, x := range xs {
		if !(x >= 0 && x <= 1) {
			return false
		}
	}
	return true
}

// DetectableEffect is the smallest effect that is found with the given power where its estimate has standard
// error se: (z_{1-alpha/2} + z_power) se. Out_of_range as PowerOf, and for a power of alpha or less.
func DetectableEffect(se, alpha, power float64) Value {
	if !finite(se) || se <= 0 || !(alpha > 0 && alpha < 1) || !(power > alpha && power < 1) {
		return None(OutOfRange)
	}
	return defined((normalQuantile(1-alpha/2) + normalQuantile(power)) * se)
}

// DetectableRate is the rate nearest to base, above or below it, that PowerTwo finds with the given power.
// Unreachable where not even 0 or 1 is found; out_of_range as PowerTwo.
func DetectableRate(base, n, m, alpha, power float64, above bool) Value {
	if !shares(base) || !(n > 0 && m > 0) || !(alpha > 0 && alpha < 1) || !(power > alpha && power < 1) {
		return None(OutOfRange)
	}
	end := 0.0
	if above {
		end = 1
	}
	enough := func(t float64) bool {
		v := PowerTwo(base, base+t*(end-base), n, m, alpha)
		return v.Ok() && v.X >= power
	}
	if !enough(1 - 1e-12) {
		return None(Unreachable)
	}
	low, high := 0.0, 1-1e-12
	for range 80 {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return Known(base + high*(end-base))
}

// SizeForPower is the smallest whole n with at least the given power, for a power that grows with n. Absent:
// unreachable where 2^40 is not enough, and as the power itself at that size.
func SizeForPower(power float64, of func(n float64) Value) Value {
	if !(power > 0 && power < 1) {
		return None(OutOfRange)
	}
	return smallest(1<<40, func(n float64) (bool, Absence) {
		v := of(n)
		return v.Ok() && v.X >= power, v.Absent
	})
}

// smallest whole n in 1..most that is enough; all larger ones must be, too.
func smallest(most int64, enough func(n float64) (bool, Absence)) Value {
	ok, why := enough(float64(most))
	switch {
	case why != Defined:
		return None(why)
	case !ok:
		return None(Unreachable)
	}
	low, high := int64(0), most
	for high-low > 1 {
		mid := low + (high-low)/2
		if ok, _ := enough(float64(mid)); ok {
			high = mid
		} else {
			low = mid
		}
	}
	return Known(float64(high))
}

// SizeForMargin is the number of units, of a population of size (0: endless), whose interval of a rate that is
// about p is no wider than margin to either side on average: the smallest n* at which Clopper and Pearson's
// interval at (p n*, n*) has half that width, times the design effect (Kish, Survey Sampling, 1965, 8.2), and
// n = n*/(1 + n*/size) with the finite population correction (Cochran, Sampling Techniques, 4.2). Near 0 and 1,
// where z^2 p(1-p)/margin^2 would ask for next to nothing, it still asks for what the interval needs.
// Out_of_range for p outside of 0 to 1, a margin not above 0, an effect not above 0; unreachable where 2^40 is
// not enough.
func SizeForMargin(p, margin, effect float64, size int64, confidence float64) Value {
	if !shares(p) || !(margin > 0) || !finite(margin, effect) || effect <= 0 || size < 0 || !(confidence > 0 && confidence < 1) {
		return None(OutOfRange)
	}
	n := smallest(1<<40, func(n float64) (bool, Absence) {
		return ClopperPearson(p*n, n, confidence).Width() <= 2*margin, Defined
	})
	if !n.Ok() {
		return n
	}
	x := n.X * effect
	if size > 0 {
		x = min(x/(1+x/float64(size)), float64(size))
	}
	return Known(math.Ceil(x - 1e-9))
}

// ErrorOf is the standard error of which an interval of that half width was made, were it a normal one.
func ErrorOf(half, confidence float64) float64 { return half / normalQuantile(0.5+confidence/2) }

// SizeToDecide is how many units it would take until an estimate that lies distance from a limit, with
// standard error se from n units, has an interval that does not hold the limit: n (z se/distance)^2, at least
// n. Unreachable at a distance of 0, out_of_range for se or n not above 0.
func SizeToDecide(distance, se, n, confidence float64) Value {
	switch {
	case !finite(distance, se, n) || se <= 0 || n <= 0 || !(confidence > 0 && confidence < 1):
		return None(OutOfRange)
	case distance == 0:
		return None(Unreachable)
	}
	x := max(n*sq(normalQuantile(0.5+confidence/2)*se/distance), n)
	if !(x < 1<<53) {
		return None(Unreachable)
	}
	return Known(math.Ceil(x - 1e-9))
}
