package results

import (
	"strings"
	"testing"

	"assay/internal/assay"
)

func TestJudge(t *testing.T) {
	n := func(x int64) *int64 { return &x }
	r := func(x float64) *float64 { return &x }
	some := assay.CaseTally{Total: 12, Passed: 7, Failed: 3, Errored: 1, Skipped: 1}
	for _, c := range []struct {
		name string
		rule assay.SuccessRule
		t    assay.CaseTally
		read bool
		why  string // part of it; "": the rule holds
	}{
		{"no rule", assay.SuccessRule{}, some, true, ""},
		{"no rule and nothing", assay.SuccessRule{}, assay.CaseTally{}, false, ""},
		{"results needed and there", assay.SuccessRule{NeedResults: true}, assay.CaseTally{}, true, ""},
		{"results needed", assay.SuccessRule{NeedResults: true}, some, false, "needs results"},
		{"failed allowed", assay.SuccessRule{MaxFailed: n(3)}, some, true, ""},
		{"one failed too many", assay.SuccessRule{MaxFailed: n(2)}, some, true, "3 cases failed, the success rule allows 2"},
		{"none may fail, none did", assay.SuccessRule{MaxFailed: n(0)}, assay.CaseTally{Total: 2, Errored: 2}, true, ""},
		{"errored allowed", assay.SuccessRule{MaxErrored: n(1)}, some, true, ""},
		{"one errored too many", assay.SuccessRule{MaxErrored: n(0)}, some, true, "1 cases errored"},
		{"rate holds exactly", assay.SuccessRule{MinPassRate: r(0.7)}, some, true, ""},
		{"rate that no float64 holds", assay.SuccessRule{MinPassRate: r(0.07)}, assay.CaseTally{Total: 100, Passed: 7, Failed: 93}, true, ""},
		{"rate missed", assay.SuccessRule{MinPassRate: r(0.71)}, some, true, "7 of 10 cases passed"},
		{"rate of nothing is no rate", assay.SuccessRule{MinPassRate: r(0)}, assay.CaseTally{Total: 3, Errored: 3}, true, "no case passed or failed"},
		{"an error is no failure", assay.SuccessRule{MinPassRate: r(1)}, assay.CaseTally{Total: 9, Passed: 5, Errored: 4}, true, ""},
	} {
		ok, why := Meet(c.rule, c.t, c.read)
		if ok != (c.why == "") || !strings.Contains(why, c.why) || ok != (why == "") {
			t.Errorf("%s: %v, %q", c.name, ok, why)
		}
	}
	equal(t, "words", assay.CaseTally{Total: 13, Passed: 7, Failed: 3, Errored: 1, Skipped: 1}.String(), "13 cases: 7 passed, 3 failed, 1 errored, 1 skipped, 1 without pass or fail")
}

func TestExitOK(t *testing.T) {
	if !ExitOK(assay.SuccessRule{}, 0) || ExitOK(assay.SuccessRule{}, 1) || ExitOK(assay.SuccessRule{}, -1) {
		t.Error("without codes 0 alone is a success")
	}
	if rule := (assay.SuccessRule{ExitCodes: []int{0, 100}}); !ExitOK(rule, 100) || ExitOK(rule, 1) {
		t.Error("the rule's codes are the successes")
	}
}
