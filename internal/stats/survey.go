package stats

import "math"

// SurveyUnit is one observed unit of a sample that was drawn with known chances, in one or two stages:
// clusters within strata, then units within clusters.
type SurveyUnit struct {
	Stratum string
	Cluster string  // primary sampling unit, named within its stratum; "" is a cluster of its own
	Weight  float64 // one over the chance of being drawn, > 0
	Y       float64 // what was measured
	X       float64 // what a ratio divides by
	// Clusters is how many clusters the unit's stratum has in the population, Units how many units its cluster
	// has. 0: not known, and then no finite population correction at that stage. Without the correction of the
	// first stage the second adds nothing: the clusters count as drawn with replacement.
	Clusters, Units float64
}

// Lone is what a stratum counts for that was drawn from more than one cluster but shows only one.
type Lone int

const (
	LoneRefuse  Lone = iota // no standard error, lone_cluster
	LoneCertain             // it adds no variance, as if it had been certain to be drawn: too small
	LoneCentre              // its distance from the level of all strata counts: too large (R survey's "adjust")
)

// SurveyEstimate is a level, in the unit of Y (a ratio in that of Y/X), and its standard error by Taylor
// linearisation.
type SurveyEstimate struct {
	Level    Value
	SE       Value // absent: lone_cluster, no_degrees_of_freedom
	Effect   Value // design effect of a mean: its variance against that of a simple random sample without replacement
	Strata   int
	Clusters int
	Units    int
}

// DF is the degrees of freedom of the standard error, clusters less strata.
func (e SurveyEstimate) DF() float64 { return float64(e.Clusters - e.Strata) }

// SurveyTotal estimates sum Y over the population, sum w y (Horvitz and Thompson, A generalization of
// sampling without replacement from a finite universe, JASA 47, 1952). Its variance is
//
//	sum_h (1-f_h) n_h/(n_h-1) sum_i (z_hi - mean z_h)^2 + sum_h f_h sum_i (1-f_hi) m_hi/(m_hi-1) sum_j (z_hij - mean z_hi)^2
//
// with z = w y, z_hi its sum over a cluster, n_h clusters of N_h drawn, f_h = n_h/N_h, and m_hi units of M_hi
// (Cochran, Sampling Techniques, 11.7; Lumley, Complex Surveys, 2010, as R survey computes it).
//
// Absent: nothing_graded without units, not_a_number, out_of_range for a weight that is not positive.
func SurveyTotal(units []SurveyUnit, lone Lone) SurveyEstimate {
	e, why := surveyed(units)
	if why != Defined {
		return e.absent(why)
	}
	e.Level = defined(totalOf(units, func(u SurveyUnit) float64 { return u.Weight * u.Y }))
	e.SE = linearised(units, lone, e, func(u SurveyUnit) float64 { return u.Weight * u.Y })
	e.Effect = None(NoInterval)
	return e
}

// SurveyMean estimates the mean of Y, sum w y / sum w, with the variance of SurveyTotal for
// z = w (y - mean) / sum w. Effect compares it with S^2 (1 - n/N) / n, S^2 being the population's weighted
// variance and N = sum w. Absent as SurveyTotal.
func SurveyMean(units []SurveyUnit, lone Lone) SurveyEstimate {
	rows := make([]SurveyUnit, len(units))
	for i, u := range units {
		u.X = 1
		rows[i] = u
	}
	e := SurveyRatio(rows, lone)
	if !e.SE.Ok() {
		return e
	}
	n, size := float64(len(units)), totalOf(units, func(u SurveyUnit) float64 { return u.Weight })
	around := totalOf(units, func(u SurveyUnit) float64 { return u.Weight * (u.Y - e.Level.X) * (u.Y - e.Level.X) })
	alone := around / size / (n - 1) * max(1-n/size, 0)
	if !(alone > 0) {
		e.Effect = None(NoVariation)
		return e
	}
	e.Effect = defined(e.SE.X * e.SE.X / alone)
	return e
}

// SurveyRatio estimates sum Y / sum X, with the variance of SurveyTotal for z = w (y - ratio x) / sum w x
// (Woodruff, A simple method for approximating the variance of a complicated estimate, JASA 66, 1971). The
// mean of a part of the population is the ratio with Y and X set to 0 outside of it. Absent as SurveyTotal,
// and nothing_applies where sum w x is 0.
func SurveyRatio(units []SurveyUnit, lone Lone) SurveyEstimate {
	e, why := surveyed(units)
	if why != Defined {
		return e.absent(why)
	}
	below := totalOf(units, func(u SurveyUnit) float64 { return u.Weight * u.X })
	if below == 0 {
		return e.absent(NothingInDomain)
	}
	e.Level = defined(totalOf(units, func(u SurveyUnit) float64 { return u.Weight * u.Y }) / below)
	if !e.Level.Ok() {
		return e.absent(e.Level.Absent)
	}
	e.SE = linearised(units, lone, e, func(u SurveyUnit) float64 { return u.Weight * (u.Y - e.Level.X*u.X) / below })
	e.Effect = None(NoInterval)
	return e
}

// T is level -+ t SE with DF degrees of freedom. Absent as SE.
func (e SurveyEstimate) T(confidence float64) Interval {
	if why := first(e.SE.Absent, unsure(confidence)); why != Defined {
		return noInterval(why, confidence)
	}
	if e.SE.X == 0 {
		return Interval{Low: e.Level.X, High: e.Level.X, Confidence: confidence, Method: MethodCensus, N: float64(e.Units)}
	}
	half := tQuantile(0.5+confidence/2, e.DF()) * e.SE.X
	return Interval{Low: e.Level.X - half, High: e.Level.X + half, Confidence: confidence, Method: MethodT, N: float64(e.Units), DF: e.DF()}
}

// KornGraubard is the interval of a share that Clopper and Pearson's formula gives at the effective size
// p(1-p)/v (t_{n-1}/t_df)^2 (Korn and Graubard, Survey Methodology 24, 1998; R survey's svyciprop "beta").
// Where the variance v is 0 it takes the number of units. It is here to compare with: a stratum without a
// failure adds no variance, and the interval of capped strata then misses far too often (RateInterval).
// Absent as SE, and out_of_range where the level is no share.
func (e SurveyEstimate) KornGraubard(confidence float64) Interval {
	switch {
	case !e.SE.Ok():
		return noInterval(e.SE.Absent, confidence)
	case unsure(confidence) != Defined:
		return noInterval(OutOfRange, confidence)
	case e.Level.X < -1e-12 || e.Level.X > 1+1e-12:
		return noInterval(OutOfRange, confidence)
	}
	p := min(max(e.Level.X, 0), 1)
	n := float64(e.Units)
	if v := e.SE.X * e.SE.X; v > 0 {
		n = p * (1 - p) / v
	}
	r := tQuantile(0.5+confidence/2, float64(e.Units-1)) / tQuantile(0.5+confidence/2, e.DF())
	n *= r * r
	i := ClopperPearson(p*n, n, confidence)
	i.Method, i.DF = MethodKornGraubard, e.DF()
	return i
}

func (e SurveyEstimate) absent(why Absence) SurveyEstimate {
	e.Level, e.SE, e.Effect = None(why), None(why), None(why)
	return e
}

// surveyed checks and counts.
func surveyed(units []SurveyUnit) (e SurveyEstimate, why Absence) {
	type seat struct{ stratum, cluster string }
	strata, clusters := map[string]bool{}, map[seat]bool{}
	for _, u := range units {
		switch {
		case !finite(u.Weight, u.Y, u.X, u.Clusters, u.Units):
			return e, NotFinite
		case u.Weight <= 0 || u.Clusters < 0 || u.Units < 0:
			return e, OutOfRange
		}
		strata[u.Stratum] = true
		if u.Cluster == "" {
			e.Clusters++
		}
		clusters[seat{u.Stratum, u.Cluster}] = u.Cluster != ""
	}
	for _, named := range clusters {
		if named {
			e.Clusters++
		}
	}
	e.Strata, e.Units = len(strata), len(units)
	if len(units) == 0 {
		return e, NothingObserved
	}
	return e, Defined
}

// linearised is the standard error of sum z.
func linearised(units []SurveyUnit, lone Lone, e SurveyEstimate, z func(SurveyUnit) float64) Value {
	strata := map[string]*surveyStratum{}
	for _, u := range units {
		h := strata[u.Stratum]
		if h == nil {
			h = &surveyStratum{of: u.Clusters, named: map[string]int{}}
			strata[u.Stratum] = h
		}
		h.add(u, z(u))
	}
	var parts []float64
	for _, h := range strata {
		v, why := h.variance(lone)
		if why != Defined {
			return None(why)
		}
		parts = append(parts, v)
	}
	v := total(parts)
	if v > 0 && e.DF() <= 0 {
		return None(NoFreedom)
	}
	return defined(math.Sqrt(v))
}

type surveyStratum struct {
	of       float64 // clusters in the population, 0: not known
	named    map[string]int
	clusters []surveyCluster
}

type surveyCluster struct {
	of float64 // units in the population, 0: not known
	z  []float64
}

func (h *surveyStratum) add(u SurveyUnit, z float64) {
	i, ok := h.named[u.Cluster]
	if !ok || u.Cluster == "" {
		i = len(h.clusters)
		h.named[u.Cluster] = i
		h.clusters = append(h.clusters, surveyCluster{of: u.Units})
	}
	h.clusters[i].z = append(h.clusters[i].z, z)
}

func (h *surveyStratum) variance(lone Lone) (float64, Absence) {
	sums := make([]float64, len(h.clusters))
	for i, c := range h.clusters {
		sums[i] = total(c.z)
	}
	v, why := scatter(sums, h.of, lone)
	if why != Defined || h.of == 0 {
		return v, why
	}
	within := make([]float64, 0, len(h.clusters))
	for _, c := range h.clusters {
		if c.of == 0 {
			continue
		}
		w, why := scatter(c.z, c.of, lone)
		if why != Defined {
			return 0, why
		}
		within = append(within, w)
	}
	return v + min(float64(len(h.clusters))/h.of, 1)*total(within), Defined
}

// scatter is (1-f) n/(n-1) sum (z - mean)^2 for n drawn of a population of so many, 0: not known.
func scatter(z []float64, of float64, lone Lone) (float64, Absence) {
	n, left := float64(len(z)), 1.0
	if of > 0 {
		left = max(1-n/of, 0)
	}
	switch {
	case left < 1e-12:
		return 0, Defined
	case n > 1:
		mean := total(z) / n
		return left * n / (n - 1) * totalOf(z, func(x float64) float64 { return (x - mean) * (x - mean) }), Defined
	case lone == LoneCertain:
		return 0, Defined
	case lone == LoneCentre:
		return left * z[0] * z[0], Defined
	}
	return 0, LoneCluster
}
