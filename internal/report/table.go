package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"assay/internal/assay"
	"assay/internal/stats"
)

// narrow terminals, below this many columns, get fewer columns and no bars.
const narrow = 72

const barWidth = 16

// row is one line of a judge's table.
type row struct {
	name string
	kind MeasureKind
	e    Estimate
}

func (t *text) judge(j Judge) {
	t.line("")
	t.judgeLine(j)
	for _, k := range j.Criteria {
		t.criterion(k)
	}
	t.noise(j)
}

func (t *text) judgeLine(j Judge) {
	coverage := "absent"
	if j.Coverage != nil {
		coverage = percent(*j.Coverage)
	}
	t.line("Judge %s  %s  version %s  coverage %s", j.Name, j.Kind, shortHash(j.Version), coverage)
}

func (t *text) criterion(k Criterion) {
	t.line("")
	var rows []row
	var merged []stats.Merge
	for _, m := range k.Measures {
		name := "all"
		if m.Kind == KindShare {
			name = m.Value
		}
		rows = append(rows, row{name, m.Kind, m.Overall})
		merged = append(merged, m.Overall.Merged...)
		for _, p := range m.ByArm {
			rows = append(rows, row{"  arm " + p.Name, m.Kind, p.Estimate})
		}
		if k.Name == assay.CriterionPass {
			for _, p := range m.ByDay {
				rows = append(rows, row{"  day " + p.Name, m.Kind, p.Estimate})
			}
		}
	}
	t.table(fmt.Sprintf("%s (%s)", k.Name, kindWord(k)), rows)
	seen := map[stats.Merge]bool{}
	for _, m := range merged {
		if !seen[m] {
			seen[m] = true
			t.wrapped("  ", fmt.Sprintf("%s has nothing graded and is counted with %s", m.Empty, m.Into))
		}
	}
}

func kindWord(k Criterion) string {
	switch k.Type {
	case assay.Boolean:
		return "rate"
	case assay.Number:
		return "mean"
	}
	return "shares"
}

// table prints rows under a title. A narrow terminal gets neither bars nor N nor answered, and what it
// should know of cut transcripts on a line of its own.
func (t *text) table(title string, rows []row) {
	bars, head := barWidth, []string{"level", "N", "n", "answered", "coverage", "bounds"}
	pick := func(r row) []string {
		return []string{levelText(r.kind, r.e), whole(r.e.N), whole(r.e.Sampled), whole(r.e.Answered), coverageText(r.e), worstText(r.kind, r.e)}
	}
	cut := slices.ContainsFunc(rows, func(r row) bool { return r.e.Cut != nil })
	if t.width < narrow {
		bars, head = 0, []string{"level", "n", "coverage", "bounds"}
		all := pick
		pick = func(r row) []string {
			v := all(r)
			if r.e.Level == nil {
				v[0] = "absent" // why stands below the table
			}
			return []string{v[0], v[2], v[4], v[5]}
		}
	}
	if cut && bars > 0 {
		head = append(head, "cut")
		all := pick
		pick = func(r row) []string { return append(all(r), cutText(r.e)) }
	}
	cells := make([][]string, len(rows))
	sizes := make([]int, len(head))
	for i, h := range head {
		sizes[i] = columns(h)
	}
	names := 0
	for i, r := range rows {
		cells[i] = pick(r)
		names = max(names, columns(r.name))
		for c := range head {
			if c > 0 || r.e.Level != nil || bars == 0 { // a reason may run into the bar's place
				sizes[c] = max(sizes[c], columns(cells[i][c]))
			}
		}
	}
	rest := 2 + bars
	for _, w := range sizes {
		rest += w + 2
	}
	names = max(min(names, t.width-rest), len("  day 2026-03-02"))
	t.line("%s", title)
	t.line("  %s%s", cell("", names), t.cells(head, sizes, "", bars))
	for i, r := range rows {
		b := ""
		if bars > 0 && r.e.Level != nil && r.kind != KindMean {
			b = bar(min(max(*r.e.Level, 0), 1), bars)
		}
		t.line("  %s%s", cell(r.name, names), t.cells(cells[i], sizes, b, bars))
	}
	for _, r := range rows {
		if bars == 0 && r.e.Level == nil {
			t.line("  %s %s", strings.TrimSpace(r.name), levelText(r.kind, r.e))
		}
	}
	if cut && bars == 0 {
		var parts []string
		for _, r := range rows {
			if r.e.Cut != nil {
				parts = append(parts, strings.TrimSpace(r.name)+" "+percent(*r.e.Cut))
			}
		}
		t.wrapped("  ", "cut: "+strings.Join(parts, ", "))
	}
}

// cells aligns the columns to the right; the bar, or the rest of a reason, follows the level.
func (t *text) cells(values []string, sizes []int, b string, bars int) string {
	var out strings.Builder
	level := right(values[0], sizes[0])
	out.WriteString("  " + level)
	if over := columns(level) - sizes[0]; bars > 0 && over > 0 {
		out.WriteString(cell("", max(bars+2-over, 0)))
	} else if bars > 0 {
		out.WriteString("  " + cell(b, bars))
	}
	for c := 1; c < len(values); c++ {
		out.WriteString("  " + right(values[c], sizes[c]))
	}
	return out.String()
}

// Columns are counted as most terminals do, whatever the locale says of ambiguous characters.
func widths() *runewidth.Condition { return &runewidth.Condition{} }

func columns(s string) int { return widths().StringWidth(s) }

func right(s string, width int) string { return widths().FillLeft(s, width) }

func cell(s string, width int) string {
	return widths().FillRight(widths().Truncate(s, width, "…"), width)
}

func shortHash(h assay.Hash) string {
	if len(h) > 12 {
		return string(h[:12])
	}
	return string(h)
}
