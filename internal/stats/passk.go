package stats

import "math"

// Trials is how often one task was tried and passed. 0 <= Passes <= Trials.
type Trials struct{ Trials, Passes int64 }

// PassRate is a mean over tasks.
type PassRate struct {
	Level    Value
	Interval Interval
	Tasks    int // that were tried k times or more
	Left     int // tasks that were tried less often and do not count
}

// PassHat is pass^k, the chance that k trials of a task all pass: the mean over tasks of C(c,k)/C(n,k), for c
// passes in n trials (Yao and others, tau-bench, arXiv 2406.12045). The interval is over tasks, its trials
// being alike: Clopper and Pearson's at the effective size p(1-p)/v (t_{m-1}/t_{T-1})^2, at most the number m
// of disjoint groups of k trials, with v the variance of a mean of T tasks. Tasks that are all 0, or all 1,
// count once each. Absent: too_few_trials where no task was tried k times, out_of_range for counts that cannot
// be or k < 1; the interval no_degrees_of_freedom for a single task.
func PassHat(tasks []Trials, k int64, confidence float64) PassRate {
	return passRate(tasks, k, confidence, func(t Trials) float64 { return chosen(t.Passes, t.Trials, k) })
}

// PassAt is pass@k, the chance that one of k trials of a task passes: the mean over tasks of
// 1 - C(n-c,k)/C(n,k) (Chen and others, Evaluating large language models trained on code, arXiv 2107.03374).
// Interval and absence as PassHat.
func PassAt(tasks []Trials, k int64, confidence float64) PassRate {
	return passRate(tasks, k, confidence, func(t Trials) float64 { return 1 - chosen(t.Trials-t.Passes, t.Trials, k) })
}

// chosen is C(c,k)/C(n,k).
func chosen(c, n, k int64) float64 {
	p := 1.0
	for i := range k {
		if c <= i {
			return 0
		}
		p *= float64(c-i) / float64(n-i)
	}
	return p
}

func passRate(tasks []Trials, k int64, confidence float64, of func(Trials) float64) PassRate {
	out := PassRate{}
	if why := unsure(confidence); why != Defined {
		return PassRate{Level: None(why), Interval: noInterval(why, confidence)}
	}
	var xs []float64
	var groups int64
	for _, t := range tasks {
		switch {
		case k < 1 || t.Trials < 0 || t.Passes < 0 || t.Passes > t.Trials:
			return PassRate{Level: None(OutOfRange), Interval: noInterval(OutOfRange, confidence)}
		case t.Trials < k:
			out.Left++
			continue
		}
		groups += t.Trials / k
		xs = append(xs, of(t))
	}
	out.Tasks = len(xs)
	if len(xs) == 0 {
		out.Level, out.Interval = None(TooFewTrials), noInterval(TooFewTrials, confidence)
		return out
	}
	n := float64(len(xs))
	p := min(max(total(xs)/n, 0), 1)
	out.Level = Known(p)
	if n < 2 {
		out.Interval = noInterval(NoFreedom, confidence)
		return out
	}
	most, size := float64(groups), n
	if v := squares(xs) / (n - 1) / n; v > 1e-24 {
		size = min(p*(1-p)/v, most)
	}
	r := tQuantile(0.5+confidence/2, math.Max(most-1, 1)) / tQuantile(0.5+confidence/2, n-1)
	size *= r * r
	out.Interval = ClopperPearson(p*size, size, confidence)
	out.Interval.Method, out.Interval.DF = MethodTasks, n-1
	return out
}
