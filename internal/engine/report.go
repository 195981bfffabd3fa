package engine

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"assay/internal/assay"
	"assay/internal/store"
)

// Report is what an external run says on its way. An empty one is a heartbeat.
type Report struct {
	Progress   *assay.Progress `json:"progress,omitempty"`
	Metrics    []assay.Metric  `json:"metrics,omitempty"`
	Links      []assay.Link    `json:"links,omitempty"`
	Experiment string          `json:"experiment_url,omitempty"`
	LogBytes   int64           `json:"log_bytes,omitempty" doc:"of its output so far"`
	LogLines   int64           `json:"log_lines,omitempty"`
}

// maxReported bounds how many values one report may bring.
const maxReported = 1000

// validate refuses what must not be stored, and fills in times.
func (r *Report) validate(now time.Time) error {
	bad := func(format string, args ...any) error {
		return assay.Errorf(assay.CodeInvalid, "report: "+format, args...)
	}
	if p := r.Progress; p != nil {
		if !finite(p.Done) || !finite(p.Total) || p.Done < 0 || p.Total < 0 || len(p.Text) > assay.MaxReportText {
			return bad("progress: done and total are numbers from 0 on, and its text has at most %d bytes", assay.MaxReportText)
		}
		p.At = orNow(p.At, now)
	}
	if len(r.Metrics) > maxReported || len(r.Links) > assay.MaxLinks || r.LogBytes < 0 || r.LogLines < 0 {
		return bad("at most %d metrics and %d links at once, and no negative log size", maxReported, assay.MaxLinks)
	}
	for i := range r.Metrics {
		m := &r.Metrics[i]
		if m.Name == "" || len(m.Name) > assay.MaxMetricName || strings.ContainsFunc(m.Name, func(r rune) bool { return !unicode.IsPrint(r) }) || !finite(m.Value) {
			return bad("metric %.40q has no name of 1 to %d bytes, all of it printable, or no finite value", m.Name, assay.MaxMetricName)
		}
		m.At = orNow(m.At, now)
	}
	for _, l := range r.Links {
		if !assay.WebAddress(l.URL) || len(l.Text) > assay.MaxReportText {
			return bad("link %.60q is not an http or https address, without a name or password in it, with a text of at most %d bytes", l.URL, assay.MaxReportText)
		}
	}
	if r.Experiment != "" && !assay.WebAddress(r.Experiment) {
		return bad("experiment_url %.60q is not an http or https address", r.Experiment)
	}
	return nil
}

func orNow(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t.UTC()
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// into adds a report to the facts and says whether it was more than a heartbeat.
func (r Report) into(f *assay.Harness, now time.Time) (advanced bool) {
	if r.Progress != nil {
		f.Progress, advanced = r.Progress, true
	}
	for _, m := range r.Metrics {
		advanced = true
		f.Metrics = assay.NewestMetric(f.Metrics, m)
	}
	for _, l := range r.Links {
		advanced = true
		f.Links = assay.AddLink(f.Links, l)
	}
	if r.Experiment != "" {
		f.Experiment, advanced = r.Experiment, true
	}
	if r.logInto(f) {
		advanced = true
	}
	f.Points += int64(len(r.Metrics))
	if advanced {
		f.ActiveAt = &now
	}
	return advanced
}

// logInto stores how much output there is by now.
func (r Report) logInto(f *assay.Harness) (more bool) {
	if more = r.LogBytes > f.LogBytes; more {
		f.LogBytes, f.LogLines = r.LogBytes, max(r.LogLines, f.LogLines)
	}
	return more
}

// maxPoints bounds how many values of metrics an external run keeps over time; of later ones only the newest
// of each name is.
const maxPoints = 100_000

// points numbers values by their time: a report that says when, and is sent twice, makes no second point.
// known is how many were reported before.
func (r Report) points(known int64) []store.Point {
	var points []store.Point
	for i, m := range r.Metrics[:min(int64(len(r.Metrics)), max(0, maxPoints-known))] {
		points = append(points, store.Point{N: m.At.UnixNano() + int64(i), Metric: m})
	}
	return points
}

// String says what a report that came too late held.
func (r Report) String() string {
	var parts []string
	if p := r.Progress; p != nil {
		text := fmt.Sprintf("progress %g", p.Done)
		if p.Total > 0 {
			text += fmt.Sprintf("/%g", p.Total)
		}
		parts = append(parts, text)
	}
	for _, m := range r.Metrics[:min(len(r.Metrics), 10)] {
		parts = append(parts, fmt.Sprintf("%s %g", m.Name, m.Value))
	}
	for _, l := range r.Links[:min(len(r.Links), 10)] {
		parts = append(parts, l.URL)
	}
	if r.Experiment != "" {
		parts = append(parts, r.Experiment)
	}
	if r.LogBytes > 0 {
		parts = append(parts, fmt.Sprintf("%d bytes of log", r.LogBytes))
	}
	if len(parts) == 0 {
		return "a heartbeat"
	}
	return strings.Join(parts, ", ")
}
