package results

import (
	"fmt"
	"slices"

	"assay/internal/assay"
)

// Meet says whether cases meet a suite's success rule, and if not, why. read says whether a result file
// could be read whole. The exit code is another question: see ExitOK.
func Meet(rule assay.SuccessRule, t assay.CaseTally, read bool) (ok bool, why string) {
	judged := t.Passed + t.Failed
	switch {
	case rule.NeedResults && !read:
		return false, "the success rule needs results, and no result file could be read whole"
	case rule.MaxErrored != nil && t.Errored > *rule.MaxErrored:
		return false, fmt.Sprintf("%d cases errored, the success rule allows %d", t.Errored, *rule.MaxErrored)
	case rule.MaxFailed != nil && t.Failed > *rule.MaxFailed:
		return false, fmt.Sprintf("%d cases failed, the success rule allows %d", t.Failed, *rule.MaxFailed)
	case rule.MinPassRate == nil:
		return true, ""
	case judged == 0:
		return false, fmt.Sprintf("no case passed or failed, and the success rule asks for a pass rate of %v", *rule.MinPassRate)
	case float64(t.Passed)/float64(judged) < *rule.MinPassRate:
		return false, fmt.Sprintf("%d of %d cases passed, the success rule asks for %v", t.Passed, judged, *rule.MinPassRate)
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
