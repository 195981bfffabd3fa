package print

import (
	"fmt"
	"io"
	"strings"

	"assay/internal/report/check"
	"assay/internal/report/number"
	"assay/internal/report/page"
)

// Check writes a check.
func Check(w io.Writer, f Format, c check.Check, columns int) error {
	switch f {
	case JSON:
		return writeJSON(w, c)
	case CSV:
		return checkCSV(w, c)
	case JUnit:
		return unknown(f, "a check")
	}
	return write(w, f, checkPage(c), columns)
}

func checkPage(c check.Check) page.Page {
	p := page.Page{Title: fmt.Sprintf("Judge %s on %s, by labels", c.Judge, c.Criterion)}
	add := func(blocks ...page.Block) { p.Blocks = append(p.Blocks, blocks...) }
	add(page.Paragraph{Text: c.Headline, Tone: page.Lead})
	facts := page.Facts{Facts: [][2]string{{"judge", fmt.Sprintf("%s, version %s", c.Judge, shortHash(c.Version))}, {"run", fmt.Sprintf("%s, whose verdicts are checked", c.Run)}}}
	if c.Question != "" {
		facts.Facts = append(facts.Facts, [2]string{"question", c.Question})
	}
	if c.Labels.Design != "" {
		facts.Facts = append(facts.Facts, [2]string{"labels", c.Labels.Design})
	}
	if len(c.Raters.Names) > 0 {
		facts.Facts = append(facts.Facts, [2]string{"raters", strings.Join(c.Raters.Names, ", ")})
	}
	add(facts)
	if c.Confusion != nil {
		add(confusionBlocks(c)...)
	}
	if c.Scale != nil {
		add(scaleBlocks(c)...)
	}
	if c.Rates != nil {
		add(page.Heading{Level: 2, Text: "What the judge says, and what labels make of it"}, rateTable(c))
	}
	add(sliceTables(c)...)
	add(raterBlocks(c)...)
	add(disagreeBlocks(c)...)
	add(page.Heading{Level: 2, Text: "How to read this"})
	for _, n := range append([]string{}, c.Notes...) {
		add(page.Paragraph{Text: n, Tone: page.Note})
	}
	add(page.Paragraph{Text: "Shares are weighted by the chance of each label; n are labels. Positive is yes, or pass. Sensitivity: of those that truly pass the share that the judge passes. Specificity: of those that truly fail the share that it fails. PPV: of those that it passes the share that truly does. NPV: of those that it fails the share that truly does. Kappa and MCC are 0 where the judge knows nothing and 1 where it is always right.", Tone: page.Note})
	return p
}

var shareColumns = []page.Column{{Name: ""}, {Name: "value", Right: true}, {Name: "interval", Right: true}, {Name: "n", Right: true}}

func shareRow(name string, n number.Number, mean bool) page.Row {
	return page.Row{Cells: []string{name, cellOf(n, mean), intervalOf(n, mean), number.Whole(n.Sampled)}, Mark: markOf(n)}
}

func confusionBlocks(c check.Check) []page.Block {
	k := c.Confusion
	counts := page.Table{Title: "Labels, as counted", Columns: []page.Column{{Name: ""}, {Name: "label: yes", Right: true}, {Name: "label: no", Right: true}}, Rows: []page.Row{
		{Cells: []string{"judge: yes", number.Whole(k.TP), number.Whole(k.FP)}}, {Cells: []string{"judge: no", number.Whole(k.FN), number.Whole(k.TN)}},
	}}
	t := page.Table{Title: "Agreement", Columns: shareColumns}
	for _, row := range [...]struct {
		name string
		n    number.Number
	}{{"agreement", k.Accuracy}, {"sensitivity", k.Sensitivity}, {"specificity", k.Specificity}, {"PPV", k.PPV}, {"NPV", k.NPV}, {"balanced accuracy", k.Balanced}, {"F1", k.F1}} {
		t.Rows = append(t.Rows, shareRow(row.name, row.n, false))
	}
	beyond := page.Table{Title: "Agreement beyond chance", Columns: shareColumns, Low: -1, High: 1, Zero: true, Rows: []page.Row{shareRow("kappa", k.Kappa, true), shareRow("MCC", k.MCC, true)}}
	return []page.Block{page.Heading{Level: 2, Text: "Judge against labels"}, counts, t, beyond}
}

func scaleBlocks(c check.Check) []page.Block {
	s := c.Scale
	out := []page.Block{page.Heading{Level: 2, Text: "Judge against labels"}}
	if len(s.Values) > 0 && len(s.Values) <= 12 {
		t := page.Table{Title: "Labels, as counted: rows are the judge's, columns the labels'", Columns: []page.Column{{Name: ""}}}
		for _, v := range s.Values {
			t.Columns = append(t.Columns, page.Column{Name: v, Right: true})
		}
		for i, v := range s.Values {
			row := page.Row{Cells: []string{v}}
			for _, n := range s.Table[i] {
				row.Cells = append(row.Cells, number.Whole(n))
			}
			t.Rows = append(t.Rows, row)
		}
		out = append(out, t)
	}
	t := page.Table{Columns: shareColumns, Rows: []page.Row{shareRow("the same answer", s.Exact, false)}}
	if len(s.Values) > 0 {
		name := "kappa"
		if s.Weights != "" {
			name += ", " + s.Weights + " weights"
		}
		row := shareRow(name, s.Kappa, true)
		row.Mark = nil
		t.Rows = append(t.Rows, row)
	} else {
		row := shareRow("mean error, judge less label", s.MeanError, true)
		row.Mark = nil
		t.Rows = append(t.Rows, row)
	}
	return append(out, t)
}

func rateTable(c check.Check) page.Table {
	mean := c.Confusion == nil
	t := page.Table{Columns: []page.Column{{Name: ""}, {Name: "value", Right: true}, {Name: "interval", Right: true}, {Name: "n", Right: true}, {Name: "coverage", Right: true, Weight: 1}, {Name: "method", Weight: 2}}}
	row := func(name string, n number.Number) {
		method := ""
		if n.Interval != nil {
			method = string(n.Interval.Method)
		}
		r := page.Row{Cells: []string{name, cellOf(n, mean), intervalOf(n, mean), number.Whole(n.Answered), coverageOf(n.Coverage), method}}
		if !mean {
			r.Mark = markOf(n)
		}
		t.Rows = append(t.Rows, r)
	}
	row("the judge says", c.Rates.Raw)
	row("corrected by labels", c.Rates.Corrected)
	if c.Rates.Transported.Answered > 0 || c.Rates.Transported.Value != nil {
		row("by its errors elsewhere (transported)", c.Rates.Transported)
	}
	return t
}

func sliceTables(c check.Check) (out []page.Block) {
	if len(c.Slices) == 0 {
		return nil
	}
	t := page.Table{Columns: []page.Column{{Name: ""}, {Name: "agreement", Right: true}, {Name: "interval", Right: true}, {Name: "labels", Right: true}}}
	if c.Confusion != nil {
		t.Columns = append(t.Columns, page.Column{Name: "judge too kind", Right: true, Weight: 1}, page.Column{Name: "too harsh", Right: true, Weight: 1})
	}
	for _, s := range c.Slices {
		cells := []string{s.By + " " + s.Name, cellOf(s.Agreement, false), intervalOf(s.Agreement, false), number.Whole(s.Labels)}
		if c.Confusion != nil {
			cells = append(cells, number.Whole(s.Missed), number.Whole(s.Harsh))
		}
		t.Rows = append(t.Rows, page.Row{Cells: cells, Mark: markOf(s.Agreement)})
	}
	return []page.Block{page.Heading{Level: 2, Text: "Where it agrees"}, t}
}

func raterBlocks(c check.Check) (out []page.Block) {
	if c.Raters.Both == 0 {
		return nil
	}
	text := fmt.Sprintf("%s have two raters or more. Krippendorff's alpha: %s.", plural(c.Raters.Both, "session"), numberText(c.Raters.Alpha))
	out = append(out, page.Heading{Level: 2, Text: "How far people agree"}, page.Paragraph{Text: text})
	if len(c.Raters.Pairs) > 0 {
		t := page.Table{Columns: []page.Column{{Name: ""}, {Name: "kappa", Right: true}, {Name: "interval", Right: true}, {Name: "sessions", Right: true}}, Low: -1, High: 1, Zero: true}
		for _, p := range c.Raters.Pairs {
			t.Rows = append(t.Rows, page.Row{Cells: []string{p.A + " and " + p.B, cellOf(p.Kappa, true), intervalOf(p.Kappa, true), number.Whole(p.N)}, Mark: markOf(p.Kappa)})
		}
		out = append(out, t)
	}
	return out
}

// numberText is a plain number with its interval in a sentence.
func numberText(n number.Number) string {
	interval := intervalOf(n, true)
	if interval == "" {
		return cellOf(n, true)
	}
	return cellOf(n, true) + " (" + interval + ")"
}

func disagreeBlocks(c check.Check) (out []page.Block) {
	if c.Disputed == 0 {
		return nil
	}
	list := page.List{}
	for _, d := range c.Disagree {
		text := fmt.Sprintf("%s: judge %s, label %s", d.Session, d.Judge, d.Label)
		if len(d.Raters) > 0 {
			text += " (" + strings.Join(d.Raters, ", ") + ")"
		}
		if d.Reason != "" {
			text += ": " + d.Reason
		}
		if d.Use != "measure" {
			text += " [" + d.Use + "]"
		}
		list.Items = append(list.Items, text)
	}
	title := fmt.Sprintf("%s disputed", plural(c.Disputed, "session"))
	if int64(len(list.Items)) < c.Disputed {
		title += fmt.Sprintf(", the first %d", len(list.Items))
	}
	return []page.Block{page.Heading{Level: 2, Text: title}, list}
}

func checkCSV(w io.Writer, c check.Check) error {
	s := newSheet(w, append([]string{"judge", "judge_version", "run", "criterion", "what", "by", "part"}, numberHead...)...)
	row := func(what, by, part string, n number.Number) {
		s.row(append([]string{plainText(c.Judge), string(c.Version), c.Run.String(), plainText(c.Criterion), what, by, plainText(part)}, numberCells(n)...)...)
	}
	if k := c.Confusion; k != nil {
		row("agreement", "", "", k.Accuracy)
		row("sensitivity", "", "", k.Sensitivity)
		row("specificity", "", "", k.Specificity)
		row("ppv", "", "", k.PPV)
		row("npv", "", "", k.NPV)
		row("balanced_accuracy", "", "", k.Balanced)
		row("f1", "", "", k.F1)
		row("mcc", "", "", k.MCC)
		row("kappa", "", "", k.Kappa)
	}
	if k := c.Scale; k != nil {
		row("agreement", "", "", k.Exact)
		row("kappa", "", "", k.Kappa)
		row("mean_error", "", "", k.MeanError)
	}
	if r := c.Rates; r != nil {
		row("raw", "", "", r.Raw)
		row("corrected", "", "", r.Corrected)
		row("transported", "", "", r.Transported)
	}
	row("alpha", "", "", c.Raters.Alpha)
	for _, x := range c.Slices {
		row("agreement", x.By, x.Name, x.Agreement)
	}
	return s.end()
}
