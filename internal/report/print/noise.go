package print

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/report"
	"assay/internal/report/number"
	"assay/internal/report/page"
	"assay/internal/stats"
)

// Noise writes only how far gradings of one session agree, with what must be known of it.
func Noise(w io.Writer, r report.Report, columns int) error {
	var p page.Page
	for _, j := range r.Judges {
		if blocks := noiseBlocks(r, j); blocks != nil {
			p.Blocks = append(p.Blocks, page.Paragraph{Text: fmt.Sprintf("Judge %s, version %s", j.Name, shortHash(j.Version))})
			p.Blocks = append(p.Blocks, blocks...)
		}
	}
	p.Blocks = append(p.Blocks, page.Paragraph{Text: legendNoise, Tone: page.Note})
	return p.Text(w, columns)
}

// noiseBlocks are a line for each question; nil where sessions were graded once.
func noiseBlocks(r report.Report, j report.Judge) []page.Block {
	var asked []report.Criterion
	for _, k := range j.Criteria {
		if k.Noise != nil {
			asked = append(asked, k)
		}
	}
	if asked == nil {
		return nil
	}
	t := page.Table{Title: "noise (several gradings of a session)", Columns: []page.Column{
		{Name: ""}, {Name: "flips", Right: true}, {Name: "split", Right: true}, {Name: "sessions", Right: true, Weight: 1}, {Name: "gradings", Right: true, Weight: 3},
		{Name: "coverage", Right: true, Weight: 2}, {Name: "bounds", Right: true, Weight: 4},
	}}
	spread := slices.ContainsFunc(asked, func(k report.Criterion) bool { return k.Type == assay.Number })
	if spread {
		t.Columns = append(t.Columns, page.Column{Name: "sd", Right: true})
	}
	var left []string
	for _, k := range asked {
		n := k.Noise
		cells := []string{k.Name, shareText(n.FlipRate), shareText(n.Split), number.Whole(n.Sessions), number.Whole(n.Gradings), coverageOf(n.Coverage), worstOf(n.Low, n.High, bare(false))}
		if spread {
			cells = append(cells, spreadText(k))
		}
		t.Rows = append(t.Rows, page.Row{Cells: cells})
		left = append(left, noiseLeft(r, k)...)
	}
	out := []page.Block{t}
	if left != nil {
		out = append(out, page.List{Items: slices.Compact(left)})
	}
	return out
}

// shareText is a share, or that there is none: why stands below the table.
func shareText(x *float64) string {
	if x == nil {
		return "absent"
	}
	return number.Percent(*x)
}

func spreadText(k report.Criterion) string {
	switch {
	case k.Type != assay.Number:
		return "-"
	case k.Noise.Spread == nil:
		return "absent"
	}
	return number.Plain(*k.Noise.Spread)
}

// noiseLeft says why there is no number, and what is not in it.
func noiseLeft(r report.Report, k report.Criterion) (out []string) {
	n := k.Noise
	var parts []string
	if n.Absent != stats.Defined {
		if why := number.Why(n.Absent); r.Covers.Complete {
			parts = append(parts, "absent: "+why)
		} else {
			parts = append(parts, "not finished yet")
		}
	}
	if n.Single > 0 {
		parts = append(parts, plural(n.Single, "session")+" with one answer only")
	}
	if n.Abstained > 0 {
		parts = append(parts, plural(n.Abstained, "grading")+" abstained")
	}
	if n.Outside > 0 {
		parts = append(parts, plural(n.Outside, "grading")+" said that it does not apply")
	}
	if parts != nil {
		out = append(out, k.Name+": "+strings.Join(parts, ", "))
	}
	for _, m := range n.Merged {
		out = append(out, fmt.Sprintf("%s has nothing graded twice and is counted with %s", m.Empty, m.Into))
	}
	return out
}
