package old

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"assay/internal/assay"
	"assay/internal/stats"
)

// NoiseText writes only how far the gradings of a session agree, with what must be known of it.
func NoiseText(w io.Writer, r Report, width int) error {
	if width <= 0 {
		width = 100
	}
	t := &text{w: bufio.NewWriter(w), width: width, unfinished: unfinished(r)}
	for _, j := range r.Judges {
		t.line("")
		t.judgeLine(j)
		t.noise(j)
	}
	t.line("")
	t.wrapped("", NoiseLegend)
	return t.w.Flush()
}

// noise prints how far the gradings of one session agree, a line for each question.
func (t *text) noise(j Judge) {
	var asked []Criterion
	for _, k := range j.Criteria {
		if k.Noise != nil {
			asked = append(asked, k)
		}
	}
	if asked == nil {
		return
	}
	t.line("")
	t.line("noise (several gradings of a session)")
	rows := noiseRows(asked, t.width < narrow)
	sizes := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, v := range r {
			sizes[i] = max(sizes[i], columns(v))
		}
	}
	rest := 2
	for _, w := range sizes[1:] {
		rest += w + 2
	}
	sizes[0] = max(min(sizes[0], t.width-rest), 8)
	for _, r := range rows {
		line := cell(r[0], sizes[0])
		for i, v := range r[1:] {
			line += "  " + right(v, sizes[i+1])
		}
		t.line("  %s", line)
	}
	seen := map[stats.Merge]bool{}
	for _, k := range asked {
		if left := t.leftOut(k.Noise); left != "" {
			t.wrapped("  ", k.Name+": "+left)
		}
		for _, m := range k.Noise.Merged {
			if !seen[m] {
				seen[m] = true
				t.wrapped("  ", fmt.Sprintf("%s has nothing graded twice and is counted with %s", m.Empty, m.Into))
			}
		}
	}
}

// noiseRows are the cells of the table under their heads; a narrow terminal gets fewer.
func noiseRows(asked []Criterion, narrow bool) [][]string {
	head := []string{"", "flips", "split", "sessions", "gradings", "coverage", "bounds"}
	if narrow {
		head = []string{"", "flips", "split", "sessions", "coverage"}
	}
	spread := slices.ContainsFunc(asked, func(k Criterion) bool { return k.Type == assay.Number })
	if spread {
		head = append(head, "sd")
	}
	rows := [][]string{head}
	for _, k := range asked {
		n := k.Noise
		e := Estimate{Coverage: n.Coverage, Low: n.Low, High: n.High}
		row := []string{k.Name, shareText(n.FlipRate), shareText(n.Split), whole(n.Sessions), whole(n.Gradings), coverageText(e), worstText(KindRate, e)}
		if narrow {
			row = append(row[:4], row[5])
		}
		if spread {
			row = append(row, spreadText(k))
		}
		rows = append(rows, row)
	}
	return rows
}

// shareText is a share, or that there is none: why stands below the table.
func shareText(x *float64) string {
	if x == nil {
		return "absent"
	}
	return percent(*x)
}

func spreadText(k Criterion) string {
	switch {
	case k.Type != assay.Number:
		return "-"
	case k.Noise.Spread == nil:
		return "absent"
	}
	return strconv.FormatFloat(*k.Noise.Spread, 'g', 3, 64)
}

// leftOut says why there is no number, and what is not in it.
func (t *text) leftOut(n *Noise) string {
	var parts []string
	if n.Absent != stats.Defined {
		parts = append(parts, t.absent(n.Absent))
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
	return strings.Join(parts, ", ")
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return whole(n) + " " + noun + "s"
}
