package old

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/assay"
	"assay/internal/stats"
)

// percent prints a share so that only all is 100 % and only none is 0 %.
func percent(x float64) string {
	s := strconv.FormatFloat(100*x, 'f', 1, 64)
	switch {
	case math.Abs(x-1) < 1e-12: // all, but for the rounding of weights
	case x < 1 && s == "100.0":
		return ">99.9 %"
	case x > 0 && s == "0.0":
		return "<0.1 %"
	}
	return s + " %"
}

func whole(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func portion(n, of int64) string {
	if n == 0 || of == 0 {
		return whole(n)
	}
	return fmt.Sprintf("%s (%s)", whole(n), percent(float64(n)/float64(of)))
}

func reused(c Counts) string {
	if c.ReusedShare == nil || c.Reused == 0 {
		return ""
	}
	return fmt.Sprintf(", %s of them reused (%s)", whole(c.Reused), percent(*c.ReusedShare))
}

// classes lists the classes that end an item in state.
func classes(by map[assay.Class]int64, state assay.ItemState) string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(by)) {
		ends := assay.Policies[class].Ends
		if ends == "" {
			ends = assay.ItemErrored
		}
		if ends == state {
			parts = append(parts, fmt.Sprintf("%s %s", class, whole(by[class])))
		}
	}
	if parts == nil {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

var absences = map[stats.Absence]string{
	stats.NoPopulation:      "no sessions",
	stats.NothingObserved:   "nothing graded",
	stats.StratumUnobserved: "empty stratum",
	stats.NothingInDomain:   "applies to none",
	stats.Unbounded:         "no limits",
	stats.NothingRepeated:   "no session has two answers",
}

// levelText is the level or the reason that there is none.
func (t *text) levelText(kind MeasureKind, e Estimate) string {
	if e.Level == nil {
		return t.absent(e.Absent)
	}
	return valueText(kind, *e.Level)
}

// absent says why there is no number: in a run under way what is not graded may be graded still.
func (t *text) absent(why stats.Absence) string {
	if t.unfinished != "" && why != stats.NothingInDomain && why != stats.Unbounded {
		return t.unfinished
	}
	return "absent: " + absences[why]
}

func valueText(kind MeasureKind, x float64) string {
	if kind == KindMean {
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return percent(x)
}

func worstText(kind MeasureKind, e Estimate) string {
	if e.Low == nil && e.High == nil {
		return "-"
	}
	end := func(x *float64) string {
		if x == nil {
			return "?"
		}
		return strings.TrimSuffix(valueText(kind, *x), " %")
	}
	return end(e.Low) + " to " + end(e.High)
}

func coverageText(e Estimate) string {
	if e.Coverage == nil {
		return "-"
	}
	return percent(*e.Coverage)
}

func cutText(e Estimate) string {
	if e.Cut == nil {
		return "-"
	}
	return percent(*e.Cut)
}

// bar draws x of 1 in width cells.
func bar(x float64, width int) string {
	full := int(x*float64(width) + 0.5)
	return strings.Repeat("█", full) + strings.Repeat("·", width-full)
}

func join[T fmt.Stringer](list []T) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = v.String()
	}
	return strings.Join(parts, ", ")
}

// wrap breaks a text at spaces into lines of at most width columns where words allow.
func wrap(s string, width int) []string {
	width = max(width, 20)
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && columns(line)+1+columns(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
