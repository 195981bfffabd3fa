package print

import (
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"assay/internal/report/number"
	"assay/internal/report/page"
	"assay/internal/report/propose"
	"assay/internal/stats"
)

// Proposals writes proposals; as text only.
func Proposals(w io.Writer, p propose.Proposals, columns int) error {
	out := page.Page{Blocks: []page.Block{page.Paragraph{Text: proposalsLead(p)}, proposalTable(p)}}
	if words := refusals(p); len(words) > 0 {
		out.Blocks = append(out.Blocks, page.List{Items: words})
	}
	for _, note := range p.Notes {
		out.Blocks = append(out.Blocks, page.Paragraph{Text: note, Tone: "note"})
	}
	return out.Text(w, columns)
}

func proposalsLead(p propose.Proposals) string {
	target := "of exactly these sessions (window)"
	if p.Target == stats.Process {
		target = "of what the agent does on traffic like this (process)"
	}
	asked := fmt.Sprintf("For a margin of %s", pointsOf(p.Margin))
	if p.Budget != nil {
		asked = "For USD " + p.Budget.String()
	}
	return fmt.Sprintf("%s: the %s %% interval of the pass rate %s. %s is expected, %s.",
		asked, humanize.Ftoa(100*p.Confidence), target, number.Percent(p.Expected), p.Basis)
}

func proposalTable(p propose.Proposals) page.Table {
	t := page.Table{Columns: []page.Column{{Name: "split"}, {Name: "sessions", Right: true}, {Name: "of each day and arm", Weight: 1},
		{Name: "expected interval"}, {Name: "margin", Right: true}, {Name: "cost", Right: true}}}
	for _, one := range p.Proposals {
		name := string(one.Split)
		if one.Split == p.Chosen {
			name += " *"
		}
		row := page.Row{Cells: []string{name, "absent: " + number.Why(one.Absent), "", "", "", ""}}
		if one.Offered() {
			row.Cells = []string{name, humanize.Comma(one.Sessions), sizesOf(one), expectedOf(one), marginOf(one), one.CostWords()}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func sizesOf(p propose.Proposal) string {
	if p.Cap > 0 {
		return "at most " + humanize.Comma(p.Cap)
	}
	least, most := p.Sizes[0].N, p.Sizes[0].N
	for _, z := range p.Sizes {
		least, most = min(least, z.N), max(most, z.N)
	}
	if least == most {
		return humanize.Comma(least)
	}
	return humanize.Comma(least) + " to " + humanize.Comma(most)
}

func expectedOf(p propose.Proposal) string {
	if p.Interval == nil {
		return "absent: " + number.Why(p.Absent)
	}
	return number.Percent(p.Interval.Low) + " to " + number.Percent(p.Interval.High)
}

func marginOf(p propose.Proposal) string {
	if p.Margin == nil {
		return ""
	}
	return pointsOf(*p.Margin)
}

// pointsOf is a margin, with two digits where it is small.
func pointsOf(x float64) string {
	if x < 0.01 {
		return fmt.Sprintf("± %.2f points", 100*x)
	}
	return fmt.Sprintf("± %.1f points", 100*x)
}

// refusals say why splits are not offered, those with the same reason together.
func refusals(p propose.Proposals) (out []string) {
	var reasons []string
	names := map[string][]string{}
	for _, one := range p.Proposals {
		if one.Offered() {
			continue
		}
		if names[one.Words] == nil {
			reasons = append(reasons, one.Words)
		}
		names[one.Words] = append(names[one.Words], string(one.Split))
	}
	for _, why := range reasons {
		if len(names[why]) == len(p.Proposals) {
			out = append(out, why)
			continue
		}
		out = append(out, strings.Join(names[why], " and ")+": "+why)
	}
	return out
}
