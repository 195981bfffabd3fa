package old

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"assay/internal/assay"
)

// Text writes r for a terminal of the given width in columns; 0 or less means 100. It uses no
// colour, and below 72 columns it leaves the bars and some columns out.
func Text(w io.Writer, r Report, width int) error {
	if width <= 0 {
		width = 100
	}
	t := &text{w: bufio.NewWriter(w), width: width, unfinished: unfinished(r)}
	t.header(r)
	t.counts(r)
	for _, j := range r.Judges {
		t.judge(j)
	}
	t.spend(r)
	t.notes(r)
	return t.w.Flush()
}

// text remembers no error: bufio keeps the first one for Flush.
type text struct {
	w          *bufio.Writer
	width      int
	unfinished string // why a number may be missing that comes later, or ""
}

// unfinished says how far a run is that has not ended.
func unfinished(r Report) string {
	switch {
	case r.Covers.Complete:
		return ""
	case r.Counts.Total == 0:
		return "not planned yet"
	}
	return "not finished yet"
}

// line prints one line. Arms and filters are other people's text: control characters, which could
// move the cursor or fake a line, are shown as a replacement character.
func (t *text) line(format string, args ...any) {
	t.w.WriteString(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, fmt.Sprintf(format, args...)))
	t.w.WriteByte('\n')
}

func (t *text) wrapped(indent, s string) {
	for _, l := range wrap(s, t.width-len(indent)) {
		t.line("%s%s", indent, l)
	}
}

// field prints "  name  text", the text wrapped and indented.
func (t *text) field(name, format string, args ...any) {
	for i, l := range wrap(fmt.Sprintf(format, args...), t.width-14) {
		if i > 0 {
			name = ""
		}
		t.line("  %-10s  %s", name, l)
	}
}

func (t *text) header(r Report) {
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
	t.line("Run %s  %s  %s  project %s", h.ID, h.Kind, state, h.Project)
	if !r.Covers.Complete && r.Counts.Total > 0 {
		t.field("progress", "%s of %s items have ended", whole(r.Counts.Total-r.Counts.Pending), whole(r.Counts.Total))
	}
	if h.Sentence != "" {
		t.field("why", "%s", h.Sentence)
	}
	if len(h.Retries) > 0 {
		t.field("retries", "%s", join(h.Retries))
	}
	t.field("unit", "%s", r.Unit)
	t.field("target", "%s: the level of exactly these sessions; a day and arm weighs as much as it has sessions", r.Target)
	t.field("frame", "%s; as of %s", frame(h), inZone(h.AsOf, h.Zone))
	arm := "none, all untagged"
	if h.ArmKey != "" {
		arm = "metadata." + h.ArmKey
	}
	t.field("sample", "at most %s per day and arm, seed %q; days in %s, arm: %s", whole(int64(h.PerStratum)), h.Seed, h.Zone, arm)
}

func frame(h Header) string {
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

func inZone(at time.Time, zone string) string {
	const form = "2006-01-02 15:04 MST"
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return at.UTC().Format(form) + " (zone " + zone + " is not known here)"
	}
	return at.In(loc).Format(form)
}

func (t *text) counts(r Report) {
	c := r.Counts
	t.line("")
	t.line("Sessions")
	t.field("eligible", "%s in %s strata", whole(c.Eligible), whole(int64(c.Strata)))
	t.field("sampled", "%s", whole(c.Sampled))
	t.field("left out", "%s unsettled, %s undated, %s empty, %s late", whole(r.Excluded.Unsettled), whole(r.Excluded.Undated),
		whole(r.Excluded.Empty), whole(r.Excluded.Late))
	t.line("")
	t.line("Items")
	t.field("total", "%s", whole(c.Total))
	t.field("graded", "%s%s", portion(c.Graded, c.Total), reused(c))
	t.field("errored", "%s%s", portion(c.Errored, c.Total), classes(c.ByClass, assay.ItemErrored))
	t.field("ungradable", "%s%s", portion(c.Ungradable, c.Total), classes(c.ByClass, assay.ItemUngradable))
	t.field("cancelled", "%s", portion(c.Cancelled, c.Total))
	t.field("abandoned", "%s", portion(c.Abandoned, c.Total))
	if c.Pending > 0 {
		t.field("pending", "%s, %s in flight", portion(c.Pending, c.Total), whole(c.InFlight))
	} else {
		t.field("pending", "0")
	}
}

// spend is of the whole chain, a budget of one run.
func (t *text) spend(r Report) {
	s, of := r.Spend, ""
	if len(r.Run.Retries) > 0 {
		of = " of " + r.Run.ID.String() + " and what it retries (" + join(r.Run.Retries) + ")"
	}
	t.line("")
	t.line("Spend%s", of)
	calls := whole(s.Attempts)
	if s.Lost > 0 {
		calls += fmt.Sprintf(", %s of them cut by a crash", whole(s.Lost))
	}
	if s.Late > 0 {
		calls += fmt.Sprintf(", %s late", whole(s.Late))
	}
	t.field("attempts", "%s", calls)
	if s.Usage.Known {
		t.field("tokens", "%s in%s, %s out%s%s", whole(s.Usage.Input), part(s.Usage.Cached, "cached"), whole(s.Usage.Output), part(s.Usage.Reasoning, "reasoning"),
			assay.Spend{Unmetered: s.Unmetered}.UnmeteredText())
	} else {
		t.field("tokens", "none reported")
	}
	t.field("cost", "USD %s", assay.Spend{Cost: s.Known, Held: s.Held, HeldN: s.HeldN, Unpriced: s.Unpriced}.CostText())
	if s.Budget != nil && s.Left != nil {
		alone := ""
		if of != "" {
			alone = "of " + r.Run.ID.String() + " alone: "
		}
		t.field("budget", "%sUSD %s, %s left", alone, s.Budget.String(), s.Left.Short())
	}
}

// part is a part of a count, where it was reported.
func part(n int64, of string) string {
	if n == 0 {
		return ""
	}
	return " (" + whole(n) + " " + of + ")"
}

func (t *text) notes(r Report) {
	t.line("")
	for _, n := range append([]string{Legend}, r.Notes...) {
		t.wrapped("", n)
	}
}
