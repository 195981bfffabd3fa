package assay

import "fmt"

// CaseTally counts the cases of a harness. Total has those too of which the harness said neither passed nor failed.
type CaseTally struct {
	Total   int64 `json:"total" doc:"the rest of it has neither passed nor failed, broken nor been skipped"`
	Passed  int64 `json:"passed"`
	Failed  int64 `json:"failed"`
	Errored int64 `json:"errored"`
	Skipped int64 `json:"skipped"`
}

// Cases are the counts of a harness's run as those of its cases.
func (c Counts) Cases() CaseTally {
	return CaseTally{Total: c.Total, Passed: c.Passed, Failed: c.Failed, Errored: c.Errored, Skipped: c.Ungradable - c.ByClass[ClassCaseUnscored]}
}

// PassRate is the share of those that passed or failed; nil where none did.
func (t CaseTally) PassRate() *float64 {
	if t.Passed+t.Failed == 0 {
		return nil
	}
	return new(float64(t.Passed) / float64(t.Passed+t.Failed))
}

// Add counts one case.
func (t *CaseTally) Add(c Case) {
	t.Total++
	switch {
	case c.State == ItemErrored:
		t.Errored++
	case c.State == ItemUngradable && c.Class != ClassCaseUnscored:
		t.Skipped++
	case c.State == ItemUngradable, c.Pass == nil:
	case *c.Pass:
		t.Passed++
	default:
		t.Failed++
	}
}

// String is part of a sentence: "3 cases: 2 passed, 1 failed".
func (t CaseTally) String() string {
	cases := "cases"
	if t.Total == 1 {
		cases = "case"
	}
	return fmt.Sprintf("%d %s: %s", t.Total, cases, t.Parts())
}

// Parts is how they ended: "2 passed, 1 failed".
func (t CaseTally) Parts() string {
	s := fmt.Sprintf("%d passed, %d failed", t.Passed, t.Failed)
	for _, more := range []struct {
		n    int64
		what string
	}{{t.Errored, "errored"}, {t.Skipped, "skipped"}, {t.Total - t.Passed - t.Failed - t.Errored - t.Skipped, "without pass or fail"}} {
		if more.n > 0 {
			s += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	return s
}
