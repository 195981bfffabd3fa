package assay

import (
	"strings"
	"testing"
)

func TestAnswers(t *testing.T) {
	low, high := 0.0, 10.0
	yes := Criterion{Name: "done", Type: Boolean}
	tone := Criterion{Name: "tone", Type: Category, Values: []string{"kind", "cold", "true"}}
	stars := Criterion{Name: "stars", Type: Ordinal, Values: []string{"1", "2", "3"}}
	score := Criterion{Name: "score", Type: Number, Min: &low, Max: &high}
	free := Criterion{Name: "free"}
	for _, test := range []struct {
		c           Criterion
		given, want string // want "" is refused
	}{
		{yes, "true", "true"}, {yes, `"Pass"`, "true"}, {yes, `"fail"`, "false"}, {yes, ` "NO" `, "false"}, {yes, "1", "true"}, {yes, "0", "false"},
		{yes, "2", ""}, {yes, `"maybe"`, ""}, {yes, "null", ""}, {yes, "", ""}, {yes, "{}", ""}, {yes, "[true]", ""}, {yes, "tru", ""},
		{tone, `"kind"`, `"kind"`}, {tone, `" cold "`, `"cold"`}, {tone, "true", `"true"`}, {tone, `"Kind"`, ""}, {tone, `""`, ""},
		{stars, "2", `"2"`}, {stars, `"3"`, `"3"`}, {stars, "4", ""}, {stars, "2.0", ""},
		{score, "2.50", "2.5"}, {score, `"10"`, "10"}, {score, "0", "0"}, {score, "10.1", ""}, {score, "-1", ""}, {score, `"NaN"`, ""}, {score, `"Inf"`, ""}, {score, "true", ""},
		{free, "true", "true"}, {free, "1.50", "1.50"}, {free, `"a\u0000b"`, `"a\u0000b"`}, {free, "null", ""}, {free, `" a "`, `" a "`},
	} {
		got, err := test.c.Answer([]byte(test.given))
		if string(got) != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s %s: %s, %v; want %q", test.c.Name, test.given, got, err, test.want)
		}
		if err != nil && !strings.Contains(err.Error(), test.c.Name) {
			t.Errorf("%s %s: the error %q does not name the criterion", test.c.Name, test.given, err)
		}
	}
}
