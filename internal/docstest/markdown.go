package docstest

import "strings"

// block is a fenced block of a Markdown page.
type block struct {
	language string
	line     int // of its first line of text
	lines    []string
}

// page is what the tests look at in a Markdown file.
type page struct {
	blocks []block
	code   []string // texts in single backticks outside of blocks
	links  []string // targets of links
}

func parse(text string) page {
	var p page
	var open *block
	for i, line := range strings.Split(text, "\n") {
		if fence, language, ok := fenceOf(line); ok {
			if open == nil {
				open = &block{language: language, line: i + 2}
			} else if fence {
				p.blocks = append(p.blocks, *open)
				open = nil
			}
			continue
		}
		if open != nil {
			open.lines = append(open.lines, line)
			continue
		}
		p.code = append(p.code, between(line, "`", "`")...)
		p.links = append(p.links, between(line, "](", ")")...)
	}
	return p
}

func fenceOf(line string) (closes bool, language string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "```")
	return ok && rest == "", rest, ok
}

// between returns what stands between each pair of marks on a line.
func between(line, from, to string) (out []string) {
	for {
		_, rest, ok := strings.Cut(line, from)
		if !ok {
			return out
		}
		text, rest, ok := strings.Cut(rest, to)
		if !ok {
			return out
		}
		out = append(out, text)
		line = rest
	}
}
