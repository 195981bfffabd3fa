package page

import (
	"fmt"
	"slices"
	"strings"
)

// absentMark begins a cell that says why there is no number in it.
const absentMark = "absent: "

func absent(cell string) bool { return strings.HasPrefix(cell, absentMark) }

// reason is why some cells of one column have no number.
type reason struct {
	why, column string
	rows        []string
}

// named is how many rows a reason names.
const named = 4

func (r reason) text(rows int) string {
	var names []string
	for _, name := range r.rows {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	of := strings.Join(names[:min(len(names), named)], ", ")
	switch {
	case len(r.rows) == rows && rows > 1:
		of = "all rows"
	case len(names) > named:
		of += fmt.Sprintf(" and %d more", len(names)-named)
	}
	return fmt.Sprintf("absent, %s: %s of %s", r.why, r.column, of)
}

// shorten leaves only that a number is absent in the cells: why stands below the table, once for each reason.
func (l *layout) shorten() {
	l.short = true
	for c := range l.table.Columns {
		l.sizes[c] = columnsOf(l.head[c])
		for _, cells := range l.cells {
			if c > 0 && absent(cells[c]) {
				l.because(strings.TrimPrefix(cells[c], absentMark), l.head[c], strings.TrimSpace(cells[0]))
				cells[c] = "absent"
			}
			l.sizes[c] = max(l.sizes[c], columnsOf(cells[c]))
		}
	}
}

func (l *layout) because(why, column, row string) {
	for i := range l.reasons {
		if r := &l.reasons[i]; r.why == why && r.column == column {
			r.rows = append(r.rows, row)
			return
		}
	}
	l.reasons = append(l.reasons, reason{why: why, column: column, rows: []string{row}})
}
