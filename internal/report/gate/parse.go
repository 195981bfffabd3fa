package gate

import (
	"regexp"
	"strconv"
	"strings"

	"assay/internal/assay"
)

var form = regexp.MustCompile(`^\s*([A-Za-z_]+)\s*(?::\s*(.+?))?\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*(%?)\s*$`)

var metrics = [...]Metric{Rate, Lift, Coverage, Errors, Drop}

// Parse reads a gate; an error says what is wrong where, and what is known. A limit may be given in percent.
func Parse(text string) (Gate, error) {
	const example = "write METRIC OP LIMIT, for instance 'drop > 0.02', 'drop:tone >= 2%' or 'coverage < 0.95'"
	m := form.FindStringSubmatch(text)
	if m == nil {
		return Gate{}, assay.Errorf(assay.CodeInvalid, "gate %q cannot be read", text).WithHint("%s", example)
	}
	g := Gate{Text: strings.Join(strings.Fields(text), " "), Metric: Metric(strings.ToLower(m[1])), Criterion: m[2], Op: m[3]}
	if g.Criterion == "" {
		g.Criterion = assay.CriterionPass
	}
	if !known(g.Metric) {
		return Gate{}, assay.Errorf(assay.CodeInvalid, "gate %q: the metric %q is not known", text, m[1]).
			WithHint("a report has rate, lift, coverage and errors, a comparison has drop, coverage and errors")
	}
	limit, err := strconv.ParseFloat(m[4], 64)
	if err != nil {
		return Gate{}, assay.Errorf(assay.CodeInvalid, "gate %q: the limit %q is not a number", text, m[4]).WithHint("%s", example)
	}
	if m[5] != "" {
		limit /= 100
	}
	g.Limit = limit
	return g, nil
}

func known(m Metric) bool {
	for _, k := range metrics {
		if k == m {
			return true
		}
	}
	return false
}
