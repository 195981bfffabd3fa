package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
)

// facts are what is known of a run's harness, or nothing yet.
func facts(v api.RunView) assay.Harness {
	if v.Harness == nil {
		return assay.Harness{}
	}
	return *v.Harness
}

// farText is how far a harness says that it is: 3/20, or 3.
func farText(p assay.Progress) string {
	text := figure(p.Done)
	if p.Total > 0 {
		text += "/" + figure(p.Total)
	}
	return text
}

func figure(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return humanize.Comma(int64(x))
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// harnessProgress is one line about a harness under way.
func harnessProgress(v api.RunView) string {
	f := facts(v)
	parts := []string{phase(v)}
	if p := f.Progress; p != nil {
		text := farText(*p)
		if p.Total > 0 {
			text += fmt.Sprintf(" (%.0f%%)", 100*p.Done/p.Total)
		}
		if p.Guessed {
			text += " as its output looks"
		}
		parts = append(parts, strings.TrimSpace(text+" "+p.Text))
	}
	if n := len(f.Metrics); n > 0 {
		parts = append(parts, metricsText(f.Metrics[max(0, n-3):]))
	}
	if f.LogLines > 0 {
		parts = append(parts, count(f.LogLines, "line"))
	}
	if v.State == assay.RunQueued && v.Reason != assay.ReasonAccepted { // that one waits for a driver is what queued means
		parts = append(parts, because(v))
	}
	return strings.Join(parts, "  ")
}

// harnessBar is the same as a bar's total and what is done of it, in thousandths where it counts in parts.
func harnessBar(v api.RunView) (total, done int64) {
	p := facts(v).Progress
	if p == nil || p.Total <= 0 {
		return 1, 0
	}
	return 1000, min(1000, int64(1000*p.Done/p.Total))
}

func metricsText(metrics []assay.Metric) string {
	parts := make([]string, len(metrics))
	for i, m := range metrics {
		parts[i] = m.Name + " " + strconv.FormatFloat(m.Value, 'g', 6, 64)
	}
	return strings.Join(parts, ", ")
}

// harnessOutcome is the error that a command ends with when its harness did not complete.
func harnessOutcome(e func(string, ...any) *assay.Error, v api.RunView) error {
	switch {
	case v.State == assay.RunCancelled:
		return e("%s was cancelled", v.ID).WithHint("`assay logs %s` shows what it wrote", v.ID)
	case facts(v).LogBytes == 0:
		return e("%s %s: %s", v.ID, v.State, because(v)).WithHint("`assay runs show %s` tells more", v.ID)
	}
	return e("%s %s: %s", v.ID, v.State, because(v)).WithHint("`assay logs %s --tail 50` shows the end of its output", v.ID)
}

// printHarnessEnd prints how a followed harness ended.
func (a *app) printHarnessEnd(v api.RunView) {
	f := facts(v)
	a.print("%s\n", headText(v))
	a.printResults(v, f)
	if f.Experiment != "" {
		a.print("experiment  %s\n", f.Experiment)
	}
	if len(f.Metrics) > 0 {
		a.print("metrics     %s\n", metricsText(f.Metrics))
	}
	a.print("output      %s", humanize.IBytes(uint64(f.LogBytes)))
	if f.LogBytes > 0 {
		a.print(": `assay logs %s`", v.ID.String())
	}
	a.print("\n")
}

// printResults prints what the result files held.
func (a *app) printResults(v api.RunView, f assay.Harness) {
	if c := v.Cases; c != nil {
		a.print("cases       %d: %s: `assay runs cases %s`\n", c.Total, c.Parts(), v.ID.String())
	}
	for _, r := range f.Results {
		if r.Error != "" {
			a.print("results     %s (%s): %s\n", r.Path, string(r.Format), r.Error)
			continue
		}
		a.print("results     %s (%s): %s\n", r.Path, string(r.Format), count(r.Cases, "case"))
	}
}

// printHarness prints everything about a run of a harness.
func (a *app) printHarness(v api.RunView) {
	f, spec := facts(v), *v.Suite
	a.print("%s\n", headText(v))
	line := func(name, format string, args ...any) { a.print("%-11s %s\n", name, fmt.Sprintf(format, args...)) }
	what := spec.Name
	if v.Kind == assay.RunExternal {
		what += ", which runs elsewhere and reports"
	} else if spec.Version != "" {
		what += " " + shortHash(spec.Version)
	}
	line("suite", "%s", what)
	line("created", "%s", createdText(v.Run, spec.Schedule))
	line("started", "%s", moment(v.StartedAt, time.UTC))
	line("ended", "%s", moment(v.EndedAt, time.UTC))
	if v.CancelRequestedAt != nil {
		line("cancel", "asked for at %s", askedText(v.CancelRequestedAt, v.CancelRequestedBy))
	}
	if f.Where != "" || f.PID != 0 {
		where := fmt.Sprintf("%s, pid %d", orDash(f.Where), f.PID)
		if f.Launch > 0 {
			where += fmt.Sprintf(", launch %d", f.Launch)
		}
		line("where", "%s", where)
	}
	line("command", "%s", orDash(assay.ShellLine(spec.Argv)))
	if spec.Def != nil {
		line("folder", "%s", spec.Def.Dir)
	}
	for i, p := range spec.Params {
		line(once(i, "parameters"), "%s = %s (%s)", p.Name, string(p.Value), sourceText(p.Source))
	}
	for i, e := range f.Env {
		line(once(i, "environment"), "%s", e)
	}
	if x := f.Exit; x != nil {
		line("exit", "%s", exitText(*x))
	}
	if v.State == assay.RunRunning {
		line("heartbeat", "%s, taken up %s", moment(v.HeartbeatAt, time.UTC), count(v.Epoch, "time"))
	}
	if f.ActiveAt != nil {
		silent := ""
		if v.SilentSince() != nil {
			silent = " (alive, and silent since then)"
		}
		line("activity", "%s%s", moment(f.ActiveAt, time.UTC), silent)
	}
	if p := f.Progress; p != nil {
		text := strings.TrimSpace(farText(*p) + " " + p.Text)
		if p.Guessed {
			text += " (as its output looks)"
		}
		line("progress", "%s at %s", text, moment(&p.At, time.UTC))
	}
	for i, m := range f.Metrics {
		line(once(i, "metrics"), "%s %s", m.Name, strconv.FormatFloat(m.Value, 'g', 10, 64))
	}
	for i, l := range f.Links {
		line(once(i, "links"), "%s", strings.TrimSpace(l.URL+" "+l.Text))
	}
	if f.Experiment != "" {
		line("experiment", "%s", f.Experiment)
	}
	a.printResults(v, f)
	output := fmt.Sprintf("%s, %s", humanize.IBytes(uint64(f.LogBytes)), count(f.LogLines, "line"))
	if f.LogDropped > 0 {
		output += fmt.Sprintf("; %s between its head and its tail are not kept", humanize.IBytes(uint64(f.LogDropped)))
	}
	line("output", "%s", output)
	if f.LateAt != nil {
		line("late", "%s reported after the end: %s", moment(f.LateAt, time.UTC), f.Late)
	}
}

// once names the first of several lines.
func once(i int, name string) string {
	if i > 0 {
		return ""
	}
	return name
}

// sourceText says who chose a parameter's value.
func sourceText(s assay.ParamSource) string {
	switch s {
	case assay.ParamGiven:
		return "given"
	case assay.ParamScheduled:
		return "of the schedule"
	}
	return "default"
}

// exitText says how a harness ended.
func exitText(x assay.Exit) string {
	text := fmt.Sprintf("code %d", x.Code)
	switch {
	case x.Cause == assay.ExitLaunchFailed:
		return "could not be started: " + x.Error
	case x.Signal != "":
		text = "signal " + x.Signal
	}
	switch x.Cause {
	case assay.ExitTimeLimit:
		text += ", ended at its time limit"
	case assay.ExitCancel:
		text += ", ended by a cancel"
	case assay.ExitOrphaned:
		text += ", ended because no process watched it"
	}
	if x.Killed {
		text += ", killed after its grace"
	}
	if x.Error != "" {
		text += "; " + x.Error
	}
	return text + " at " + moment(&x.At, time.UTC)
}
