package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Score is one measured number. Scores of one cluster are alike; clusters are drawn independently.
type Score struct {
	Cluster string  // "" is a cluster of its own
	Weight  float64 // > 0; 1 where all count alike
	X       float64
}

// ScoreMean is a weighted mean of scores and what its error may be.
type ScoreMean struct {
	Level     Value
	CR0       Value   // standard error, in the scores' unit; absent: no_degrees_of_freedom with one cluster
	CR1       Value   // the same with the factor G/(G-1) on the variance
	Clusters  int     // G
	Effective float64 // 1 / sum (cluster's weight share)^2
	clusters  []sums
}

// sums are the weight and the weighted score of one cluster: all that the estimators below look at.
type sums struct{ w, s float64 }

// MeanScore is sum w x / sum w. The variance CR0 is sum over clusters of (sum w (x - mean))^2 / (sum w)^2,
// the cluster-robust sandwich for a mean (Liang and Zeger, Longitudinal data analysis using generalized
// linear models, Biometrika 73, 1986; Miller, Adding error bars to evals, arXiv 2411.00640); CR1 is G/(G-1)
// times that, which is R survey's value with replacement. Absent: nothing_graded, not_a_number, and
// out_of_range for a weight that is not positive.
func MeanScore(rows []Score) ScoreMean {
	m := ScoreMean{}
	if why := m.gather(rows); why != Defined {
		return ScoreMean{Level: None(why), CR0: None(why), CR1: None(why)}
	}
	weight := totalOf(m.clusters, func(c sums) float64 { return c.w })
	m.Level = defined(totalOf(m.clusters, func(c sums) float64 { return c.s }) / weight)
	m.Effective = weight * weight / totalOf(m.clusters, func(c sums) float64 { return c.w * c.w })
	g := float64(m.Clusters)
	if g < 2 {
		m.CR0, m.CR1 = None(NoFreedom), None(NoFreedom)
		return m
	}
	v := sandwich(m.clusters, m.Level.X, weight)
	m.CR0, m.CR1 = defined(math.Sqrt(v)), defined(math.Sqrt(v*g/(g-1)))
	return m
}

func sandwich(clusters []sums, mean, weight float64) float64 {
	return totalOf(clusters, func(c sums) float64 { r := (c.s - mean*c.w) / weight; return r * r })
}

// gather sums rows by cluster, in an order that neither rows nor names decide.
func (m *ScoreMean) gather(rows []Score) Absence {
	if len(rows) == 0 {
		return NothingObserved
	}
	in := map[string][]Score{}
	for _, r := range rows {
		switch {
		case !finite(r.Weight, r.X):
			return NotFinite
		case r.Weight <= 0:
			return OutOfRange
		case r.Cluster == "":
			m.clusters = append(m.clusters, sums{r.Weight, r.Weight * r.X})
		default:
			in[r.Cluster] = append(in[r.Cluster], r)
		}
	}
	for _, c := range in {
		m.clusters = append(m.clusters, sums{
			totalOf(c, func(r Score) float64 { return r.Weight }),
			totalOf(c, func(r Score) float64 { return r.Weight * r.X }),
		})
	}
	slices.SortFunc(m.clusters, func(a, b sums) int {
		if a.w != b.w {
			return sign(a.w - b.w)
		}
		return sign(a.s - b.s)
	})
	m.Clusters = len(m.clusters)
	return Defined
}

func sign(x float64) int {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	}
	return 0
}

// T is mean -+ t CR1 with Effective - 1 degrees of freedom. Absent as CR1, no_degrees_of_freedom where less
// than one is left, and no_variation where all clusters have the same mean: how much others would differ is
// not known then.
func (m ScoreMean) T(confidence float64) Interval {
	df := m.Effective - 1
	switch {
	case !m.CR1.Ok():
		return noInterval(m.CR1.Absent, confidence)
	case unsure(confidence) != Defined:
		return noInterval(OutOfRange, confidence)
	case df < 1-1e-9:
		return noInterval(NoFreedom, confidence)
	case m.flat():
		return noInterval(NoVariation, confidence)
	}
	half := tQuantile(0.5+confidence/2, df) * m.CR1.X
	return Interval{Low: m.Level.X - half, High: m.Level.X + half, Confidence: confidence, Method: MethodT, N: m.Effective, DF: df}
}

func (m ScoreMean) flat() bool { return m.CR0.X <= 1e-12*math.Abs(m.Level.X) }

// Bootstrap draws clusters with replacement, draws times, and takes the quantiles of the means (Efron and
// Tibshirani, An Introduction to the Bootstrap, 1993, 13). With studentised it takes those of
// (mean* - mean)/CR0* and gives mean - t* CR0 (the same, 12.5). Of 95 % intervals for 10 to 50 clusters the
// plain ones hit 0.84 to 0.94 of the time, T 0.87 to 0.96 and the studentised 0.92 to 0.97 (1,000 tries each;
// the low ends are of scores with a long tail). The same rows and seed give the same interval in whatever order the rows come.
// Absent as T, and too_few_clusters below MinUsers of Effective.
func (m ScoreMean) Bootstrap(studentised bool, draws int, seed uint64, confidence float64) Interval {
	switch {
	case !m.CR1.Ok():
		return noInterval(m.CR1.Absent, confidence)
	case unsure(confidence) != Defined:
		return noInterval(OutOfRange, confidence)
	case m.Effective < MinUsers:
		return noInterval(TooFewClusters, confidence)
	case m.flat():
		return noInterval(NoVariation, confidence)
	case draws < 2:
		return noInterval(OutOfRange, confidence)
	}
	r := rand.New(rand.NewPCG(seed, bootstrapStream))
	drawn := make([]sums, len(m.clusters))
	found := make([]float64, 0, draws)
	for range draws {
		var w, s float64
		for i := range drawn {
			drawn[i] = m.clusters[r.IntN(len(m.clusters))]
			w, s = w+drawn[i].w, s+drawn[i].s
		}
		x := s / w
		if studentised {
			v := 0.0
			for _, c := range drawn {
				e := (c.s - x*c.w) / w
				v += e * e
			}
			if v <= 1e-24*x*x {
				continue
			}
			x = (x - m.Level.X) / math.Sqrt(v)
		}
		found = append(found, x)
	}
	if float64(len(found)) < usableDraws*float64(draws) {
		return noInterval(NoVariation, confidence)
	}
	slices.Sort(found)
	low, high := quantile(found, (1-confidence)/2), quantile(found, (1+confidence)/2)
	out := Interval{Low: low, High: high, Confidence: confidence, Method: MethodBootstrap, N: m.Effective}
	if studentised {
		out.Low, out.High, out.Method = m.Level.X-high*m.CR0.X, m.Level.X-low*m.CR0.X, MethodBootstrapT
	}
	return out
}

const (
	bootstrapStream = 0x9e3779b97f4a7c15 // the second half of every bootstrap's seed
	usableDraws     = 0.99               // of a bootstrap's draws; where more are undefined there is no interval
)
