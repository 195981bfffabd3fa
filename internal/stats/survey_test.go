package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func apistrat(t *testing.T, corrected bool, y func(csvRows, int) float64, x func(csvRows, int) float64) []SurveyUnit {
	rows := inputs(t, "apistrat.csv")
	var out []SurveyUnit
	for i := range rows.rows {
		u := SurveyUnit{Stratum: rows.text(i, "stype"), Weight: rows.number(i, "pw"), Y: y(rows, i), X: 1}
		if x != nil {
			u.X = x(rows, i)
		}
		if corrected {
			u.Clusters = rows.number(i, "fpc")
		}
		out = append(out, u)
	}
	return out
}

func numbered(name string) func(csvRows, int) float64 {
	return func(c csvRows, i int) float64 { return c.number(i, name) }
}

func wide(c csvRows, i int) float64 {
	if c.text(i, "sch.wide") == "Yes" {
		return 1
	}
	return 0
}

func TestReferenceSurveyStrata(t *testing.T) {
	type one struct{ Est, SE float64 }
	check := func(id string, e SurveyEstimate, want one) {
		t.Helper()
		printedValue(t, id, e.Level, want.Est, 1e-12)
		printedValue(t, id+" SE", e.SE, want.SE, 1e-12)
	}
	api := SurveyMean(apistrat(t, true, numbered("api00"), nil), LoneRefuse)
	check("api00", api, reference[one](t, "svymean_api00_dstrat"))
	printedValue(t, "design effect", api.Effect, reference[float64](t, "svymean_api00_dstrat_deff"), 1e-12)
	check("api00 without correction", SurveyMean(apistrat(t, false, numbered("api00"), nil), LoneRefuse), reference[one](t, "svymean_api00_dstrat_nofpc"))
	check("enroll", SurveyTotal(apistrat(t, true, numbered("enroll"), nil), LoneRefuse), reference[one](t, "svytotal_enroll_dstrat"))
	check("api.stu/enroll", SurveyRatio(apistrat(t, true, numbered("api.stu"), numbered("enroll")), LoneRefuse), reference[one](t, "svyratio_apistu_enroll_dstrat"))

	type several struct {
		SType   []string
		Est, SE []float64
	}
	for id, corrected := range map[string]bool{"svymean_schwide_dstrat": true, "svymean_schwide_dstrat_nofpc": false} {
		want := reference[several](t, id)
		check(id, SurveyMean(apistrat(t, corrected, wide, nil), LoneRefuse), one{want.Est[1], want.SE[1]})
	}
	by := reference[several](t, "svyby_api00_stype")
	for k, stype := range by.SType {
		units := apistrat(t, true, numbered("api00"), nil)
		for i := range units {
			if units[i].Stratum != stype {
				units[i].X, units[i].Y = 0, 0
			}
		}
		check(stype, SurveyRatio(units, LoneRefuse), one{by.Est[k], by.SE[k]})
	}
}

func TestReferenceSurveyHospital(t *testing.T) {
	type one struct{ Est, SE float64 }
	read := func(level string) []SurveyUnit {
		rows := inputs(t, "hospital.csv")
		var out []SurveyUnit
		for i := range rows.rows {
			u := SurveyUnit{Stratum: rows.text(i, "oblevel"), Weight: rows.number(i, "weighta"), Y: rows.number(i, "births"), X: 1, Clusters: rows.number(i, "tothosp")}
			if level != "" && u.Stratum != level {
				u.Y, u.X = 0, 0
			}
			out = append(out, u)
		}
		return out
	}
	mean, want := SurveyMean(read(""), LoneRefuse), reference[one](t, "hospital_births_mean")
	printedValue(t, "mean", mean.Level, want.Est, 1e-12)
	printedValue(t, "mean SE", mean.SE, want.SE, 1e-12)
	sum, want := SurveyTotal(read(""), LoneRefuse), reference[one](t, "hospital_births_total")
	printedValue(t, "total", sum.Level, want.Est, 1e-12)
	printedValue(t, "total SE", sum.SE, want.SE, 1e-12)
	by := reference[struct {
		OBLevel []int
		Est, SE []float64
	}](t, "hospital_by_oblevel")
	for i, level := range by.OBLevel {
		got := SurveyRatio(read(fmt.Sprint(level)), LoneRefuse)
		printedValue(t, fmt.Sprint(level), got.Level, by.Est[i], 1e-12)
		printedValue(t, fmt.Sprint(level, " SE"), got.SE, by.SE[i], 1e-12)
	}
}

func TestReferenceSurveyClusters(t *testing.T) {
	type one struct{ Est, SE float64 }
	rows := inputs(t, "lehtonen_unemp_strrs.csv")
	var units []SurveyUnit
	for i := range rows.rows {
		units = append(units, SurveyUnit{
			Stratum: rows.text(i, "str"), Cluster: rows.text(i, "clu"), Weight: rows.number(i, "wt"),
			Y: rows.number(i, "ue91"), X: rows.number(i, "lab91"), Clusters: rows.number(i, "fpc"),
		})
	}
	got, want := SurveyMean(units, LoneRefuse), reference[one](t, "lehtonen_strrs_mean")
	printedValue(t, "mean", got.Level, want.Est, 1e-12)
	printedValue(t, "mean SE", got.SE, want.SE, 1e-12)
	got, want = SurveyRatio(units, LoneRefuse), reference[one](t, "lehtonen_strrs_ratio")
	printedValue(t, "ratio", got.Level, want.Est, 1e-12)
	printedValue(t, "ratio SE", got.SE, want.SE, 1e-12)
}

// Given are means and variances only: two values per stratum that have them stand for the sample.
func TestReferenceSurveyLohr(t *testing.T) {
	want := reference[struct {
		Strata        [][]any
		Mean, SE      float64
		Total, SETtal float64
		SETotal       float64 `json:"se_total"`
	}](t, "lohr_agstrat")
	var units []SurveyUnit
	for _, h := range want.Strata {
		size, n, mean, variance := h[1].(float64), h[2].(float64), h[3].(float64), h[4].(float64)
		even := n - math.Mod(n, 2) // an odd one lies on the mean
		off := math.Sqrt(variance * (n - 1) / even)
		for i := range int(n) {
			y := mean
			if i < int(even) {
				y += off * float64(1-2*(i%2))
			}
			units = append(units, SurveyUnit{Stratum: h[0].(string), Weight: size / n, Y: y, Clusters: size})
		}
	}
	got := SurveyMean(units, LoneRefuse)
	printedValue(t, "mean", got.Level, want.Mean, 1e-12)
	printedValue(t, "mean SE", got.SE, want.SE, 1e-12)
	got = SurveyTotal(units, LoneRefuse)
	printedValue(t, "total", got.Level, want.Total, 1e-12)
	printedValue(t, "total SE", got.SE, want.SETotal, 1e-12)
}

func TestReferenceKornGraubard(t *testing.T) {
	type interval struct {
		Est float64
		CI  []float64
	}
	none := func(c csvRows, i int) float64 {
		if c.number(i, "ell") == 0 {
			return 1
		}
		return 0
	}
	tau := SurveyMean(tauUnits(t), LoneRefuse)
	var plain []SurveyUnit
	for i := range 148 {
		u := SurveyUnit{Weight: 1}
		if i < 15 {
			u.Y = 1
		}
		plain = append(plain, u)
	}
	for id, got := range map[string]Interval{
		"svyciprop_schwide_dstrat_beta": SurveyMean(apistrat(t, true, wide, nil), LoneRefuse).KornGraubard(.95),
		"svyciprop_ell0_dstrat_beta":    SurveyMean(apistrat(t, true, none, nil), LoneRefuse).KornGraubard(.95),
		"svyciprop_schwide_dstrat_mean": SurveyMean(apistrat(t, true, wide, nil), LoneRefuse).T(.95),
		"svyciprop_ell0_dstrat_mean":    SurveyMean(apistrat(t, true, none, nil), LoneRefuse).T(.95),
		"svyciprop_beta_srs_15_148":     SurveyMean(plain, LoneRefuse).KornGraubard(.95),
		"tau_airline_svyciprop_beta":    tau.KornGraubard(.95),
		"tau_airline_svyciprop_mean":    tau.T(.95),
	} {
		printedInterval(t, id, got, reference[interval](t, id).CI, 1e-9)
	}
}

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
