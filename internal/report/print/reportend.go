package print

import (
	"fmt"
	"slices"
	"time"

	"assay/internal/assay"
	"assay/internal/report"
	"assay/internal/report/extract"
	"assay/internal/report/gate"
	"assay/internal/report/number"
	"assay/internal/report/page"
)

// failBlocks are what failing answers said: of pass with examples, and of each question that says something else.
func failBlocks(j report.Judge) (out []page.Block) {
	types := page.Table{Columns: []page.Column{{Name: ""}, {Name: "sessions", Right: true}}}
	for _, f := range j.Fails {
		if f.N > 0 {
			name := "fail"
			if f.Criterion != assay.CriterionPass {
				name = "no to " + f.Criterion
			}
			types.Rows = append(types.Rows, page.Row{Cells: []string{name, number.Whole(f.N)}})
		}
	}
	if len(types.Rows) == 0 {
		return nil
	}
	out = append(out, page.Heading{Level: 3, Text: "What the fails say"})
	if len(types.Rows) > 2 {
		out = append(out, types)
	}
	f := j.Fails[0] // of pass
	out = append(out, reasonBlocks("Reasons that come again:", f)...)
	for _, other := range j.Fails {
		if other.Criterion != f.Criterion && !slices.Equal(other.Reasons, f.Reasons) {
			out = append(out, reasonBlocks("Reasons of no to "+other.Criterion+":", other)...)
		}
	}
	var examples []string
	for _, x := range f.Examples {
		text := x.Session
		if x.Reason != "" {
			text += ": " + x.Reason
		}
		examples = append(examples, text)
	}
	if examples != nil {
		out = append(out, page.Paragraph{Text: fmt.Sprintf("%d of %s, drawn at random:", len(examples), plural(f.N, "fail"))}, page.List{Items: examples})
	}
	return out
}

func reasonBlocks(title string, f report.Fails) []page.Block {
	var l page.List
	for _, r := range f.Reasons {
		l.Items = append(l.Items, fmt.Sprintf("%s: %s", number.Whole(r.N), r.Text))
	}
	if l.Items == nil {
		return nil
	}
	return []page.Block{page.Paragraph{Text: title}, l}
}

func callFacts(c extract.Calls) (f page.Facts) {
	for _, t := range [...]struct {
		name  string
		times extract.Times
	}{{"queue", c.Queue}, {"backoff", c.Backoff}, {"permit", c.Permit}, {"call", c.Call}} {
		if t.times.N > 0 && (t.times.Most > 0 || t.name == "call") {
			f.Facts = append(f.Facts, [2]string{t.name, fmt.Sprintf("median %s, 95 %% within %s, longest %s (%s)",
				took(t.times.P50), took(t.times.P95), took(t.times.Most), plural(t.times.N, "call"))})
		}
	}
	if len(f.Facts) > 0 && c.Failed > 0 {
		f.Facts = append(f.Facts, [2]string{"failed", plural(c.Failed, "call") + " brought no verdict"})
	}
	return f
}

func took(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

func gateList(list []gate.Outcome) page.List {
	var l page.List
	for _, o := range list {
		l.Items = append(l.Items, o.Text+": "+o.Sentence)
	}
	return l
}
