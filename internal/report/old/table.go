package old

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
	switch {
	case j.Coverage != nil:
		coverage = percent(*j.Coverage)
	case t.unfinished != "":
		coverage = t.unfinished
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

// layout is what a table shows of each row.
type layout struct {
	bars int // columns of a bar; 0: none
	cut  bool
	head []string
	pick func(row) []string
}

// layout of a narrow terminal has neither bars nor N nor answered; what it should know of cut transcripts
// stands on a line of its own.
func (t *text) layout(rows []row) layout {
	l := layout{cut: slices.ContainsFunc(rows, func(r row) bool { return r.e.Cut != nil })}
	if t.width < narrow {
		l.head = []string{"level", "n", "coverage", "bounds"}
		l.pick = func(r row) []string {
			level := "absent" // why stands below the table
			if r.e.Level != nil {
				level = t.levelText(r.kind, r.e)
			}
			return []string{level, whole(r.e.Sampled), coverageText(r.e), worstText(r.kind, r.e)}
		}
		return l
	}
	l.bars, l.head = barWidth, []string{"level", "N", "n", "answered", "coverage", "bounds"}
	if l.cut {
		l.head = append(l.head, "cut")
	}
	l.pick = func(r row) []string {
		v := []string{t.levelText(r.kind, r.e), whole(r.e.N), whole(r.e.Sampled), whole(r.e.Answered), coverageText(r.e), worstText(r.kind, r.e)}
		if l.cut {
			v = append(v, cutText(r.e))
		}
		return v
	}
	return l
}

// sizes are the widths of the columns. A reason in place of a level may run into the bar's place.
func (l layout) sizes(rows []row, cells [][]string) []int {
	sizes := make([]int, len(l.head))
	for c, h := range l.head {
		sizes[c] = columns(h)
		for i, r := range rows {
			size := columns(cells[i][c])
			if c == 0 && l.bars > 0 && r.e.Level == nil {
				size -= 2 + l.bars
			}
			sizes[c] = max(sizes[c], size)
		}
	}
	return sizes
}

// table prints rows under a title.
func (t *text) table(title string, rows []row) {
	l := t.layout(rows)
	cells := make([][]string, len(rows))
	names := 0
	for i, r := range rows {
		cells[i] = l.pick(r)
		names = max(names, columns(r.name))
	}
	sizes := l.sizes(rows, cells)
	rest := 2 + l.bars
	for _, w := range sizes {
		rest += w + 2
	}
	names = max(min(names, t.width-rest), len("  day 2026-03-02"))
	t.line("%s", title)
	t.line("  %s%s", cell("", names), t.cells(l.head, sizes, "", l.bars))
	for i, r := range rows {
		b := ""
		if l.bars > 0 && r.e.Level != nil && r.kind != KindMean {
			b = bar(min(max(*r.e.Level, 0), 1), l.bars)
		}
		t.line("  %s%s", cell(r.name, names), t.cells(cells[i], sizes, b, l.bars))
	}
	if l.bars == 0 {
		t.below(rows)
	}
}

// below prints what a narrow table has no room for.
func (t *text) below(rows []row) {
	var cut []string
	once := !slices.ContainsFunc(rows, func(r row) bool { return r.e.Level != nil || r.e.Absent != rows[0].e.Absent })
	if once && len(rows) > 0 {
		t.line("  %s", t.levelText(rows[0].kind, rows[0].e))
	}
	for _, r := range rows {
		name := strings.TrimSpace(r.name)
		if r.e.Level == nil && !once {
			t.line("  %s %s", name, t.levelText(r.kind, r.e))
		}
		if r.e.Cut != nil {
			cut = append(cut, name+" "+percent(*r.e.Cut))
		}
	}
	if cut != nil {
		t.wrapped("  ", "cut: "+strings.Join(cut, ", "))
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
