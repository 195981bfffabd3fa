package stats

import "math"

// total adds up numbers so that their order cannot change a bit of the sum: as whole multiples of a unit that is
// 2^-76 of the largest or so, in two halves, which integers add without rounding (the fixed point of Demmel and
// Nguyen, Fast reproducible floating-point summation, IEEE ARITH 21, 2013). Up to 2^24 numbers.
func total(xs []float64) float64 {
	switch len(xs) {
	case 1:
		return xs[0]
	case 2:
		return xs[0] + xs[1]
	}
	most := 0.0
	for _, x := range xs {
		most = max(most, math.Abs(x))
	}
	if most == 0 || !finite(most) {
		return most // +Inf or NaN: `defined` turns them into a reason
	}
	_, exponent := math.Frexp(most)
	exponent = max(exponent, -900) // below, the unit itself would be no number
	up := math.Ldexp(1, halfBits-exponent)
	var high, low int64
	for _, x := range xs {
		x *= up
		whole := math.Round(x)
		high += int64(whole)
		low += int64(math.Round((x - whole) * (1 << halfBits)))
	}
	high += low >> halfBits // so that the last addition rounds once
	low &= 1<<halfBits - 1
	return math.Ldexp(float64(high)+float64(low)/(1<<halfBits), exponent-halfBits)
}

const halfBits = 38

// totalOf is total of f over rows.
func totalOf[T any](rows []T, f func(T) float64) float64 {
	xs := make([]float64, len(rows))
	for i, r := range rows {
		xs[i] = f(r)
	}
	return total(xs)
}

func finite(xs ...float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}

// defined is x, or why it cannot be one: arithmetic on large numbers may overflow.
func defined(x float64) Value {
	if !finite(x) {
		return None(OutOfRange)
	}
	return Known(x)
}

// quantile of sorted numbers with linear interpolation between order statistics (Hyndman and Fan, Sample
// quantiles in statistical packages, The American Statistician 50, 1996: type 7).
func quantile(sorted []float64, p float64) float64 {
	h := p * float64(len(sorted)-1)
	i := min(int(h), len(sorted)-2)
	if i < 0 {
		return sorted[0]
	}
	return sorted[i] + (h-float64(i))*(sorted[i+1]-sorted[i])
}
