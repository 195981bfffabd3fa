package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
)

// printRun prints everything about one run.
func (a *app) printRun(v api.RunView) error {
	if v.Suite != nil {
		a.printHarness(v)
		return nil
	}
	a.printHead(v)
	a.print("judges      %s\n", judgeVersions(v.Spec.Judges))
	a.print("frame       %s\n", frameText(v.Spec.Frame))
	a.print("sample      %s, %s, seed %s", count(v.Sampled, "session"), sizesText(v.Spec), v.Spec.Seed)
	if v.Spec.Repeats > 1 {
		a.print(", each graded %d times", v.Spec.Repeats)
	}
	if v.Spec.Force {
		a.print(", no reuse")
	}
	a.print("\nconcurrency %d\nbudget      %s\n", v.Concurrency, budgetText(v))
	a.print("created     %s", createdText(v.Run, v.Spec.Schedule))
	a.print("\nstarted     %s\nended       %s\n", moment(v.StartedAt, time.UTC), moment(v.EndedAt, time.UTC))
	if v.CancelRequestedAt != nil {
		a.print("cancel      asked for at %s\n", askedText(v.CancelRequestedAt, v.CancelRequestedBy))
	}
	if v.State == assay.RunRunning {
		a.print("heartbeat   %s, taken up %s\nprogress    %s\n", moment(v.HeartbeatAt, time.UTC), count(v.Epoch, "time"), moment(v.ProgressAt, time.UTC))
	}
	if v.RetryOf != 0 {
		a.print("retry of    %s\n", v.RetryOf.String())
	}
	a.printExcluded(v.Left)
	if len(v.Strata) == 0 {
		return nil
	}
	a.print("\n")
	t := newTable(a.out, "DAY", "ARM", "ELIGIBLE", "SAMPLED")
	for _, s := range v.Strata {
		t.row(s.Day, s.Arm, humanize.Comma(s.Eligible), humanize.Comma(s.Sampled))
	}
	return t.end()
}

// createdText says when a run was asked for, by whom, and of which schedule it is: a tick asks in the name of
// its schedule.
func createdText(r assay.Run, schedule string) string {
	text := askedText(&r.CreatedAt, r.By)
	if schedule != "" && r.By != "schedule "+schedule {
		text += ", schedule " + schedule
	}
	return text
}

// askedText says when something was asked for, and by whom where that is known.
func askedText(at *time.Time, by string) string {
	if by == "" {
		return moment(at, time.UTC)
	}
	return moment(at, time.UTC) + " by " + by
}

// sayAsleep tells that a run that would wake needs somebody who wakes it.
func (a *app) sayAsleep(d *door, v api.RunView) error {
	if v.State != assay.RunPaused || v.WakeAt == nil {
		return nil
	}
	o, err := d.Owner(a.ctx)
	if err != nil || o.Driving {
		return err
	}
	a.say("%s would try again at %s, but no process drives runs: `assay serve` does, and `assay resume %s` tries at once", v.ID, moment(v.WakeAt, time.UTC), v.ID)
	return nil
}

// printEnd prints how a followed run came to rest.
func (a *app) printEnd(v api.RunView) error {
	if a.JSON {
		return a.printJSON(v)
	}
	if v.Suite != nil {
		a.printHarnessEnd(v)
		return nil
	}
	a.printHead(v)
	if v.State == assay.RunCompleted && v.Counts.Total > 0 {
		a.print("`assay report %s` shows rates, `assay verdicts %s` every verdict\n", v.ID.String(), v.ID.String())
	}
	return nil
}

// printHead prints state, counts and spend.
func (a *app) printHead(v api.RunView) {
	a.print("%s\n", headText(v))
	if v.Suite != nil {
		return
	}
	a.print("items       %s\n", countsText(v.Counts))
	if len(v.Counts.ByClass) > 0 {
		a.print("errors      %s\n            `assay runs errors %s` shows each\n", classesText(v.Counts.ByClass), v.ID.String())
	}
	if v.Spend.Attempts == 0 {
		a.print("attempts    none\n")
		return
	}
	a.print("attempts    %s, %s", humanize.Comma(v.Spend.Attempts), spendText(v.Spend.Spend))
	if v.Spend.Unknown > 0 {
		a.print("; %s cut by a crash", humanize.Comma(v.Spend.Unknown))
	}
	if v.Spend.Late > 0 {
		a.print("; %d late", v.Spend.Late)
	}
	a.print("\n")
}

// headText is a run's state and why.
func headText(v api.RunView) string {
	text := v.ID.String() + " " + phase(v)
	if v.Partial {
		text += " (partial)"
	}
	why := because(v)
	switch rest, said := strings.CutPrefix(why, phase(v)); {
	case said && (strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, " by ")):
		text += rest
	case why != "":
		text += ": " + why
	}
	if v.StartedAt != nil && v.EndedAt != nil {
		text += " (" + span(v.EndedAt.Sub(*v.StartedAt)) + ")"
	}
	return text
}

func countsText(c assay.Counts) string {
	parts := []string{fmt.Sprintf("%s graded of %s", humanize.Comma(c.Graded), humanize.Comma(c.Total))}
	if c.Reused > 0 {
		parts[0] += fmt.Sprintf(" (%s reused)", humanize.Comma(c.Reused))
	}
	return strings.Join(append(append(parts, restParts(c)...),
		numbered(counted{c.Pending, "pending"}, counted{c.InFlight, "in flight"}, counted{c.Waiting, "waiting"})...), ", ")
}

// restParts are the items that ended without a verdict.
func restParts(c assay.Counts) []string {
	return numbered(counted{c.Errored, "errored"}, counted{c.Ungradable, "ungradable"}, counted{c.Cancelled, "cancelled"}, counted{c.Abandoned, "abandoned"})
}

// counted is how many of something there are.
type counted struct {
	n    int64
	what string
}

// numbered names what there is at all.
func numbered(all ...counted) (parts []string) {
	for _, p := range all {
		if p.n > 0 {
			parts = append(parts, humanize.Comma(p.n)+" "+p.what)
		}
	}
	return parts
}

func classesText(byClass map[assay.Class]int64) string {
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		text := fmt.Sprintf("%s %s", humanize.Comma(byClass[class]), class)
		if remedy := assay.Policies[class].Remedy; remedy != "" {
			text += " (" + remedy + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func judgeVersions(judges []assay.RunJudge) string {
	parts := make([]string, len(judges))
	for i, j := range judges {
		parts[i] = j.Name + " " + shortHash(j.Version)
	}
	return strings.Join(parts, ", ")
}

func frameText(f assay.Frame) string {
	var parts []string
	if f.Session != "" {
		return "session " + f.Session
	}
	if f.From != nil {
		parts = append(parts, "from "+f.From.Format(time.RFC3339))
	}
	if f.To != nil {
		parts = append(parts, "to "+f.To.Format(time.RFC3339))
	}
	if f.Since != nil && !f.Since.IsZero() {
		parts = append(parts, "eligible since "+f.Since.Format(time.RFC3339))
	}
	if f.Set != "" {
		parts = append(parts, "set "+f.Set)
	}
	if f.Filter != "" {
		parts = append(parts, "filter "+f.Filter)
	}
	if f.Labelled {
		parts = append(parts, "labelled")
	}
	if f.Undated {
		parts = append(parts, "with undated")
	}
	if len(parts) == 0 {
		return "every session"
	}
	return strings.Join(parts, ", ")
}
