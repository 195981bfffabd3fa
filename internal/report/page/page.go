// Package page is a document of headings, paragraphs, facts, tables and charts, written for a terminal, as Markdown
// and as one HTML file that stands alone.
//
// It owns how those look. It refuses to know what they are about. Its invariant: no text of others leaves it raw: no
// control character reaches a terminal, no markup a page.
package page

import "io"

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

// Paragraph is prose. Tone of it is "", "lead" (what is said first), "note" or "warning".
type Paragraph struct {
	Text string
	Tone string
}

// Facts are names and what they are, one a line.
type Facts struct{ Facts [][2]string }

// List is a list of texts.
type List struct{ Items []string }

// Table has a head and rows. On a narrow terminal columns of the highest Weight go first.
type Table struct {
	Title   string
	Columns []Column
	Rows    []Row
}

// Column of a table.
type Column struct {
	Name   string
	Right  bool // numbers
	Weight int  // 0: always shown
}

// Row of a table: a cell for each column. Indent is how deep its first cell stands. Mark, where given, is drawn
// beside it as a small interval chart.
type Row struct {
	Cells  []string
	Indent int
	Mark   *Mark
}

// Mark is a value and its interval on the table's common scale from 0 to 1, or from Chart's Low to High.
type Mark struct {
	Value     float64
	Low, High *float64
}

// Chart is values with intervals over names, as dots and whiskers, or bars of shares.
type Chart struct {
	Title  string
	Kind   string // interval or bar
	Unit   string // percent or ""
	Low    float64
	High   float64
	Zero   bool // a line at 0
	Points []Point
}

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

// Text writes for a terminal of so many columns; 0 is 100.
func (p Page) Text(w io.Writer, columns int) error { return nil }

// Markdown writes GitHub's dialect.
func (p Page) Markdown(w io.Writer) error { return nil }

// HTML writes one file that loads nothing: its style is inside, its charts are SVG, and it has no script.
func (p Page) HTML(w io.Writer) error { return nil }
