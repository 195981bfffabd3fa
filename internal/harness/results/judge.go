package results

import (
	"fmt"
	"slices"

	"assay/internal/assay"
)

// Tally counts cases. Total has those too of which the harness said neither passed nor failed.
type Tally struct{ Total, Passed, Failed, Errored, Skipped int64 }

// Add counts one case.
func (t *Tally) Add(c assay.Case) {
	t.Total++
	switch {
	case c.State == assay.ItemErrored:
		t.Errored++
	case c.State == assay.ItemUngradable:
		t.Skipped++
	case c.Pass == nil:
	case *c.Pass:
		t.Passed++
	default:
		t.Failed++
	}
}

func (t Tally) String() string {
	s := fmt.Sprintf("%d cases: %d passed, %d failed", t.Total, t.Passed, t.Failed)
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

// Judge says whether cases meet a suite's success rule, and if not, why. read says whether a result file
// could be read whole. The exit code is another question: see ExitOK.
func Judge(rule assay.SuccessRule, t Tally, read bool) (ok bool, why string) {
	judged := t.Passed + t.Failed
	switch {
	case rule.NeedResults && !read:
		return false, "the success rule needs results, and no result file could be read whole"
	case rule.MaxErrored != nil && t.Errored > *rule.MaxErrored:
		return false, fmt.Sprintf("%d cases errored, the success rule allows %d (%s)", t.Errored, *rule.MaxErrored, t)
	case rule.MaxFailed != nil && t.Failed > *rule.MaxFailed:
		return false, fmt.Sprintf("%d cases failed, the success rule allows %d (%s)", t.Failed, *rule.MaxFailed, t)
	case rule.MinPassRate == nil:
		return true, ""
	case judged == 0:
		return false, fmt.Sprintf("no case passed or failed, and the success rule asks for a pass rate of %v (%s)", *rule.MinPassRate, t)
	case float64(t.Passed)/float64(judged) < *rule.MinPassRate:
		return false, fmt.Sprintf("%d of %d cases passed, the success rule asks for a pass rate of %v (%s)", t.Passed, judged, *rule.MinPassRate, t)
	}
	return true, ""
}

// ExitOK says whether an exit code is one of a success.
func ExitOK(rule assay.SuccessRule, code int) bool {
	if len(rule.ExitCodes) == 0 {
		return code == 0
	}
	return slices.Contains(rule.ExitCodes, code)
}
