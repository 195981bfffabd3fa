package page

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
)

const (
	usual    = 100 // columns where there is no terminal
	least    = 40
	barWidth = 16
)

// Text writes for a terminal of so many columns; 0 is 100.
func (p Page) Text(w io.Writer, columns int) error {
	if columns <= 0 {
		columns = usual
	}
	t := &terminal{w: bufio.NewWriter(w), width: max(columns, least)}
	if p.Title != "" {
		t.line(Clean(p.Title))
	}
	for i, b := range p.Blocks {
		t.block(b, i == 0 && p.Title == "")
	}
	return t.w.Flush()
}

type terminal struct {
	w     *bufio.Writer
	width int
}

// line writes a line, whose texts are clean.
func (t *terminal) line(s string) {
	t.w.WriteString(strings.TrimRight(s, " "))
	t.w.WriteByte('\n')
}

func (t *terminal) wrapped(first, rest, s string) {
	for i, l := range wrap(Clean(s), t.width-columnsOf(rest)) {
		if i == 0 {
			t.line(first + l)
		} else {
			t.line(rest + l)
		}
	}
}

func (t *terminal) block(b Block, first bool) {
	if c, ok := b.(Chart); ok && c.Kind != Bars {
		return
	}
	if !first {
		t.line("")
	}
	switch b := b.(type) {
	case Heading:
		text := Clean(b.Text)
		t.line(text)
		if b.Level <= 2 {
			t.line(strings.Repeat("─", min(columnsOf(text), t.width)))
		}
	case Paragraph:
		if b.Tone == Warning {
			t.wrapped("! ", "  ", b.Text)
		} else {
			t.wrapped("", "", b.Text)
		}
	case Facts:
		size := 0
		for _, f := range b.Facts {
			size = max(size, columnsOf(Clean(f[0])))
		}
		for _, f := range b.Facts {
			t.wrapped("  "+fill(Clean(f[0]), size)+"  ", strings.Repeat(" ", size+4), f[1])
		}
	case List:
		for _, item := range b.Items {
			t.wrapped("  - ", "    ", item)
		}
	case Table:
		t.table(b)
	case Chart:
		t.bars(b)
	}
}

// table prints what fits: columns of the highest weight are left out first, then the marks.
func (t *terminal) table(b Table) {
	if b.Title != "" {
		t.line(Clean(b.Title))
	}
	l := newLayout(b)
	for l.total() > t.width && l.drop() {
	}
	t.line(l.row(l.head, nil))
	for i := range b.Rows {
		t.line(l.row(l.cells[i], &b.Rows[i]))
	}
	for _, why := range l.reasons {
		t.wrapped("  ", "    ", why.text(len(b.Rows)))
	}
	if left := l.left(); left != "" {
		t.wrapped("  ", "    ", "not shown in so few columns: "+left)
	}
}

// layout is a table's cells and how wide its columns are.
type layout struct {
	table Table
	head  []string
	cells [][]string
	sizes []int
	shown []bool
	marks bool

	reasons []reason // that stand below the table and not in its cells
	short   bool
}

func newLayout(b Table) *layout {
	l := &layout{table: b, sizes: make([]int, len(b.Columns)), shown: make([]bool, len(b.Columns))}
	for c, column := range b.Columns {
		l.head = append(l.head, Clean(column.Name))
		l.sizes[c], l.shown[c] = columnsOf(l.head[c]), true
	}
	for _, r := range b.Rows {
		cells := make([]string, len(b.Columns))
		for c := range cells {
			if c < len(r.Cells) {
				cells[c] = Clean(r.Cells[c])
			}
			if c == 0 {
				cells[c] = strings.Repeat("  ", r.Indent) + cells[c]
			}
			l.sizes[c] = max(l.sizes[c], columnsOf(cells[c]))
		}
		l.cells = append(l.cells, cells)
		l.marks = l.marks || r.Mark != nil
	}
	return l
}

func (l *layout) total() int {
	n := 0
	for c, size := range l.sizes {
		if l.shown[c] {
			n += size + 2
		}
	}
	if l.marks {
		n += barWidth + 2
	}
	return n
}

// widest is how much of a first cell is shown where other columns would have to go.
const widest = 24

// shortest is what a first cell needs at least: a day and its indent.
const shortest = 16

// drop leaves out one more thing: the end of long names, then columns by their weight, with the marks before the
// last of them; false where only what must be shown is left. Before all that, why numbers are absent goes below.
func (l *layout) drop() bool {
	if !l.short {
		l.shorten()
		return true
	}
	if l.sizes[0] > widest {
		l.sizes[0]--
		return true
	}
	heaviest := -1
	for c, column := range l.table.Columns {
		if l.shown[c] && column.Weight > 0 && (heaviest < 0 || column.Weight >= l.table.Columns[heaviest].Weight) {
			heaviest = c
		}
	}
	switch {
	case heaviest >= 0 && (l.table.Columns[heaviest].Weight > 1 || !l.marks):
		l.shown[heaviest] = false
	case l.marks:
		l.marks = false
	case l.sizes[0] > shortest:
		l.sizes[0]--
	default:
		return false
	}
	return true
}

func (l *layout) row(cells []string, r *Row) string {
	var out strings.Builder
	for c, text := range cells {
		if !l.shown[c] {
			continue
		}
		out.WriteString("  ")
		if l.table.Columns[c].Right {
			out.WriteString(widths().FillLeft(text, l.sizes[c]))
		} else {
			out.WriteString(fill(widths().Truncate(text, l.sizes[c], "…"), l.sizes[c]))
		}
		if c == 0 && l.marks {
			mark := strings.Repeat(" ", barWidth)
			switch {
			case r == nil:
				mark = l.table.ends()
			case r.Mark != nil:
				mark = l.table.whisker(*r.Mark)
			}
			out.WriteString("  " + mark)
		}
	}
	return out.String()
}

func (l *layout) left() string {
	var names []string
	for c, shown := range l.shown {
		if !shown {
			names = append(names, l.head[c])
		}
	}
	return strings.Join(names, ", ")
}

// scale is where marks lie.
func (b Table) scale() (low, high float64) {
	if b.Low == b.High {
		return 0, 1
	}
	return b.Low, b.High
}

// ends are the ends of the scale, as wide as a mark, where the table says them.
func (b Table) ends() string {
	if b.Say != nil {
		low, high := b.scale()
		from, to := Clean(b.Say(low)), Clean(b.Say(high))
		if gap := barWidth - columnsOf(from) - columnsOf(to); gap > 0 {
			return from + strings.Repeat(" ", gap) + to
		}
	}
	return strings.Repeat(" ", barWidth)
}

// whisker draws a value and its interval: ·├──●──┤·
func (b Table) whisker(m Mark) string {
	low, high := b.scale()
	at := func(x float64) int {
		return min(int(share(x, low, high)*float64(barWidth)), barWidth-1)
	}
	line := []rune(strings.Repeat("·", barWidth))
	if b.Zero && low <= 0 && high >= 0 {
		line[at(0)] = '│'
	}
	if m.Low != nil && m.High != nil {
		from, to := at(*m.Low), at(*m.High)
		for i := from; i <= to; i++ {
			line[i] = '─'
		}
		line[from], line[to] = '├', '┤'
	}
	line[at(m.Value)] = '●'
	return string(line)
}

func (t *terminal) bars(c Chart) {
	if c.Title != "" {
		t.line(Clean(c.Title))
	}
	size := 0
	for _, p := range c.Points {
		size = max(size, columnsOf(Clean(p.Name)))
	}
	size = min(size, t.width-barWidth-14)
	for _, p := range c.Points {
		name := fill(widths().Truncate(Clean(p.Name), size, "…"), size)
		if p.Value == nil {
			t.line("  " + name + "  " + Clean(p.Why))
			continue
		}
		low, high := c.scale()
		full := int(share(*p.Value, low, high)*float64(barWidth) + 0.5)
		t.line(fmt.Sprintf("  %s  %s%s  %s", name, strings.Repeat("█", full), strings.Repeat("·", barWidth-full), c.say(*p.Value)))
	}
}

func (c Chart) say(x float64) string {
	if c.Say == nil {
		return fmt.Sprintf("%.4g", x)
	}
	return c.Say(x)
}

// Columns are counted as most terminals do, whatever the locale says of ambiguous characters.
func widths() *runewidth.Condition { return &runewidth.Condition{} }

func columnsOf(s string) int { return widths().StringWidth(s) }

func fill(s string, width int) string { return widths().FillRight(s, width) }

// wrap breaks a text at spaces into lines of at most width columns; a word that is longer is broken too.
func wrap(s string, width int) []string {
	width = max(width, 20)
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		for columnsOf(word) > width {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := widths().Truncate(word, width, "")
			if head == "" {
				break
			}
			lines, word = append(lines, head), word[len(head):]
		}
		if line != "" && columnsOf(line)+1+columnsOf(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
