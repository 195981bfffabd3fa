package assay

import "fmt"

// CaseTally counts the cases of a harness. Total has those too of which the harness said neither passed nor failed.
type CaseTally struct{ Total, Passed, Failed, Errored, Skipped int64 }

// Add counts one case.
func (t *CaseTally) Add(c Case) {
	t.Total++
	switch {
	case c.State == ItemErrored:
		t.Errored++
	case c.State == ItemUngradable:
		t.Skipped++
	case c.Pass == nil:
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
	s := fmt.Sprintf("%d %s: %d passed, %d failed", t.Total, cases, t.Passed, t.Failed)
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
