package print

import (
	"fmt"
	"time"

	"assay/internal/report"
	"assay/internal/report/extract"
	"assay/internal/report/gate"
	"assay/internal/report/number"
	"assay/internal/report/page"
)

// failBlocks are what the sessions that failed the judge's rule have in common, and some of them. A question that is
// answered with no is no fail by itself.
func failBlocks(j report.Judge) (out []page.Block) {
	if len(j.Fails) == 0 || j.Fails[0].N == 0 {
		return nil
	}
	f := j.Fails[0]
	out = append(out, page.Heading{Level: 3, Text: "What the " + plural(f.N, "fail") + " say"})
	if len(f.Types) > 1 {
		t := page.Table{Title: "Answers of failing sessions", Columns: []page.Column{{Name: ""}, {Name: "sessions", Right: true}, {Name: "of the fails", Right: true}}}
		for _, x := range f.Types {
			t.Rows = append(t.Rows, page.Row{Cells: []string{x.Text, number.Whole(x.N), number.Percent(float64(x.N) / float64(f.N))}})
		}
		out = append(out, t)
	}
	var reasons, examples page.List
	for _, r := range f.Reasons {
		reasons.Items = append(reasons.Items, fmt.Sprintf("%s: %s", number.Whole(r.N), r.Text))
	}
	if reasons.Items != nil {
		out = append(out, page.Paragraph{Text: "Reasons that come again:"}, reasons)
	}
	for _, x := range f.Examples {
		text := x.Session
		if x.Reason != "" {
			text += ": " + x.Reason
		}
		examples.Items = append(examples.Items, text)
	}
	if examples.Items != nil {
		out = append(out, page.Paragraph{Text: fmt.Sprintf("%d of them, drawn at random:", len(examples.Items))}, examples)
	}
	return out
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
