// Package page is a document of headings, paragraphs, facts, tables and charts, written for a terminal, as Markdown
// and as one HTML file that stands alone.
//
// It owns how those look. It refuses to know what they are about. Its invariant: no text of others leaves it raw: no
// control character reaches a terminal, no markup a page.
package page

// Page is a document.
type Page struct {
	Title  string
	Blocks []Block
}

// Block is a Heading, Paragraph, Facts, Table, Chart or List.
type Block interface{ block() }

// Heading begins a part; Level is 2 or 3.
type Heading struct {
	Level int
	Text  string
}

// Paragraph is prose.
type Paragraph struct {
	Text string
	Tone Tone
}

// Tone says how much a paragraph matters.
type Tone string

const (
	Plain   Tone = ""
	Lead    Tone = "lead" // what is said first
	Note    Tone = "note"
	Warning Tone = "warning"
)

// Facts are names and what they are, one a line.
type Facts struct{ Facts [][2]string }

// List is a list of texts.
type List struct{ Items []string }

// Table has a head and rows. On a narrow terminal columns of the highest Weight go first. Marks lie on one scale
// from Low to High, 0 to 1 where both are 0; Zero draws a line at 0. A cell that begins with "absent: " says why it
// has no number; where that is too wide for a terminal it stands below the table.
type Table struct {
	Title     string
	Columns   []Column
	Rows      []Row
	Low, High float64
	Zero      bool
	Say       func(float64) string // how the ends of the scale are written; nil: they are not
	Marks     string               // what the marks show, for those who cannot see them
}

// Column of a table.
type Column struct {
	Name   string
	Right  bool // numbers
	Weight int  // 0: always shown
}

// Row of a table: a cell for each column. Indent is how deep its first cell stands. Mark, where given, is drawn
// behind the first cell as a small interval chart.
type Row struct {
	Cells  []string
	Indent int
	Mark   *Mark
}

// Mark is a value and its interval on the table's scale.
type Mark struct {
	Value     float64
	Low, High *float64
}

// Chart is values with intervals over names, as dots and whiskers, or bars of shares. A terminal and Markdown show
// bars only: intervals stand in tables there.
type Chart struct {
	Title     string
	Kind      ChartKind
	Say       func(float64) string // how a value is written
	Low, High float64              // of the axis
	Points    []Point
}

// ChartKind says how a chart is drawn.
type ChartKind string

const (
	Intervals ChartKind = "interval"
	Bars      ChartKind = "bar"
)

// Point of a chart.
type Point struct {
	Name      string
	Value     *float64 // nil: none, Why says why
	Low, High *float64
	Why       string
}

func (Heading) block()   {}
func (Paragraph) block() {}
func (Facts) block()     {}
func (List) block()      {}
func (Table) block()     {}
func (Chart) block()     {}
