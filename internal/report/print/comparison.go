package print

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/report/compare"
	"assay/internal/report/number"
	"assay/internal/report/page"
)

// Comparison writes a comparison, with the flips that are given (a page of them).
func Comparison(w io.Writer, f Format, c compare.Comparison, flips []compare.Flip, columns int) error {
	switch f {
	case JSON:
		return writeJSON(w, struct {
			compare.Comparison
			Flips []compare.Flip `json:"flips,omitempty"`
		}{c, flips})
	case CSV:
		return comparisonCSV(w, c)
	case JUnit:
		return junit(w, "assay compare "+c.A.Run.String()+" "+c.B.Run.String(), "compared", c.Headline, c.Gates)
	}
	return write(w, f, comparisonPage(c, flips), columns)
}

func comparisonPage(c compare.Comparison, flips []compare.Flip) page.Page {
	p := page.Page{Title: fmt.Sprintf("%s against %s", c.A.Run, c.B.Run)}
	add := func(blocks ...page.Block) { p.Blocks = append(p.Blocks, blocks...) }
	add(page.Paragraph{Text: c.Headline, Tone: page.Lead})
	for _, warning := range comparisonWarnings(c) {
		add(page.Paragraph{Text: warning, Tone: page.Warning})
	}
	differs := page.List{}
	for _, d := range c.Differs {
		differs.Items = append(differs.Items, d.Words)
	}
	add(page.Heading{Level: 2, Text: "What differs"}, differs, sideTable(c))
	add(page.Heading{Level: 2, Text: "What moved"}, dropTable(c))
	if len(c.Gates) > 0 {
		add(page.Heading{Level: 3, Text: "Gates"}, gateList(c.Gates))
	}
	for i, k := range c.Criteria {
		if k.Kind != "share" && (i == 0 || !same(k, c.Criteria[0])) { // of each value in parts there would be too many
			add(partBlocks(k)...)
		}
	}
	add(pairingBlocks(c)...)
	add(flipBlocks(c, flips)...)
	add(page.Heading{Level: 2, Text: "How to read this"})
	for _, n := range append(slices.Clone(c.Notes), legendDrop) {
		add(page.Paragraph{Text: n, Tone: page.Note})
	}
	return p
}

const legendDrop = "bounds: the drop if everything missing were best for B, and if it were worst; they say nothing of chance. q: of what is shown beside the primary comparison, the share of false ones among those at least as clear; * below 0.1, with a wider interval for having been picked."

func comparisonWarnings(c compare.Comparison) (out []string) {
	for _, s := range [...]struct {
		name string
		side compare.Side
	}{{"A", c.A}, {"B", c.B}} {
		if !s.side.Covers.Complete {
			out = append(out, fmt.Sprintf("%s (%s) has not ended: only its first %s of %s items are compared.", s.name, s.side.Run, number.Whole(s.side.Covers.Through), number.Whole(s.side.Covers.Of)))
		}
		if s.side.Partial {
			out = append(out, fmt.Sprintf("%s (%s) is partial: it was ended early.", s.name, s.side.Run))
		}
		if s.side.Covers.Complete && s.side.Coverage != nil && *s.side.Coverage < 0.95 {
			out = append(out, fmt.Sprintf("%s (%s) answered only %s of its sample (weighted). What is missing is seldom like the rest; look at the bounds.", s.name, s.side.Run, number.Percent(*s.side.Coverage)))
		}
	}
	return out
}

func sideTable(c compare.Comparison) page.Table {
	t := page.Table{Columns: []page.Column{{Name: ""}, {Name: "run"}, {Name: "judge"}, {Name: "version"}, {Name: "agent"}, {Name: "sampled", Right: true}, {Name: "graded", Right: true}, {Name: "coverage", Right: true}}}
	for _, s := range [...]struct {
		name string
		side compare.Side
	}{{"A", c.A}, {"B", c.B}} {
		agents := s.side.AgentVersions
		if len(agents) > 3 {
			agents = append(slices.Clone(agents[:3]), fmt.Sprintf("and %d more", len(s.side.AgentVersions)-3))
		}
		t.Rows = append(t.Rows, page.Row{Cells: []string{s.name, s.side.Run.String(), s.side.Judge, shortHash(s.side.Version), strings.Join(agents, ", "),
			number.Whole(s.side.Sampled), number.Whole(s.side.Graded), coverageOf(s.side.Coverage)}})
	}
	return t
}

// dropTable has a row for each number that is on both sides.
func dropTable(c compare.Comparison) page.Table {
	t := page.Table{Zero: true, Marks: "drop and interval", Columns: []page.Column{
		{Name: ""}, {Name: "A", Right: true}, {Name: "B", Right: true}, {Name: "drop", Right: true}, {Name: "interval", Right: true}, {Name: "P", Right: true, Weight: 3},
		{Name: "q", Right: true, Weight: 4}, {Name: "pairs", Right: true}, {Name: "coverage", Right: true, Weight: 2}, {Name: "bounds", Right: true, Weight: 2},
	}}
	scale := newScale()
	for _, k := range c.Criteria {
		mean := k.Kind == "mean"
		name := k.Name
		if k.Value != "" {
			name += " " + k.Value
		}
		t.Rows = append(t.Rows, dropRow(name, k.Drop, mean, 0, cellOf(k.A, mean), cellOf(k.B, mean), pairsOf(k), coverageOf(k.A.Coverage)))
		if !mean {
			scale.see(k.Drop)
		}
	}
	for i, k := range c.Criteria {
		if k.Kind == "mean" {
			t.Rows[i].Mark = nil // another scale
		}
	}
	t.Low, t.High = scale.ends()
	return t
}

func pairsOf(k compare.Criterion) string {
	if k.Pairs == 0 {
		return "-"
	}
	return number.Whole(k.Pairs)
}

func dropRow(name string, d number.Difference, mean bool, indent int, a, b, pairs, coverage string) page.Row {
	value, interval := differenceCells(d, mean)
	if d.Marked {
		name += " *"
	}
	q := pOf(d.Q)
	if d.Primary {
		q = "primary"
	}
	end := number.Points
	if mean {
		end = number.Plain
	}
	return page.Row{Cells: []string{name, a, b, value, interval, pOf(d.P), q, pairs, coverage, worstOf(d.Low, d.High, end)}, Indent: indent, Mark: differenceMark(d)}
}

// scale is what marks around 0 need to be seen.
type scale struct{ widest float64 }

func newScale() *scale { return &scale{widest: 0.01} }

func (s *scale) see(d number.Difference) {
	for _, x := range [...]*float64{d.Value} {
		if x != nil {
			s.widest = max(s.widest, *x, -*x)
		}
	}
	if d.Interval != nil {
		s.widest = max(s.widest, d.Interval.High, -d.Interval.Low)
	}
}

func (s *scale) ends() (low, high float64) { return -s.widest, s.widest }

// same says that a question's numbers are those of pass: it is the judge's only one.
func same(k, pass compare.Criterion) bool {
	return k.Table != nil && pass.Table != nil && *k.Table == *pass.Table && k.Drop.Value != nil && pass.Drop.Value != nil && *k.Drop.Value == *pass.Drop.Value
}

// partBlocks are the drops of arms and strata.
func partBlocks(k compare.Criterion) (out []page.Block) {
	for _, by := range [...]struct {
		title string
		parts []compare.DropPart
	}{{"by arm", k.Arms}, {"by day and arm", k.Strata}} {
		if len(by.parts) == 0 {
			continue
		}
		t := page.Table{Title: k.Name + " " + by.title + " (exploratory)", Zero: true, Columns: []page.Column{
			{Name: ""}, {Name: "drop", Right: true}, {Name: "interval", Right: true}, {Name: "P", Right: true, Weight: 1}, {Name: "q", Right: true, Weight: 2},
			{Name: "pairs", Right: true}, {Name: "regressed", Right: true, Weight: 1}, {Name: "fixed", Right: true, Weight: 1},
		}}
		scale := newScale()
		for _, p := range by.parts {
			value, interval := differenceCells(p.Drop, false)
			name := p.Name
			if p.Drop.Marked {
				name += " *"
			}
			regressed, fixed := "-", "-"
			if p.Table != nil {
				regressed, fixed = number.Whole(p.Table.Regressed), number.Whole(p.Table.Fixed)
			}
			t.Rows = append(t.Rows, page.Row{Cells: []string{name, value, interval, pOf(p.Drop.P), pOf(p.Drop.Q), number.Whole(p.Pairs), regressed, fixed}, Mark: differenceMark(p.Drop)})
			scale.see(p.Drop)
		}
		t.Low, t.High = scale.ends()
		out = append(out, t)
	}
	return out
}

func pairingBlocks(c compare.Comparison) []page.Block {
	how := map[compare.Key]string{
		compare.BySession: "by session: the same content on both sides",
		compare.ByCase:    "by case: each trial of A against the mean of B's trials of its case",
		compare.ByNone:    "not at all: two weighted samples",
	}[c.Pairing.Key]
	if c.Pairing.Why != "" {
		how += " (" + c.Pairing.Why + ")"
	}
	facts := page.Facts{Facts: [][2]string{{"paired", how}}}
	if c.Pairing.Key != compare.ByNone {
		unit := "session"
		if c.Pairing.Key == compare.ByCase {
			unit = "case"
		}
		facts.Facts = append(facts.Facts, [2]string{"pairs", plural(c.Pairing.Pairs, unit)})
	}
	out := []page.Block{page.Heading{Level: 2, Text: "What is compared"}, facts}
	if len(c.Pairing.LeftOut) > 0 {
		list := page.List{}
		for _, l := range c.Pairing.LeftOut {
			list.Items = append(list.Items, l.Words)
		}
		out = append(out, page.Paragraph{Text: "Left out:"}, list)
	}
	for _, k := range c.Criteria {
		if k.Name == assay.CriterionPass && k.McNemar != nil {
			out = append(out, page.Paragraph{Text: fmt.Sprintf("Every pair weighs the same, so McNemar's exact test applies too: P %s.", pOf(k.McNemar)), Tone: page.Note})
		}
	}
	return out
}

func flipBlocks(c compare.Comparison, flips []compare.Flip) (out []page.Block) {
	for _, k := range c.Criteria {
		if k.Noise != nil && k.Noise.Words != "" && k.Name == assay.CriterionPass {
			out = append(out, page.Paragraph{Text: k.Noise.Words})
		}
	}
	if len(flips) == 0 {
		if out == nil {
			return nil
		}
		return append([]page.Block{page.Heading{Level: 2, Text: "Flips"}}, out...)
	}
	out = append([]page.Block{page.Heading{Level: 2, Text: "Flips"}}, out...)
	for _, kind := range [...]compare.FlipKind{compare.Regressed, compare.Fixed} {
		list := page.List{}
		for _, f := range flips {
			if f.Kind == kind {
				list.Items = append(list.Items, flipText(f))
			}
		}
		if list.Items != nil {
			out = append(out, page.Paragraph{Text: fmt.Sprintf("%s (%d shown)", kind, len(list.Items))}, list)
		}
	}
	return out
}

func flipText(f compare.Flip) string {
	name := f.A.Session
	if f.B.Session != f.A.Session {
		name += " against " + f.B.Session
	}
	text := fmt.Sprintf("%s: A %s", name, f.A.Value)
	if f.A.Reason != "" {
		text += " (" + f.A.Reason + ")"
	}
	text += "; B " + f.B.Value
	if f.B.Reason != "" {
		text += " (" + f.B.Reason + ")"
	}
	return text + fmt.Sprintf(". Items %s/%d and %s/%d.", f.A.Run, f.A.Seq, f.B.Run, f.B.Seq)
}

func comparisonCSV(w io.Writer, c compare.Comparison) error {
	s := newSheet(w, append([]string{"a", "b", "criterion", "kind", "value", "by", "part", "what", "p", "q", "pairs", "regressed", "fixed"}, numberHead...)...)
	for _, k := range c.Criteria {
		row := func(by, part, what string, p, q *float64, pairs int64, t *compare.Table, cells []string) {
			regressed, fixed := "", ""
			if t != nil {
				regressed, fixed = fmt.Sprint(t.Regressed), fmt.Sprint(t.Fixed)
			}
			s.row(append([]string{c.A.Run.String(), c.B.Run.String(), plainText(k.Name), k.Kind, plainText(k.Value), by, plainText(part), what, figure(p), figure(q), fmt.Sprint(pairs), regressed, fixed}, cells...)...)
		}
		row("all", "", "a", nil, nil, k.Pairs, nil, numberCells(k.A))
		row("all", "", "b", nil, nil, k.Pairs, nil, numberCells(k.B))
		row("all", "", "drop", k.Drop.P, k.Drop.Q, k.Pairs, k.Table, differenceFigures(k.Drop))
		for _, p := range k.Arms {
			row("arm", p.Name, "drop", p.Drop.P, p.Drop.Q, p.Pairs, p.Table, differenceFigures(p.Drop))
		}
		for _, p := range k.Strata {
			row("stratum", p.Name, "drop", p.Drop.P, p.Drop.Q, p.Pairs, p.Table, differenceFigures(p.Drop))
		}
	}
	return s.end()
}
