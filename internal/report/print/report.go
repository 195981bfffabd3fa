package print

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/report"
	"assay/internal/report/number"
	"assay/internal/report/page"
	"assay/internal/stats"
)

// Report writes a report. Columns are a terminal's, 0 where there is none.
func Report(w io.Writer, f Format, r report.Report, columns int) error {
	switch f {
	case JSON:
		return writeJSON(w, r)
	case CSV:
		return reportCSV(w, r)
	case JUnit:
		return junit(w, "assay report "+r.Run.ID.String(), "reported", r.Headline, r.Gates)
	}
	return write(w, f, reportPage(r), columns)
}

const (
	legendTables = "N: sessions eligible. n: sessions sampled. answered: sessions with an answer to the question. coverage: their share, weighted like the value. bounds: the value if everything missing were lowest, and if it were highest (?: the answer has no limit); they say nothing of chance."
	legendCut    = "cut: share of the verdicts whose judge saw a transcript with a part left out, because it was too long."
	legendNoise  = "noise: flips is the chance that two gradings of the same session differ; split is the share of sessions whose gradings are not all the same, which grows with how many there are; sd is the standard deviation of a number's gradings of one session. All are weighted like the rates, over the sessions with two answers or more. An abstention is no answer; \"does not apply\" is one. They have no interval."
)

func reportPage(r report.Report) page.Page {
	p := page.Page{Title: fmt.Sprintf("Report of %s, project %s", r.Run.ID, r.Run.Project)}
	add := func(blocks ...page.Block) { p.Blocks = append(p.Blocks, blocks...) }
	if r.Headline != "" {
		tone := page.Lead
		if r.Assignment != nil && r.Assignment.Mismatch { // it is what the headline says then
			tone = page.Warning
		}
		add(page.Paragraph{Text: r.Headline, Tone: tone})
	}
	for _, warning := range reportWarnings(r) {
		add(page.Paragraph{Text: warning, Tone: page.Warning})
	}
	add(runFacts(r))
	if r.Assignment != nil {
		add(assignmentBlocks(r)...)
	}
	known := r.Covers.Complete || r.Covers.Through > 0
	for _, j := range r.Judges {
		if known {
			add(judgeBlocks(r, j)...)
		}
	}
	add(page.Heading{Level: 2, Text: "Items and spend"}, itemFacts(r), spendFacts(r))
	if len(r.Gates) > 0 {
		add(page.Heading{Level: 2, Text: "Gates"}, gateList(r.Gates))
	}
	if !known {
		return p
	}
	add(page.Heading{Level: 2, Text: "How to read this"})
	notes := append(slices.Clone(r.Notes), legendTables)
	if slices.ContainsFunc(r.Judges, func(j report.Judge) bool { return j.Cut > 0 }) {
		notes = append(notes, legendCut)
	}
	if r.Run.Repeats > 1 {
		notes = append(notes, legendNoise)
	}
	for _, n := range notes {
		add(page.Paragraph{Text: n, Tone: page.Note})
	}
	return p
}

// reportWarnings are what must be known before any number.
func reportWarnings(r report.Report) (out []string) {
	switch {
	case r.Covers.Complete:
	case len(r.Run.Retries) > 0:
		out = append(out, fmt.Sprintf("%s retries what did not end well in %s and has not ended: its verdicts are not in the numbers yet.", r.Run.ID, r.Run.Retries[0]))
	case r.Counts.Total == 0:
		out = append(out, "This run is not planned yet, so there are no numbers.")
	case r.Covers.Through == 0:
		out = append(out, "No completed beginning of the sample yet, so there are no numbers.")
	default:
		out = append(out, fmt.Sprintf("This run has not ended. The numbers cover items 1 to %s of %s in dispatch order, all of which have ended; what ended after those is left out, because what ends first favours short sessions. Coverage and bounds count the rest as missing.",
			number.Whole(r.Covers.Through), number.Whole(r.Covers.Of)))
	}
	if r.Run.Partial {
		out = append(out, "Partial: this run was ended early, the rest of its items were abandoned.")
	}
	if r.Covers.Complete {
		for _, j := range r.Judges {
			if j.Coverage != nil && *j.Coverage < 0.95 {
				out = append(out, fmt.Sprintf("%s answered only %s of the sample (weighted). What is missing is seldom like the rest: long sessions and refused ones go missing. Look at the bounds.", j.Name, number.Percent(*j.Coverage)))
			}
		}
	}
	return out
}

func runFacts(r report.Report) page.Facts {
	h := r.Run
	state := string(h.State)
	switch {
	case h.Cancelling:
		state = "cancelling"
	case h.State == assay.RunRunning && h.Phase != "":
		state += " (" + string(h.Phase) + ")"
	}
	if h.Partial {
		state += ", partial"
	}
	if h.Sentence != "" {
		state += ": " + h.Sentence
	}
	out := page.Facts{Facts: [][2]string{{"run", fmt.Sprintf("%s, %s, %s", h.ID, h.Kind, state)}}}
	add := func(name, format string, args ...any) {
		out.Facts = append(out.Facts, [2]string{name, fmt.Sprintf(format, args...)})
	}
	if len(h.Retries) > 0 {
		add("retries", "%s", join(h.Retries))
	}
	if r.Target == stats.Process {
		add("target", "process: what the agent does on traffic like this; a user counts as a whole")
	} else {
		add("target", "window: the level of exactly these sessions; a day and arm weighs as much as it has sessions")
	}
	add("frame", "%s; as of %s", frameText(h), inZone(h.AsOf, h.Zone))
	arm := "none, all untagged"
	if h.ArmKey != "" {
		arm = "metadata." + h.ArmKey
	}
	size := fmt.Sprintf("at most %s per day and arm", number.Whole(int64(h.PerStratum)))
	if h.Sized > 0 {
		size = fmt.Sprintf("an n of its own for each of %d strata", h.Sized)
	}
	add("sample", "%s of %s sessions in %s; %s, seed %q; days in %s, arm: %s",
		number.Whole(r.Counts.Sampled), number.Whole(r.Counts.Eligible), strataText(r.Counts.Strata), size, h.Seed, h.Zone, arm)
	x := r.Excluded
	if x.Unsettled+x.Undated+x.Empty+x.Late > 0 {
		add("left out", "%s unsettled, %s undated, %s empty, %s late", number.Whole(x.Unsettled), number.Whole(x.Undated), number.Whole(x.Empty), number.Whole(x.Late))
	}
	return out
}

func join[T fmt.Stringer](list []T) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = v.String()
	}
	return strings.Join(parts, ", ")
}

func frameText(h report.Header) string {
	f := h.Frame
	if f.Session != "" {
		return "session " + f.Session
	}
	var parts []string
	switch {
	case f.From != nil && f.To != nil:
		parts = append(parts, "from "+inZone(*f.From, h.Zone)+" to before "+inZone(*f.To, h.Zone))
	case f.From != nil:
		parts = append(parts, "from "+inZone(*f.From, h.Zone))
	case f.To != nil:
		parts = append(parts, "before "+inZone(*f.To, h.Zone))
	default:
		parts = append(parts, "all times")
	}
	if f.Since != nil && !f.Since.IsZero() {
		parts = append(parts, "eligible since "+inZone(*f.Since, h.Zone))
	}
	if f.Set != "" {
		parts = append(parts, "set "+f.Set)
	}
	if f.Labelled {
		parts = append(parts, "labelled")
	}
	if f.Filter != "" {
		parts = append(parts, "where "+f.Filter)
	}
	if f.Undated {
		parts = append(parts, "undated too")
	}
	return strings.Join(parts, ", ")
}

func assignmentBlocks(r report.Report) []page.Block {
	a := r.Assignment
	t := page.Table{Title: "Assignment to arms", Columns: []page.Column{{Name: ""}, {Name: "sessions", Right: true}, {Name: "share", Right: true}, {Name: "meant", Right: true}}}
	for _, arm := range a.Arms {
		meant := "any"
		if arm.Meant != nil {
			meant = number.Percent(*arm.Meant)
		}
		t.Rows = append(t.Rows, page.Row{Cells: []string{arm.Arm, number.Whole(arm.Eligible), number.Percent(arm.Share), meant}})
	}
	var text string
	switch {
	case a.Any:
		text = "Shares were meant to change and are not tested."
	case a.P == nil:
		text = "Sample-ratio test: absent, " + number.Why(a.Absent) + "."
	case a.Mismatch:
		text = fmt.Sprintf("Sample-ratio test: P %s, not as meant.", pOf(a.P))
	default:
		text = fmt.Sprintf("Sample-ratio test: P %s, as meant as far as this can tell.", pOf(a.P))
	}
	if a.Untagged != nil && *a.Untagged > 0 {
		text += " Untagged: " + number.Percent(*a.Untagged) + " of all sessions."
	}
	if !a.Any && a.Effect > 1.05 {
		text += fmt.Sprintf(" %.1f sessions count as one, since users stay in their arm.", a.Effect)
	}
	return []page.Block{t, page.Paragraph{Text: text, Tone: page.Note}}
}

func itemFacts(r report.Report) page.Facts {
	c := r.Counts
	portion := func(n int64) string {
		if n == 0 || c.Total == 0 {
			return number.Whole(n)
		}
		return fmt.Sprintf("%s (%s)", number.Whole(n), number.Percent(float64(n)/float64(c.Total)))
	}
	reused := ""
	if c.Reused > 0 && c.ReusedShare != nil {
		reused = fmt.Sprintf(", %s of them reused (%s)", number.Whole(c.Reused), number.Percent(*c.ReusedShare))
	}
	f := page.Facts{Facts: [][2]string{
		{"items", number.Whole(c.Total)},
		{"graded", portion(c.Graded) + reused},
		{"errored", portion(c.Errored) + classText(c.ByClass, assay.ItemErrored)},
		{"ungradable", portion(c.Ungradable) + classText(c.ByClass, assay.ItemUngradable)},
	}}
	if c.Cancelled+c.Abandoned > 0 {
		f.Facts = append(f.Facts, [2]string{"stopped", fmt.Sprintf("%s cancelled, %s abandoned", portion(c.Cancelled), portion(c.Abandoned))})
	}
	if c.Pending > 0 {
		f.Facts = append(f.Facts, [2]string{"pending", fmt.Sprintf("%s, %s in flight", portion(c.Pending), number.Whole(c.InFlight))})
	}
	return f
}

// classText lists the classes that end an item in state.
func classText(by map[assay.Class]int64, state assay.ItemState) string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(by)) {
		ends := assay.Policies[class].Ends
		if ends == "" {
			ends = assay.ItemErrored
		}
		if ends == state {
			parts = append(parts, fmt.Sprintf("%s %s", class, number.Whole(by[class])))
		}
	}
	if parts == nil {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// spendFacts are of the whole chain, a budget of one run.
func spendFacts(r report.Report) page.Facts {
	s := r.Spend
	calls := number.Whole(s.Attempts)
	if s.Lost > 0 {
		calls += fmt.Sprintf(", %s of them cut by a crash", number.Whole(s.Lost))
	}
	if s.Late > 0 {
		calls += fmt.Sprintf(", %s late", number.Whole(s.Late))
	}
	out := page.Facts{Facts: [][2]string{{"attempts", calls}, {"tokens", tokenText(s)}, {"cost", "USD " + costText(s)}}}
	if len(r.Run.Retries) > 0 {
		out.Facts = append(out.Facts, [2]string{"of", fmt.Sprintf("%s and what it retries (%s)", r.Run.ID, join(r.Run.Retries))})
	}
	if s.Budget != nil && s.Left != nil {
		alone := ""
		if len(r.Run.Retries) > 0 {
			alone = "of " + r.Run.ID.String() + " alone: "
		}
		out.Facts = append(out.Facts, [2]string{"budget", fmt.Sprintf("%sUSD %s, %s left", alone, s.Budget.String(), s.Left.Short())})
	}
	return out
}

func tokenText(s report.Spend) string {
	if !s.Usage.Known {
		return "none reported"
	}
	part := func(n int64, of string) string {
		if n == 0 {
			return ""
		}
		return " (" + number.Whole(n) + " " + of + ")"
	}
	return fmt.Sprintf("%s in%s, %s out%s%s", number.Whole(s.Usage.Input), part(s.Usage.Cached, "cached"), number.Whole(s.Usage.Output),
		part(s.Usage.Reasoning, "reasoning"), assay.Spend{Unmetered: s.Unmetered}.UnmeteredText())
}

func costText(s report.Spend) string {
	return assay.Spend{Cost: s.Known, Held: s.Held, HeldN: s.HeldN, Unpriced: s.Unpriced}.CostText()
}

func strataText(n int) string {
	if n == 1 {
		return "1 stratum"
	}
	return number.Whole(int64(n)) + " strata"
}
