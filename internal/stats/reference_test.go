package stats

import (
	"encoding/csv"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The published values lie beside the project; each test below reads its own. referenceCovered says which test
// covers which, referenceLeft why the others are covered by none: an id in neither, or in both, is an error.
var referenceCovered = map[string]string{
	"svymean_api00_dstrat":                          "TestReferenceSurveyStrata",
	"svymean_api00_dstrat_deff":                     "TestReferenceSurveyStrata",
	"svymean_api00_dstrat_nofpc":                    "TestReferenceSurveyStrata",
	"svytotal_enroll_dstrat":                        "TestReferenceSurveyStrata",
	"svymean_schwide_dstrat":                        "TestReferenceSurveyStrata",
	"svymean_schwide_dstrat_nofpc":                  "TestReferenceSurveyStrata",
	"svyratio_apistu_enroll_dstrat":                 "TestReferenceSurveyStrata",
	"svyby_api00_stype":                             "TestReferenceSurveyStrata",
	"svyciprop_schwide_dstrat_beta":                 "TestReferenceKornGraubard",
	"svyciprop_ell0_dstrat_beta":                    "TestReferenceKornGraubard",
	"svyciprop_schwide_dstrat_mean":                 "TestReferenceKornGraubard",
	"svyciprop_ell0_dstrat_mean":                    "TestReferenceKornGraubard",
	"svyciprop_beta_srs_15_148":                     "TestReferenceKornGraubard",
	"tau_airline_svyciprop_beta":                    "TestReferenceKornGraubard",
	"tau_airline_svyciprop_mean":                    "TestReferenceKornGraubard",
	"hospital_births_mean":                          "TestReferenceSurveyHospital",
	"hospital_births_total":                         "TestReferenceSurveyHospital",
	"hospital_by_oblevel":                           "TestReferenceSurveyHospital",
	"lehtonen_strrs_mean":                           "TestReferenceSurveyClusters",
	"lehtonen_strrs_ratio":                          "TestReferenceSurveyClusters",
	"lohr_agstrat":                                  "TestReferenceSurveyLohr",
	"tau_airline_clustered":                         "TestReferenceTau",
	"tau_airline_gpt4o":                             "TestReferenceTau",
	"newcombe_81_263":                               "TestReferenceBinomial",
	"newcombe_15_148":                               "TestReferenceBinomial",
	"newcombe_0_20":                                 "TestReferenceBinomial",
	"newcombe_1_29":                                 "TestReferenceBinomial",
	"kappa_sas_statsmodels":                         "TestReferenceKappa",
	"kappa_fleiss1981":                              "TestReferenceKappa",
	"kappa_wikipedia_2x2":                           "TestReferenceKappa",
	"kappa_anxiety_irr":                             "TestReferenceKappa",
	"vcd_SexualFun":                                 "TestReferenceKappa",
	"psych_cohen":                                   "TestReferenceKappa", // not the variance of its weighted kappa, which is not the published formula
	"arb":                                           "TestReferenceKappa",
	"llmbar_by_judge_all419":                        "TestReferenceLLMBar",
	"llmbar_mcnemar_gpt4_vs_chatgpt0301_vanilla_ab": "TestReferenceLLMBar",
	"krippendorff_2011_C":                           "TestReferenceAlpha",
	"fleiss_wikipedia":                              "TestReferenceAlpha",
	"mcnemar_vassar_and_R":                          "TestReferenceMcNemar",
	"mcnemar_agresti":                               "TestReferenceMcNemar",
	"epi_prev_cows_c-p":                             "TestReferenceRoganGladen",
	"epi_prev_cows_wilson":                          "TestReferenceRoganGladen",
	"epi_prev_cows_blaker":                          "TestReferenceRoganGladen", // the correction; not Blaker's interval itself
	"epi_prev_cows_sterne":                          "TestReferenceRoganGladen", // the correction; not Sterne's interval itself
	"judgy_readme_quickstart":                       "TestReferenceRoganGladen", // the level; not judgy's bootstrap
	"judgy_large":                                   "TestReferenceRoganGladen", // the level; the interval loosely
	"ppi_llmbar_gpt4":                               "TestReferencePredictionPower",
	"ppi_forest_badmodel":                           "TestReferencePredictionPower",

	"inputs/apistrat.csv":                "TestReferenceSurveyStrata",
	"inputs/hospital.csv":                "TestReferenceSurveyHospital",
	"inputs/lehtonen_unemp_strrs.csv":    "TestReferenceSurveyClusters",
	"inputs/tau_airline_rewards.csv":     "TestReferenceTau",
	"inputs/newcombe1998_table1.csv":     "TestReferenceBinomial",
	"inputs/binom_intervals_R_binom.csv": "TestReferenceBinomial", // exact and wilson; nothing here makes the other nine
	"inputs/llmbar_verdicts.csv":         "TestReferenceLLMBar",
	"inputs/ppi_forest_badmodel.csv":     "TestReferencePredictionPower",
}

var referenceLeft = map[string]string{
	"versions":                            "no value",
	"svyciprop_schwide_dstrat_logit":      "no logit interval: at 0 and 1 it has none",
	"svyciprop_ell0_dstrat_logit":         "no logit interval",
	"svyciprop_schwide_dstrat_xlogit":     "no logit interval",
	"svyciprop_ell0_dstrat_xlogit":        "no logit interval",
	"tau_airline_svyciprop_logit":         "no logit interval",
	"tau_airline_svyciprop_xlogit":        "no logit interval",
	"svyciprop_schwide_dstrat_likelihood": "no interval of a scaled likelihood",
	"svyciprop_ell0_dstrat_likelihood":    "no interval of a scaled likelihood",
	"svyciprop_schwide_dstrat_asin":       "no arc sine interval",
	"svyciprop_ell0_dstrat_asin":          "no arc sine interval",
	"inputs/apisrs.csv":                   "no value was published with it",
}

const statsData = "../../../shared/data/stats"

// beside reads a file of the public data that lies beside the project.
func beside(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(statsData, name))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("shared data must be there in CI: %v", err)
		}
		t.Skipf("shared data is not there: %v", err)
	}
	return raw
}

// references is all published values by id.
func references(t testing.TB) map[string]json.RawMessage {
	t.Helper()
	out := map[string]json.RawMessage{}
	for _, name := range []string{"py_reference.json", "r_reference.json", "r_reference2.json"} {
		if err := json.Unmarshal(beside(t, name), &out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return out
}

func reference[T any](t testing.TB, id string) T {
	t.Helper()
	var out T
	raw, ok := references(t)[id]
	if !ok {
		t.Fatalf("no reference %q", id)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("reference %q: %v", id, err)
	}
	return out
}

// column access by name over a CSV of the inputs.
type csvRows struct {
	t    testing.TB
	at   map[string]int
	rows [][]string
}

func inputs(t testing.TB, name string) csvRows {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(string(beside(t, "inputs/"+name)))).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	out := csvRows{t: t, at: map[string]int{}, rows: all[1:]}
	for i, c := range all[0] {
		out.at[c] = i
	}
	return out
}

func (c csvRows) text(row int, column string) string {
	i, ok := c.at[column]
	if !ok {
		c.t.Fatalf("no column %q", column)
	}
	return c.rows[row][i]
}

func (c csvRows) number(row int, column string) float64 {
	c.t.Helper()
	x, err := strconv.ParseFloat(c.text(row, column), 64)
	if err != nil {
		c.t.Fatalf("row %d %s: %v", row, column, err)
	}
	return x
}

// printed says whether got is want to a relative error: some 1e-12 where the formula is plain, 1e-9 where a
// quantile of a distribution is in it.
func printed(t testing.TB, what string, got, want, within float64) {
	t.Helper()
	scale := math.Abs(want)
	if scale == 0 {
		scale = 1
	}
	if math.IsNaN(got) || math.Abs(got-want) > within*scale {
		t.Errorf("%s: %.15g, want %.15g", what, got, want)
	}
}

func printedValue(t testing.TB, what string, got Value, want, within float64) {
	t.Helper()
	if !got.Ok() {
		t.Errorf("%s: absent %q, want %v", what, got.Absent, want)
		return
	}
	printed(t, what, got.X, want, within)
}

func printedInterval(t testing.TB, what string, got Interval, want []float64, within float64) {
	t.Helper()
	if !got.Ok() {
		t.Errorf("%s: absent %q, want %v", what, got.Absent, want)
		return
	}
	printed(t, what+" low", got.Low, want[0], within)
	printed(t, what+" high", got.High, want[1], within)
}

func TestEveryReferenceIsAccountedFor(t *testing.T) {
	ids := []string{}
	for id := range references(t) {
		ids = append(ids, id)
	}
	err := fs.WalkDir(os.DirFS(statsData), "inputs", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			ids = append(ids, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	tests := testNames(t)
	for _, id := range ids {
		test, covered := referenceCovered[id]
		_, left := referenceLeft[id]
		switch {
		case covered == left:
			t.Errorf("%s: covered %v, left %v; it must be one of both", id, covered, left)
		case covered && !tests[test]:
			t.Errorf("%s: there is no test %s", id, test)
		}
	}
	for _, m := range []map[string]string{referenceCovered, referenceLeft} {
		for id := range m {
			if !slices.Contains(ids, id) {
				t.Errorf("%s is not published", id)
			}
		}
	}
}

func testNames(t *testing.T) map[string]bool {
	out := map[string]bool{}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if rest, ok := strings.CutPrefix(line, "func Test"); ok {
				out["Test"+rest[:strings.IndexByte(rest, '(')]] = true
			}
		}
	}
	return out
}
