package stats

// Rate estimates p = sum W_h s_h/n_h over strata, W_h = N_h/N (Cochran, Sampling Techniques, 5.3),
// with n_h the observed units of a stratum. Where the question applies to a part of the units only,
// it is the combined ratio estimate of that domain, sum W_h s_h/n_h over sum W_h d_h/n_h (Cochran
// 6.11), which is the same number when it applies to all.
func Rate(strata []Stratum) Estimate { return Mean(strata, Known(0), Known(1)) }

// Mean is Rate for a number between least and most; an absent limit leaves that worst case absent.
func Mean(strata []Stratum, least, most Value) Estimate {
	e := Estimate{}
	for _, h := range strata {
		e.Size += h.Size
		e.Drawn += h.Drawn
		e.Observed += h.Observed
		e.Domain += h.Domain
	}
	e.Coverage = Coverage(strata)
	e.Low, e.High = bounds(strata, least), bounds(strata, most)

	if e.Size == 0 {
		e.Level = None(NoPopulation)
		return e
	}
	if e.Observed == 0 {
		e.Level = None(NothingObserved)
		return e
	}
	merged, names, why := merge(strata)
	e.Merged = names
	if why != Defined {
		e.Level = None(why)
		return e
	}
	e.Level, _ = levelOf(merged)
	return e
}

// Coverage is sum W_h observed_h/n_h.
func Coverage(strata []Stratum) Value {
	var size int64
	for _, h := range strata {
		size += h.Size
	}
	if size == 0 {
		return None(NoPopulation)
	}
	return Known(totalOf(strata, func(h Stratum) float64 {
		if h.Drawn == 0 {
			return 0
		}
		return weight(h, size) * float64(h.Observed) / float64(h.Drawn)
	}))
}

// bounds is the level when every missing measurement is in the domain and gives worst. With S, D and
// M the weighted shares of the sum, the domain and the missing, any other fate of the missing gives
// a ratio between (S + M least)/(D + M) and (S + M most)/(D + M). A stratum that was never drawn is
// missing whole. Without a worst value the bound is absent, unless nothing is missing.
func bounds(strata []Stratum, worst Value) Value {
	var size int64
	for _, h := range strata {
		size += h.Size
	}
	if size == 0 {
		return None(NoPopulation)
	}
	var sum, domain []float64
	for _, h := range strata {
		w, missing := weight(h, size), 1.0
		if h.Drawn > 0 {
			n := float64(h.Drawn)
			sum = append(sum, w*h.Sum/n)
			domain = append(domain, w*float64(h.Domain)/n)
			missing = float64(h.Drawn-h.Observed) / n
		}
		if missing > 0 && w > 0 && !worst.Ok() {
			return None(Unbounded)
		}
		sum = append(sum, w*missing*worst.X)
		domain = append(domain, w*missing)
	}
	return ratio(total(sum), total(domain))
}

func weight(h Stratum, size int64) float64 { return float64(h.Size) / float64(size) }

func ratio(sum, domain float64) Value {
	if domain <= 0 {
		return None(NothingInDomain)
	}
	return Known(sum / domain)
}
