package print_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/report"
	"assay/internal/report/number"
	"assay/internal/report/print"
	"assay/internal/report/reporttest"
	"assay/internal/stats"
)

func text(t *testing.T, r report.Report, columns int) string {
	t.Helper()
	var out bytes.Buffer
	if err := print.Report(&out, print.Text, r, columns); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func holds(t *testing.T, out string, want ...string) {
	t.Helper()
	flat := strings.Join(strings.Fields(out), " ")
	for _, w := range want {
		if !strings.Contains(flat, w) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
}

// A run of one question without arms is two screens and no more.
func TestSimpleReport(t *testing.T) {
	var list []reporttest.Session
	for i := range 60 {
		list = append(list, reporttest.Session{User: fmt.Sprint("u", i), ID: fmt.Sprint("s", i), Day: fmt.Sprintf("2026-03-0%d", 1+i%3)})
	}
	w := reporttest.New(t, list)
	w.Judge("polite", "0123456789abcdef", assay.Criterion{Name: "polite", Type: assay.Boolean, Question: "Was the agent polite?"})
	run := w.Run(reporttest.Plan{Judge: "polite"}, func(s reporttest.Session, _ int) reporttest.Answer {
		yes := !strings.HasSuffix(s.ID, "7")
		return reporttest.Answer{Pass: &yes, Findings: []assay.Finding{reporttest.Said("polite", yes, "it said please")}}
	})
	r, err := report.Build(w.Ctx, w.Store, run, report.Options{})
	w.Must(err)
	out := text(t, r, 100)
	golden(t, "simple.txt", []byte(out))
	if lines := strings.Count(out, "\n"); lines > 80 {
		t.Errorf("%d lines", lines)
	}
	if strings.Contains(out, "agent ") && strings.Contains(out, "source ") {
		t.Error("parts are shown of which there is one")
	}
	r, err = report.Build(w.Ctx, w.Store, run, report.Options{Target: stats.Process})
	w.Must(err)
	holds(t, text(t, r, 100), "target process: what the agent does on traffic like this", "users")
}

// Nothing is said of a lift where sessions did not go to the arms as meant, and it is the first thing said.
func TestMismatchWithholdsLifts(t *testing.T) {
	r := finished(t, report.Options{Shares: map[string]float64{assay.Treatment: 0.05, assay.Control: 0.95}})
	if !r.Assignment.Mismatch {
		t.Fatalf("no mismatch: %+v", r.Assignment)
	}
	for _, f := range []print.Format{print.Text, print.Markdown, print.HTML} {
		var out bytes.Buffer
		if err := print.Report(&out, f, r, 100); err != nil {
			t.Fatal(err)
		}
		holds(t, out.String(), "Lifts are withheld", "Sessions did not go to the arms as meant")
		if lift := r.Judges[0].Criteria[0].Lifts[0].Lift; strings.Contains(out.String(), lift.Interval.Between(number.Points)) {
			t.Errorf("%s prints a lift that is withheld", f)
		}
	}
}

func TestWarnings(t *testing.T) {
	r := finished(t, report.Options{})
	low := 0.9412
	r.Judges[0].Coverage = &low
	r.Run.Partial = true
	out := text(t, r, 100)
	holds(t, out, "! solved answered only 94.1 % of the sample", "! Partial: this run was ended early", "r1, grade, completed, partial")
	if strings.Index(out, "! Partial") > strings.Index(out, "pass: the judge's rule") {
		t.Error("a warning stands behind numbers")
	}
	r.Covers.Complete, r.Run.Retries = false, []assay.RunID{7}
	holds(t, text(t, r, 100), "r1 retries what did not end well in r7 and has not ended")
}

// What a run cost is never 0 for want of knowing.
func TestCostUnknown(t *testing.T) {
	r := finished(t, report.Options{})
	holds(t, text(t, r, 100), "cost USD unknown for 210 calls")
	var known assay.USD = 1_500_000_000
	r.Spend = report.Spend{Attempts: 10, Known: known, Unpriced: 2}
	holds(t, text(t, r, 100), "2 calls", "tokens none reported")
}

// Every number stands with its interval, n and coverage or with why not, at every width.
func TestAlwaysShown(t *testing.T) {
	r := finished(t, report.Options{})
	for columns := 40; columns <= 160; columns += 20 {
		out := text(t, r, columns)
		for _, line := range strings.Split(out, "\n") {
			if strings.Contains(line, "value") && strings.Contains(line, " n ") && (!strings.Contains(line, "interval") || !strings.Contains(line, "coverage")) {
				t.Errorf("%d columns: %s", columns, line)
			}
		}
		holds(t, out, "81.9 % 79.1 to 84.5", "exact")
	}
}

func TestParseFormat(t *testing.T) {
	for in, want := range map[string]print.Format{"text": print.Text, ".md": print.Markdown, "HTML": print.HTML, "csv": print.CSV, "json": print.JSON, "xml": print.JUnit} {
		if got, err := print.ParseFormat(in); err != nil || got != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	if _, err := print.ParseFormat("pdf"); err == nil {
		t.Error("pdf is no format")
	}
	if out := text(t, report.Report{}, 100); out == "" {
		t.Error("an empty report is an empty page")
	}
}

// What failing sessions were answered is told with their reasons; a question that is answered with no is no fail.
func TestWhatTheFailsSay(t *testing.T) {
	r := finished(t, report.Options{})
	r.Judges[0].Fails[0].Types = []report.Reason{{Text: "polite: no\x1b[2J", N: 3}, {Text: "solved: no", N: 2}}
	r.Judges[0].Fails = append(r.Judges[0].Fails, report.Fails{Criterion: "escalated", N: 300, Reasons: []report.Reason{{Text: "it was not needed", N: 300}}})
	out := text(t, r, 100)
	holds(t, out, fmt.Sprintf("What the %d fails say", r.Judges[0].Fails[0].N), "polite: no\ufffd[2J 3", "5 of them, drawn at random:")
	if strings.Contains(out, "it was not needed") {
		t.Error("no to a question counts as a fail")
	}
}
