package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed page.css
var style string

//go:embed page.html
var source string

var document = template.Must(template.New("page").Funcs(template.FuncMap{
	"kind":  kind,
	"clean": Clean,
	"cell":  func(r Row, i int) string { return at(r.Cells, i) },
	"depth": func(r Row) template.CSS {
		return template.CSS(fmt.Sprintf("padding-left:%.1fem", 0.6+1.2*float64(r.Indent)))
	},
	"class": func(c Column, r Row, i int) string {
		var names []string
		if c.Right {
			names = append(names, "n")
		}
		if i < len(r.Cells) && absent(r.Cells[i]) {
			names = append(names, "absent")
		}
		return strings.Join(names, " ")
	},
	"ends":    ends,
	"mark":    mark,
	"hasMark": hasMark,
	"plot":    plot,
	"style":   func() template.CSS { return template.CSS(style) },
}).Parse(source))

// HTML writes one file that loads nothing: its style is inside, its charts are SVG, and it has no script.
func (p Page) HTML(w io.Writer) error { return document.Execute(w, p) }

func kind(b Block) string {
	switch b := b.(type) {
	case Heading:
		if b.Level <= 2 {
			return "h2"
		}
		return "h3"
	case Paragraph:
		return "paragraph"
	case Facts:
		return "facts"
	case List:
		return "list"
	case Table:
		return "table"
	}
	return "chart"
}

func at(cells []string, i int) string {
	if i >= len(cells) {
		return ""
	}
	return Clean(cells[i])
}

func hasMark(t Table) bool {
	for _, r := range t.Rows {
		if r.Mark != nil {
			return true
		}
	}
	return false
}
