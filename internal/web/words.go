package web

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

// words are what the template calls to put values into words.
func words() template.FuncMap {
	return template.FuncMap{
		"count": count, "when": when, "state": state, "standing": standing, "zoned": zoned, "next": next, "starts": starts, "judges": judges, "ended": ended, "counts": counts,
		"pace": pace, "harness": harness, "progress": progress, "what": what, "spend": spend, "budget": budget, "month": month, "frame": frame, "coded": coded, "clock": func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") },
	}
}

// count writes n with a comma after every three digits.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// when writes a time in the run's zone and names the zone.
func when(t *time.Time, r assay.Run) string {
	if t == nil {
		return ""
	}
	if r.Suite != nil { // it has no settings of its own
		return t.UTC().Format("2006-01-02 15:04 MST")
	}
	return t.In(r.Spec.Settings.Location()).Format("2006-01-02 15:04 MST")
}

// state is what a person calls the state of a run.
func state(r assay.Run) string {
	switch {
	case r.Cancelling():
		return "cancelling"
	case r.State == assay.RunRunning && r.Phase != assay.PhaseNone:
		return string(r.Phase)
	case r.Partial:
		return string(r.State) + ", partial"
	}
	return string(r.State)
}

// standing is state, of a harness under way also whether it is silent.
func standing(v api.RunView) string {
	if at := v.SilentSince(); at != nil && !v.Cancelling {
		return "running, silent since " + at.UTC().Format("2006-01-02 15:04:05 MST")
	}
	return state(v.Run)
}

// zoned writes a time in a schedule's own zone and names the zone.
func zoned(t time.Time, s assay.Schedule) string {
	zone, err := time.LoadLocation(s.Def.Zone)
	if err != nil {
		zone = time.UTC
	}
	return t.In(zone).Format("2006-01-02 15:04 MST")
}

// next is when a schedule starts what it starts.
func next(s assay.Schedule) string {
	switch {
	case s.Paused:
		return "paused"
	case s.NextAt == nil:
		return "never again"
	}
	return zoned(*s.NextAt, s)
}

// starts is what a schedule starts.
func starts(s assay.Schedule) string {
	if s.Def.Suite != nil {
		return "suite " + s.Def.Suite.Name
	}
	return "a grade run"
}

// piece is a stretch of a sentence, code where it stood between backticks.
type piece struct {
	Text string
	Code bool
}

func coded(sentence string) []piece {
	var out []piece
	for i, text := range strings.Split(sentence, "`") {
		if text != "" {
			out = append(out, piece{text, i%2 == 1})
		}
	}
	return out
}

func judges(r assay.Run) string {
	names := make([]string, len(r.Spec.Judges))
	for i, j := range r.Spec.Judges {
		names[i] = j.Name
	}
	return strings.Join(names, ", ")
}

// what names the harness of a suite or external run, or the judges of another.
func what(r assay.Run) string {
	if r.Suite != nil {
		return string(r.Kind) + " " + r.Suite.Name
	}
	return judges(r)
}

// progress is how far a harness says that it is, in thousandths; -1 where it does not say.
func progress(v api.RunView) int {
	if v.Harness == nil || v.Harness.Progress == nil || v.Harness.Progress.Total <= 0 {
		return -1
	}
	p := v.Harness.Progress
	return int(1000 * min(1, p.Done/p.Total))
}

// harness says what is known of a harness under way.
func harness(v api.RunView) string {
	h := v.Harness
	if h == nil {
		return ""
	}
	var parts []string
	add := func(format string, a ...any) { parts = append(parts, fmt.Sprintf(format, a...)) }
	if p := h.Progress; p != nil {
		text := strconv.FormatFloat(p.Done, 'g', 6, 64)
		if p.Total > 0 {
			text += " of " + strconv.FormatFloat(p.Total, 'g', 6, 64)
		}
		if p.Guessed {
			text += " as its output looks"
		}
		add("%s", strings.TrimSpace(text+" "+p.Text))
	}
	for _, m := range h.Metrics[max(0, len(h.Metrics)-3):] {
		add("%s %s", m.Name, strconv.FormatFloat(m.Value, 'g', 6, 64))
	}
	if h.LogLines == 1 {
		add("1 line of output")
	} else if h.LogLines > 1 {
		add("%s lines of output", count(h.LogLines))
	}
	if h.Where != "" {
		add("on %s", h.Where)
	}
	if v.By != "" {
		add("asked for by %s", v.By)
	}
	return strings.Join(parts, " · ")
}

// frame says which sessions a run is about.
func frame(r assay.Run) string {
	f := r.Spec.Frame
	var parts []string
	add := func(format string, a ...any) { parts = append(parts, fmt.Sprintf(format, a...)) }
	if f.Session != "" {
		add("session %s", f.Session)
	}
	if f.From != nil {
		add("from %s", when(f.From, r))
	}
	if f.To != nil {
		add("to %s", when(f.To, r))
	}
	if f.Since != nil && !f.Since.IsZero() {
		add("eligible since %s", when(f.Since, r))
	}
	if f.Set != "" {
		add("set %s", f.Set)
	}
	if f.Labelled {
		add("labelled")
	}
	if f.Filter != "" {
		add("where %s", f.Filter)
	}
	if len(parts) == 0 {
		return "all sessions"
	}
	return strings.Join(parts, ", ")
}

func ended(c assay.Counts) int64 { return c.Total - c.Pending }

// counts says how items ended, leaving out what is zero.
func counts(c assay.Counts) string {
	parts := []string{fmt.Sprintf("%s of %s graded", count(c.Graded), count(c.Total))}
	for _, p := range []struct {
		n    int64
		word string
	}{
		{c.Reused, "of them reused"}, {c.Errored, "errored"}, {c.Ungradable, "ungradable"}, {c.Cancelled, "cancelled"},
		{c.Abandoned, "abandoned"}, {c.InFlight, "in flight"}, {c.Waiting, "waiting"},
	} {
		if p.n > 0 {
			parts = append(parts, count(p.n)+" "+p.word)
		}
	}
	return strings.Join(parts, ", ")
}

// pace is the rate and what is left at it; nothing where it is not known.
func pace(v api.RunView) string {
	if v.Rate == nil || v.Remaining == nil {
		return ""
	}
	left := time.Duration(*v.Remaining * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%.1f items/s, about %s left", *v.Rate, left)
}

// spend says what attempts used and cost. What is not known is unknown, never 0.
func spend(v api.RunView) string {
	s := v.Spend
	if s.Attempts == 0 {
		return "no attempts"
	}
	out := count(s.Attempts) + " attempts" // rules make them too, and call nobody
	if s.Attempts == 1 {
		out = "1 attempt"
	}
	if s.Usage.Known {
		out += ", " + count(s.Usage.Input+s.Usage.Output) + " tokens" + s.UnmeteredText()
	}
	return out + ", USD " + s.CostText()
}

// budget says what a run may spend and what is left of it; nothing where it has none.
func budget(v api.RunView) string {
	if v.Budget == nil || v.BudgetLeft == nil {
		return ""
	}
	return "budget USD " + v.Budget.String() + ", " + v.BudgetLeft.Short() + " left"
}

// month is a project's month against its budget.
func month(m api.MonthSpend) string {
	out := m.Charged.Short()
	if m.Unpriced > 0 {
		out += " + unknown for " + count(m.Unpriced) + " calls"
	}
	if m.Budget != nil {
		out += " of " + m.Budget.String()
	}
	return out
}
