package api_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/report"
	"assay/internal/report/gate"
	"assay/internal/stats"
)

// graded is a world with n sessions of one user that "good" graded in run g.
func graded(t *testing.T, n int) (w *world, g assay.RunID) {
	t.Helper()
	w = stocked(t, n)
	w.judge.open()
	v, err := w.tcp.Grade(t.Context(), "default", good(), "")
	if err != nil {
		t.Fatal(err)
	}
	ended(t, w.tcp, v.ID)
	return w, v.ID
}

func reported(t *testing.T, w *world, id assay.RunID, q api.ReportQuery) (r report.Report) {
	t.Helper()
	raw, err := w.tcp.Report(t.Context(), id, q)
	if err != nil {
		t.Fatal(err)
	}
	unmarshal(t, raw, &r)
	return r
}

// All was graded: the window is known exactly, and of one user nothing is said about the process. What is asked
// of a report comes through the address.
func TestReport(t *testing.T) {
	w, id := graded(t, 24)
	r := reported(t, w, id, api.ReportQuery{})
	if len(r.Judges) != 1 || r.Target != stats.Window || r.Confidence != 0.95 || r.Headline == "" {
		t.Fatalf("%+v", r)
	}
	all := r.Judges[0].Criteria[0].Measures[0].Overall
	if all.Value == nil || *all.Value != 1 || all.Interval == nil || all.Interval.Method != stats.MethodCensus || all.Interval.Low != 1 {
		t.Errorf("window: %+v", all)
	}

	r = reported(t, w, id, api.ReportQuery{
		Target: "process", Confidence: 0.8, Control: "b", Shares: "a=1,b=3", Gates: []string{"rate < 0.5", "coverage < 0.95"},
	})
	all = r.Judges[0].Criteria[0].Measures[0].Overall
	if r.Target != stats.Process || r.Confidence != 0.8 || all.Interval != nil || all.IntervalAbsent != stats.TooFewUsers {
		t.Errorf("process: %s at %v, %+v", r.Target, r.Confidence, all)
	}
	if lifts := r.Judges[0].Criteria[0].Lifts; len(lifts) != 1 || lifts[0].Control != "b" || lifts[0].Arm != "a" {
		t.Errorf("lifts: %+v", lifts)
	}
	if a := r.Assignment; a == nil || a.Arms[0].Meant == nil || *a.Arms[0].Meant != 0.25 {
		t.Errorf("assignment: %+v", a)
	}
	if len(r.Gates) != 2 || r.Gates[0].Decision != gate.Inconclusive || r.Gates[1].Decision != gate.Pass {
		t.Errorf("gates: %+v", r.Gates)
	}
}

func TestReportRefuses(t *testing.T) {
	w, id := graded(t, 6)
	for name, q := range map[string]api.ReportQuery{
		"target":          {Target: "tomorrow"},
		"confidence":      {Confidence: 1},
		"shares":          {Shares: "a=0"},
		"gate":            {Gates: []string{"rate above 1"}},
		"gate of another": {Gates: []string{"drop > 0.1"}},
	} {
		if _, err := w.tcp.Report(t.Context(), id, q); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := w.tcp.Report(t.Context(), id+1, api.ReportQuery{})
	holds(t, err, assay.CodeNotFound)
}

// fetched is a file of the API. A page of others' texts must not run anything where it is shown.
func fetched(t *testing.T, w *world, path string, q url.Values, status int) (body string, h http.Header) {
	t.Helper()
	resp, err := http.Get("http://" + w.address + "/api/v1/runs/" + path + "/export?" + q.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Fatalf("%s %v: %s, %v\n%s", path, q, resp.Status, err, raw)
	}
	return string(raw), resp.Header
}

func TestExportReport(t *testing.T) {
	w, id := graded(t, 24)
	for format, want := range map[string]struct{ kind, ending, text string }{
		"text":     {"text/plain", ".txt", "Report of " + id.String()},
		"markdown": {"text/markdown", ".md", "# Report of " + id.String()},
		"html":     {"text/html", ".html", "<!doctype html>"},
		"csv":      {"text/csv", ".csv", "run,judge,"},
		"json":     {"application/json", ".json", `"headline"`},
	} {
		body, h := fetched(t, w, id.String()+"/report", url.Values{"format": {format}}, http.StatusOK)
		if !strings.Contains(body, want.text) || strings.Contains(body, "\x1b") || !strings.HasPrefix(h.Get("Content-Type"), want.kind) {
			t.Errorf("%s: %v\n%s", format, h, body)
		}
		if d := h.Get("Content-Disposition"); d != `attachment; filename="report-`+id.String()+want.ending+`"` {
			t.Errorf("%s: %s", format, d)
		}
		if p := h.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") || !strings.Contains(p, "sandbox") {
			t.Errorf("%s: policy %q", format, p)
		}
	}
	body, _ := fetched(t, w, id.String()+"/report", url.Values{"format": {"text"}, "target": {"process"}, "gate": {"rate < 0.5", "coverage < 0.9"}}, http.StatusOK)
	if !strings.Contains(body, "target  process") || strings.Count(body, "coverage < 0.9: pass") != 1 || !strings.Contains(body, "rate < 0.5") {
		t.Errorf("query of an export:\n%s", body)
	}
	for _, format := range []string{"", "pdf"} {
		fetched(t, w, id.String()+"/report", url.Values{"format": {format}}, http.StatusUnprocessableEntity)
	}
}
