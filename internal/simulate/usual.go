package main

import (
	"math"

	"assay/internal/stats"
	"gonum.org/v1/gonum/stat/distuv"
)

// The usual alternatives, as the textbooks have them.

func normal(level, v float64) stats.Interval {
	step := distuv.UnitNormal.Quantile(0.5+confidence/2) * math.Sqrt(v)
	return stats.Interval{Low: level - step, High: level + step, Confidence: confidence}
}

// kornGraubard is Clopper and Pearson's interval at the effective size, n where no variance was seen, as R's
// svyciprop(method = "beta") has it.
func kornGraubard(level, v, n, df float64) stats.Interval {
	if df <= 0 || n <= 1 {
		return stats.Interval{Absent: stats.NoFreedom}
	}
	t := func(df float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(0.5 + confidence/2) }
	size := n
	if v > 0 {
		size = level * (1 - level) / v
	}
	size *= math.Pow(t(n-1)/t(df), 2)
	return stats.ClopperPearson(level*size, size, confidence)
}

// clustered is a weighted rate by user: the level, the sandwich variance with G/(G-1), and G.
func clustered(strata []stats.Stratum, cells []stats.Cell) (level, v, g float64) {
	size, residual := 0.0, map[int]float64{}
	for _, s := range strata {
		size += float64(s.Size)
	}
	for _, s := range strata {
		if s.Observed > 0 {
			level += float64(s.Size) / size * s.Sum / float64(s.Observed)
		}
	}
	for _, c := range cells {
		s := strata[c.Stratum]
		residual[c.User] += float64(s.Size) / size / float64(s.Observed) * (c.Sum - level*float64(c.Domain))
	}
	for _, x := range residual {
		v += x * x
	}
	g = float64(len(residual))
	return level, v * g / (g - 1), g
}
