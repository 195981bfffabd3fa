package print

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"assay/internal/report"
	"assay/internal/report/number"
	"assay/internal/report/page"
)

// sheet writes rows of CSV whose texts no spreadsheet takes for a formula.
type sheet struct{ w *csv.Writer }

func newSheet(w io.Writer, header ...string) sheet {
	s := sheet{csv.NewWriter(w)}
	_ = s.w.Write(header) // a writer keeps its first error for end
	return s
}

func (s sheet) row(cells ...string) { _ = s.w.Write(cells) }

func (s sheet) end() error {
	s.w.Flush()
	return s.w.Error()
}

// plainText is a text of others: what a spreadsheet would run gets an apostrophe before it, and nothing in it moves
// a terminal's cursor.
func plainText(text string) string {
	text = page.Clean(text)
	if first := strings.TrimLeft(text, " "); first != "" && strings.ContainsRune("=+-@", rune(first[0])) {
		return "'" + text
	}
	return text
}

// figure is a number as it is, or nothing.
func figure(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}

// numberHead and numberCells are the columns of a number.
var numberHead = []string{"target", "estimate", "low", "high", "confidence", "method", "n", "N", "answered", "applies", "users", "coverage", "worst_low", "worst_high", "absent", "interval_absent"}

func numberCells(n number.Number) []string {
	var low, high, confidence, method string
	if i := n.Interval; i != nil {
		low, high, confidence, method = figure(&i.Low), figure(&i.High), figure(&i.Confidence), string(i.Method)
	}
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{string(n.Target), figure(n.Value), low, high, confidence, method, count(n.Sampled), count(n.N), count(n.Answered), count(n.Applies), some(n.Users),
		figure(n.Coverage), figure(n.Low), figure(n.High), string(n.Absent), string(n.IntervalAbsent)}
}

// some is a count, or nothing where it was not made.
func some(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// differenceFigures are a difference in the same columns.
func differenceFigures(d number.Difference) []string {
	cells := numberCells(number.Number{Target: "process", Value: d.Value, Absent: d.Absent, Interval: d.Interval, IntervalAbsent: d.IntervalAbsent, Low: d.Low, High: d.High})
	for i, name := range numberHead {
		if name == "n" || name == "N" || name == "answered" || name == "applies" || name == "users" {
			cells[i] = ""
		}
	}
	return cells
}

// reportCSV has a row for each number.
func reportCSV(w io.Writer, r report.Report) error {
	s := newSheet(w, append([]string{"run", "judge", "judge_version", "criterion", "kind", "value", "by", "part"}, numberHead...)...)
	for _, j := range r.Judges {
		for _, k := range j.Criteria {
			for _, m := range k.Measures {
				row := func(by, part string, n number.Number) {
					s.row(append([]string{r.Run.ID.String(), plainText(j.Name), string(j.Version), plainText(k.Name), string(m.Kind), plainText(m.Value), by, plainText(part)}, numberCells(n)...)...)
				}
				row("all", "", m.Overall)
				for _, by := range [...]struct {
					name  string
					parts []number.Part
				}{{"arm", m.ByArm}, {"day", m.ByDay}, {"agent_version", m.ByAgent}, {"source", m.BySource}} {
					for _, p := range by.parts {
						row(by.name, p.Name, p.Number)
					}
				}
			}
			for _, l := range k.Lifts {
				s.row(append([]string{r.Run.ID.String(), plainText(j.Name), string(j.Version), plainText(k.Name), "lift", "", "arm", plainText(l.Arm + " less " + l.Control)}, differenceFigures(l.Lift)...)...)
			}
		}
		for _, c := range j.Classes {
			s.row(append([]string{r.Run.ID.String(), plainText(j.Name), string(j.Version), "", string(c.State), string(c.Class), "class", string(c.Class)}, numberCells(c.Share)...)...)
		}
	}
	return s.end()
}
