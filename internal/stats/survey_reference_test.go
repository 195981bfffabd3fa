package stats

import (
	"fmt"
	"math"
	"testing"
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
