package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func genSurvey(t *rapid.T) []SurveyUnit {
	var out []SurveyUnit
	for h := range rapid.IntRange(1, 4).Draw(t, "strata") {
		drawn := rapid.IntRange(2, 4).Draw(t, "clusters")
		of := float64(drawn + rapid.IntRange(0, 5).Draw(t, "more"))
		if rapid.Bool().Draw(t, "unknown") {
			of = 0
		}
		for c := range drawn {
			m := rapid.IntRange(2, 4).Draw(t, "units")
			in := float64(m + rapid.IntRange(0, 5).Draw(t, "more"))
			for range m {
				out = append(out, SurveyUnit{
					Stratum: fmt.Sprint("h", h), Cluster: fmt.Sprint("c", c), Clusters: of, Units: in,
					Weight: rapid.Float64Range(.5, 20).Draw(t, "w"),
					Y:      rapid.Float64Range(-5, 5).Draw(t, "y"), X: rapid.Float64Range(1, 5).Draw(t, "x"),
				})
			}
		}
	}
	return out
}

// slowVariance is the formula as it stands in the books, stage by stage.
func slowVariance(units []SurveyUnit, z []float64) float64 {
	v := 0.0
	strata := map[string]bool{}
	for _, u := range units {
		strata[u.Stratum] = true
	}
	for h := range strata {
		sum, of := map[string]float64{}, 0.0
		each, in := map[string][]float64{}, map[string]float64{}
		for i, u := range units {
			if u.Stratum == h {
				sum[u.Cluster] += z[i]
				each[u.Cluster] = append(each[u.Cluster], z[i])
				in[u.Cluster], of = u.Units, u.Clusters
			}
		}
		n, mean := float64(len(sum)), 0.0
		for _, s := range sum {
			mean += s / n
		}
		f := 0.0
		if of > 0 {
			f = n / of
		}
		for _, s := range sum {
			v += (1 - f) * n / (n - 1) * (s - mean) * (s - mean)
		}
		for c, zs := range each {
			m, mean := float64(len(zs)), 0.0
			for _, x := range zs {
				mean += x / m
			}
			for _, x := range zs {
				v += f * (1 - m/in[c]) * m / (m - 1) * (x - mean) * (x - mean)
			}
		}
	}
	return v
}

func TestSurveyIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := genSurvey(t)
		var y, x float64
		for _, u := range units {
			y, x = y+u.Weight*u.Y, x+u.Weight*u.X
		}
		zt, zr := make([]float64, len(units)), make([]float64, len(units))
		for i, u := range units {
			zt[i], zr[i] = u.Weight*u.Y, u.Weight*(u.Y-y/x*u.X)/x
		}
		for name, c := range map[string]struct {
			got      SurveyEstimate
			level, v float64
		}{
			"total": {SurveyTotal(units, LoneRefuse), y, slowVariance(units, zt)},
			"ratio": {SurveyRatio(units, LoneRefuse), y / x, slowVariance(units, zr)},
		} {
			if !near(c.got.Level.X, c.level) || !c.got.SE.Ok() || math.Abs(c.got.SE.X-math.Sqrt(c.v)) > 1e-7*(1+math.Sqrt(c.v)) {
				t.Fatalf("%s %+v, want %v SE %v", name, c.got, c.level, math.Sqrt(c.v))
			}
		}
		shuffled := append([]SurveyUnit{}, units...)
		r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for i := range shuffled {
			shuffled[i].Stratum = "renamed" + shuffled[i].Stratum
			shuffled[i].Cluster += "renamed"
		}
		if a, b := SurveyMean(units, LoneRefuse), SurveyMean(shuffled, LoneRefuse); a != b {
			t.Fatalf("order or names matter: %+v and %+v", a, b)
		}
	})
}

func TestSurveyLoneStrata(t *testing.T) {
	units := []SurveyUnit{
		{Stratum: "a", Weight: 2, Y: 1}, {Stratum: "a", Weight: 2, Y: 4},
		{Stratum: "b", Weight: 3, Y: 5},
	}
	if got := SurveyMean(units, LoneRefuse); got.SE.Absent != LoneCluster || !got.Level.Ok() {
		t.Errorf("%+v", got)
	}
	certain, centre := SurveyMean(units, LoneCertain), SurveyMean(units, LoneCentre)
	mean := 25. / 7
	z := []float64{2 * (1 - mean) / 7, 2 * (4 - mean) / 7, 3 * (5 - mean) / 7}
	va := 2 * ((z[0]-(z[0]+z[1])/2)*(z[0]-(z[0]+z[1])/2) + (z[1]-(z[0]+z[1])/2)*(z[1]-(z[0]+z[1])/2))
	if !near(certain.SE.X, math.Sqrt(va)) || !near(centre.SE.X, math.Sqrt(va+z[2]*z[2])) {
		t.Errorf("certain %v, centre %v", certain.SE, centre.SE)
	}
	units[2].Clusters = 1 // the whole stratum: nothing is left to chance in it
	if got := SurveyMean(units, LoneRefuse); !near(got.SE.X, math.Sqrt(va)) {
		t.Errorf("a stratum seen whole: %+v", got)
	}
}

func TestSurveyUndefined(t *testing.T) {
	for name, c := range map[string]struct {
		units     []SurveyUnit
		level, se Absence
	}{
		"nothing":             {nil, NothingObserved, NothingObserved},
		"not a number":        {[]SurveyUnit{{Weight: 1, Y: math.NaN()}}, NotFinite, NotFinite},
		"no weight":           {[]SurveyUnit{{Y: 1}}, OutOfRange, OutOfRange},
		"one unit":            {[]SurveyUnit{{Weight: 1, Y: 1}}, Defined, LoneCluster},
		"one cluster":         {[]SurveyUnit{{Cluster: "c", Weight: 1, Y: 1}, {Cluster: "c", Weight: 1, Y: 2}}, Defined, LoneCluster},
		"too large to square": {[]SurveyUnit{{Weight: 1, Y: 1e300}, {Weight: 1, Y: -1e300}}, Defined, OutOfRange},
	} {
		got := SurveyMean(c.units, LoneRefuse)
		if got.Level.Absent != c.level || got.SE.Absent != c.se || got.T(.95).Absent != c.se || got.KornGraubard(.95).Ok() {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := SurveyRatio([]SurveyUnit{{Weight: 1, Y: 1}, {Weight: 1, Y: 1}}, LoneRefuse); got.Level.Absent != NothingInDomain {
		t.Errorf("a ratio over nothing: %+v", got)
	}
	flat := SurveyMean([]SurveyUnit{{Weight: 1}, {Weight: 1}, {Weight: 1}}, LoneRefuse)
	if i := flat.KornGraubard(.95); !i.Ok() || i.Low != 0 || !(i.High > .7) {
		t.Errorf("no hit in three: %+v", i)
	}
}
