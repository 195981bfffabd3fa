package engine

import (
	"fmt"

	"assay/internal/assay"
)

// CaseTally counts the cases of a harness.
type CaseTally struct{ Passed, Failed, Errored, Ungradable, Unsaid int64 }

// Add counts one case.
func (t *CaseTally) Add(c assay.Case) {
	switch {
	case c.State == assay.ItemErrored:
		t.Errored++
	case c.State == assay.ItemUngradable:
		t.Ungradable++
	case c.Pass == nil:
		t.Unsaid++
	case *c.Pass:
		t.Passed++
	default:
		t.Failed++
	}
}

// All is how many were counted.
func (t CaseTally) All() int64 { return t.Passed + t.Failed + t.Errored + t.Ungradable + t.Unsaid }

// String goes on with a sentence about the harness's end; it is empty where there were no cases.
func (t CaseTally) String() string {
	if t.All() == 0 {
		return ""
	}
	s := fmt.Sprintf("; of %d cases %d passed, %d failed", t.All(), t.Passed, t.Failed)
	for _, more := range []struct {
		n    int64
		what string
	}{{t.Errored, "broke"}, {t.Ungradable, "could not be judged"}, {t.Unsaid, "have no result"}} {
		if more.n > 0 {
			s += fmt.Sprintf(", %d %s", more.n, more.what)
		}
	}
	return s
}
