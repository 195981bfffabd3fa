package print

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/report"
	"assay/internal/report/number"
	"assay/internal/report/page"
	"assay/internal/stats"
)

func judgeBlocks(r report.Report, j report.Judge) []page.Block {
	out := []page.Block{
		page.Heading{Level: 2, Text: "Judge " + j.Name},
		page.Facts{Facts: [][2]string{
			{"version", fmt.Sprintf("%s, %s", shortHash(j.Version), j.Kind)},
			{"coverage", coverageText(r, j)},
		}},
	}
	for _, k := range j.Criteria {
		out = append(out, criterionBlocks(r, j, k)...)
	}
	out = append(out, noiseBlocks(r, j)...)
	if len(j.Classes) > 0 {
		out = append(out, classTable(j))
	}
	out = append(out, failBlocks(j)...)
	if f := callFacts(j.Calls); len(f.Facts) > 0 {
		out = append(out, page.Heading{Level: 3, Text: "How long its calls took"}, f)
	}
	if len(r.Judges) > 1 && j.Spend.Attempts > 0 {
		out = append(out, page.Facts{Facts: [][2]string{{"cost", "USD " + costText(j.Spend)}, {"tokens", tokenText(j.Spend)}}})
	}
	return out
}

func coverageText(r report.Report, j report.Judge) string {
	text := "absent"
	switch {
	case j.Coverage != nil:
		text = number.Percent(*j.Coverage) + " of the sample has a verdict"
	case !r.Covers.Complete:
		text = "not finished yet"
	}
	if j.Reused > 0 {
		text += fmt.Sprintf("; %s reused", number.Whole(j.Reused))
	}
	return text
}

// criterionBlocks are the tables of one question, with what else is known of its answers. Where a judge's rule is
// this question, the tables stand once.
func criterionBlocks(r report.Report, j report.Judge, k report.Criterion) []page.Block {
	out := []page.Block{page.Heading{Level: 3, Text: criterionTitle(k)}}
	if k.Question != "" {
		out = append(out, page.Paragraph{Text: k.Question, Tone: page.Note})
	}
	if len(k.Measures) == 1 && k.Measures[0].Overall.Absent == stats.NothingInDomain { // nor is there a number of any part
		of := plural(k.Measures[0].Overall.Answered, "answer")
		text := "Absent: the question applies to none of " + of + "."
		if k.Name == assay.CriterionPass {
			text = "Absent: the judge has no rule for pass, or it is undefined for all of " + of + "."
		}
		return append(out, page.Paragraph{Text: text})
	}
	if k.Name != assay.CriterionPass && reflect.DeepEqual(k.Measures, j.Criteria[0].Measures) {
		out = append(out, page.Paragraph{Text: "The numbers are those of pass."})
		if text := answerText(k); text != "" {
			out = append(out, page.Paragraph{Text: text, Tone: page.Note})
		}
		return out
	}
	out = append(out, levelTable(r, j, k))
	if chart, ok := dayChart(k); ok {
		out = append(out, chart)
	}
	if len(k.Lifts) > 0 {
		out = append(out, liftBlock(r, k))
	}
	if d := k.Distribution; d != nil {
		out = append(out, distributionChart(k.Name, d))
	}
	if text := answerText(k); text != "" {
		out = append(out, page.Paragraph{Text: text, Tone: page.Note})
	}
	return append(out, mergeNotes(k)...)
}

func criterionTitle(k report.Criterion) string {
	switch {
	case k.Name == assay.CriterionPass:
		return "pass: the judge's rule"
	case k.Type == assay.Boolean:
		return k.Name + ": rate of yes"
	case k.Type == assay.Number:
		return k.Name + ": mean"
	}
	return k.Name + ": shares"
}

// levelTable has the overall level of each measure and its parts. Days are shown of pass and in a table of their own
// nowhere else: they are many. Agent versions and sources are shown where there are several.
func levelTable(r report.Report, j report.Judge, k report.Criterion) page.Table {
	cut, users := j.Cut > 0, 6
	if r.Target == stats.Process { // whose chance is in its users
		users = 1
	}
	t := page.Table{Columns: []page.Column{
		{Name: ""}, {Name: "value", Right: true}, {Name: "interval", Right: true}, {Name: "n", Right: true}, {Name: "N", Right: true, Weight: 4},
		{Name: "answered", Right: true, Weight: 5}, {Name: "coverage", Right: true}, {Name: "bounds", Right: true, Weight: 1}, {Name: "users", Right: true, Weight: users},
	}}
	if cut {
		t.Columns = append(t.Columns, page.Column{Name: "cut", Right: true, Weight: 2})
	}
	t.Low, t.High = scaleOf(k)
	t.Say = scaleSay(k.Type == assay.Number)
	for _, m := range k.Measures {
		name := "all"
		if m.Kind == report.KindShare {
			name = m.Value
		}
		row := func(name string, indent int, n number.Number) {
			mean := m.Kind == report.KindMean
			cells := []string{name, cellOf(n, mean), intervalOf(n, mean), number.Whole(n.Sampled), number.Whole(n.N), number.Whole(n.Answered),
				coverageOf(n.Coverage), worstOf(n.Low, n.High, bare(mean)), number.Whole(n.Users)}
			if cut {
				cells = append(cells, coverageOf(n.Cut))
			}
			t.Rows = append(t.Rows, page.Row{Cells: cells, Indent: indent, Mark: markOf(n)})
		}
		row(name, 0, m.Overall)
		parts := func(what string, list []number.Part, least int) {
			if len(list) < least {
				return
			}
			for _, p := range list {
				row(what+" "+p.Name, 1, p.Number)
				if what == "agent" || what == "source" {
					t.Rows[len(t.Rows)-1].Cells[4] = "-" // how many sessions it has is not known
				}
			}
		}
		parts("arm", m.ByArm, 2)
		if k.Name == assay.CriterionPass {
			parts("day", m.ByDay, 2)
		}
		parts("agent", m.ByAgent, 2)
		parts("source", m.BySource, 2)
	}
	return t
}

// scaleOf is where a criterion's marks lie: 0 to 1, or what a mean's limits or else its values span.
func scaleOf(k report.Criterion) (low, high float64) {
	if k.Type != assay.Number || len(k.Measures) == 0 {
		return 0, 1
	}
	first := true
	see := func(n number.Number) {
		var all []*float64
		all = append(all, n.Value, n.Low, n.High)
		if n.Interval != nil {
			all = append(all, &n.Interval.Low, &n.Interval.High)
		}
		for _, x := range all {
			switch {
			case x == nil:
			case first:
				low, high, first = *x, *x, false
			default:
				low, high = min(low, *x), max(high, *x)
			}
		}
	}
	m := k.Measures[0]
	see(m.Overall)
	for _, p := range slices.Concat(m.ByArm, m.ByDay, m.ByAgent, m.BySource) {
		see(p.Number)
	}
	return low, high
}

// dayChart is the level over days, where there are several.
func dayChart(k report.Criterion) (page.Chart, bool) {
	if len(k.Measures) != 1 || len(k.Measures[0].ByDay) < 2 {
		return page.Chart{}, false
	}
	mean := k.Measures[0].Kind == report.KindMean
	c := page.Chart{Title: k.Name + " by day, with intervals", Kind: page.Intervals, Say: say(mean)}
	c.Low, c.High = scaleOf(k)
	for _, d := range k.Measures[0].ByDay {
		p := page.Point{Name: d.Name, Value: d.Number.Value, Why: number.Why(d.Number.Absent)}
		if i := d.Number.Interval; i != nil {
			p.Low, p.High = &i.Low, &i.High
		}
		c.Points = append(c.Points, p)
	}
	return c, true
}

func liftBlock(r report.Report, k report.Criterion) page.Block {
	if r.Assignment != nil && r.Assignment.Mismatch {
		return page.Paragraph{Text: "Lifts are withheld: sessions did not go to the arms as meant.", Tone: page.Warning}
	}
	t := page.Table{Title: "Lift, in points: the same days weigh the same in both arms", Zero: true, Columns: []page.Column{
		{Name: ""}, {Name: "lift", Right: true}, {Name: "interval", Right: true}, {Name: "P", Right: true, Weight: 1}, {Name: "q", Right: true, Weight: 2}, {Name: "days", Right: true, Weight: 3}, {Name: "bounds", Right: true, Weight: 2},
	}}
	var widest float64
	for _, l := range k.Lifts {
		value, interval := differenceCells(l.Lift, false)
		name := l.Arm + " less " + l.Control
		if l.Lift.Marked {
			name += " *"
		}
		days := fmt.Sprint(l.Days)
		if len(l.Dropped) > 0 {
			days += fmt.Sprintf(" (%d dropped)", len(l.Dropped))
		}
		q := pOf(l.Lift.Q)
		if l.Lift.Primary {
			q = "primary"
		}
		m := differenceMark(l.Lift)
		t.Rows = append(t.Rows, page.Row{Cells: []string{name, value, interval, pOf(l.Lift.P), q, days, worstOf(l.Lift.Low, l.Lift.High, number.Points)}, Mark: m})
		if m != nil {
			widest = max(widest, m.Value, -m.Value)
			if m.Low != nil {
				widest = max(widest, -*m.Low, *m.High)
			}
		}
	}
	t.Low, t.High = -widest, widest
	if widest > 0 {
		t.Say = number.Points
	}
	return t
}

func distributionChart(name string, d *report.Distribution) page.Chart {
	c := page.Chart{Title: "Distribution of " + name + quantileText(d), Kind: page.Bars, Say: number.Percent}
	for _, b := range d.Bins {
		label := number.Plain(b.From)
		if b.From != b.To {
			label += " to " + number.Plain(b.To)
		}
		share := b.Share
		c.High = max(c.High, share)
		c.Points = append(c.Points, page.Point{Name: label, Value: &share})
	}
	return c
}

func quantileText(d *report.Distribution) string {
	if d.Median == nil || d.P05 == nil || d.P95 == nil {
		return ""
	}
	return fmt.Sprintf(": median %s, 90 %% of sessions from %s to %s", number.Plain(*d.Median), number.Plain(*d.P05), number.Plain(*d.P95))
}

// answerText is what else is known of a question's answers.
func answerText(k report.Criterion) string {
	var parts []string
	if k.Unverified > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s answers with evidence quote something that is not in the transcript", number.Whole(k.Unverified), number.Whole(k.Quoted)))
	}
	if k.Abstained > 0 {
		parts = append(parts, plural(k.Abstained, "abstention"))
	}
	if k.Outside > 0 {
		parts = append(parts, number.Whole(k.Outside)+" to which it does not apply")
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, "; ") + "."
}

// mergeNotes name strata without an answer that were counted with a neighbour.
func mergeNotes(k report.Criterion) (out []page.Block) {
	var list []string
	for _, m := range k.Measures {
		for _, merge := range m.Overall.Merged {
			text := fmt.Sprintf("%s has nothing graded and is counted with %s.", merge.Empty, merge.Into)
			if !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	if list != nil {
		out = append(out, page.List{Items: list})
	}
	return out
}

func classTable(j report.Judge) page.Table {
	t := page.Table{Title: "What has no verdict, and how many sessions would end so", Columns: []page.Column{
		{Name: ""}, {Name: "share", Right: true}, {Name: "interval", Right: true}, {Name: "sessions", Right: true}, {Name: "state", Weight: 1},
	}}
	for _, c := range j.Classes {
		t.Rows = append(t.Rows, page.Row{Cells: []string{string(c.Class), cellOf(c.Share, false), intervalOf(c.Share, false), number.Whole(c.N), string(c.State)}, Mark: markOf(c.Share)})
	}
	return t
}
