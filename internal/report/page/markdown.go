package page

import (
	"bufio"
	"io"
	"strings"
)

// Markdown writes GitHub's dialect.
func (p Page) Markdown(w io.Writer) error {
	out := bufio.NewWriter(w)
	if p.Title != "" {
		out.WriteString("# " + escape(p.Title) + "\n")
	}
	for i, b := range p.Blocks {
		if c, ok := b.(Chart); ok && c.Kind != Bars {
			continue
		}
		if i > 0 || p.Title != "" {
			out.WriteByte('\n')
		}
		writeMarkdown(out, b)
	}
	return out.Flush()
}

func writeMarkdown(out *bufio.Writer, b Block) {
	switch b := b.(type) {
	case Heading:
		out.WriteString(strings.Repeat("#", max(b.Level, 2)) + " " + escape(b.Text) + "\n")
	case Paragraph:
		switch b.Tone {
		case Lead:
			out.WriteString("**" + escape(b.Text) + "**\n")
		case Warning:
			out.WriteString("> **Warning:** " + escape(b.Text) + "\n")
		default:
			out.WriteString(escape(b.Text) + "\n")
		}
	case Facts:
		out.WriteString("| | |\n|---|---|\n")
		for _, f := range b.Facts {
			out.WriteString("| " + escape(f[0]) + " | " + escape(f[1]) + " |\n")
		}
	case List:
		for _, item := range b.Items {
			out.WriteString("- " + escape(item) + "\n")
		}
	case Table:
		markdownTable(out, b)
	case Chart:
		t := Table{Title: b.Title, Columns: []Column{{Name: ""}, {Name: "share", Right: true}}}
		for _, p := range b.Points {
			cell := p.Why
			if p.Value != nil {
				cell = b.say(*p.Value)
			}
			t.Rows = append(t.Rows, Row{Cells: []string{p.Name, cell}})
		}
		markdownTable(out, t)
	}
}

func markdownTable(out *bufio.Writer, b Table) {
	if b.Title != "" {
		out.WriteString("**" + escape(b.Title) + "**\n\n")
	}
	out.WriteByte('|')
	for _, c := range b.Columns {
		out.WriteString(" " + escape(c.Name) + " |")
	}
	out.WriteString("\n|")
	for _, c := range b.Columns {
		if c.Right {
			out.WriteString("---:|")
		} else {
			out.WriteString("---|")
		}
	}
	out.WriteByte('\n')
	for _, r := range b.Rows {
		out.WriteByte('|')
		for c := range b.Columns {
			cell := ""
			if c < len(r.Cells) {
				cell = escape(r.Cells[c])
			}
			if c == 0 {
				cell = strings.Repeat("&nbsp;&nbsp;", r.Indent) + cell
			}
			out.WriteString(" " + cell + " |")
		}
		out.WriteByte('\n')
	}
}

var escapes = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "|", "\\|", "#", "\\#", "~", "\\~", "!", "\\!", "@", "&#64;", "://", ":&#47;&#47;", "&", "&amp;", "www.", "www&#46;")

// escape makes clean text mean itself: no markup, no link and no mention comes of it.
func escape(s string) string { return escapes.Replace(Clean(s)) }
