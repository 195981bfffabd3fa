package print_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/report"
	"assay/internal/report/gate"
	"assay/internal/report/number"
	"assay/internal/report/print"
	"assay/internal/report/reporttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares what was written with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what was written (go test -update writes it anew):\n%s", file, got)
	}
}

const hostile = "<script>\x1b[2J\u202eevil\u200b | `x` = @me"

func world(t *testing.T) *reporttest.World {
	var list []reporttest.Session
	for i := range 240 {
		list = append(list, reporttest.Session{User: fmt.Sprintf("u%d", i%60), ID: fmt.Sprintf("s%03d", i), Day: fmt.Sprintf("2026-03-%02d", 1+i%4),
			Arm: []string{assay.Treatment, assay.Control}[i/60%2], Agent: []string{"v1", "v2", assay.Mixed}[i%3], Source: "web"})
	}
	list[7].Arm, list[8].Agent = assay.Untagged, hostile
	w := reporttest.New(t, list)
	least, most := 1.0, 5.0
	w.Judge("solved", "0123456789abcdef", assay.Criterion{Name: "solved", Type: assay.Boolean, Question: "Did the agent solve it?"},
		assay.Criterion{Name: "score", Type: assay.Number, Min: &least, Max: &most},
		assay.Criterion{Name: "kind", Type: assay.Category, Values: []string{"refund", hostile}})
	return w
}

func said(s reporttest.Session, repeat int) reporttest.Answer {
	var i int
	fmt.Sscanf(s.ID, "s%d", &i)
	switch {
	case i%40 == 39:
		return reporttest.Answer{Class: "timeout"}
	case i%60 == 59:
		return reporttest.Answer{Class: "context_too_long"}
	}
	yes := (i*7+i/9)%6 != 0
	if repeat > 0 && i%10 == 0 {
		yes = !yes
	}
	reason := "the tool confirmed it"
	if !yes {
		reason = []string{"no refund was made", "the order was not found", hostile}[i%3]
	}
	return reporttest.Answer{Pass: &yes, Cut: i%50 == 0, Findings: []assay.Finding{
		reporttest.Said("solved", yes, reason), reporttest.Said("score", 1+i%5, ""), reporttest.Said("kind", []string{"refund", hostile}[i%2], "")}}
}

func finished(t *testing.T, o report.Options) report.Report {
	w := world(t)
	run := w.Run(reporttest.Plan{Judge: "solved", Chosen: func(s reporttest.Session) bool { return s.Day != "2026-03-02" || s.ID < "s120" }}, said)
	r, err := report.Build(w.Ctx, w.Store, run, o)
	w.Must(err)
	return r
}

func gates(t *testing.T, texts ...string) (out []gate.Gate) {
	for _, text := range texts {
		g, err := gate.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, g)
	}
	return out
}

func TestReport(t *testing.T) {
	r := finished(t, report.Options{Gates: gates(t, "rate < 0.7", "coverage < 95%", "rate < 0.82")})
	for _, f := range []struct {
		name    string
		format  print.Format
		columns int
	}{{"report-100.txt", print.Text, 100}, {"report-60.txt", print.Text, 60}, {"report.md", print.Markdown, 0}, {"report.html", print.HTML, 0}, {"report.csv", print.CSV, 0}} {
		var out bytes.Buffer
		if err := print.Report(&out, f.format, r, f.columns); err != nil {
			t.Fatal(err)
		}
		golden(t, f.name, out.Bytes())
		for _, raw := range []string{"\x1b", "\u202e", "\u200b"} {
			if f.format != print.CSV && strings.Contains(out.String(), raw) {
				t.Errorf("%s holds %q", f.name, raw)
			}
		}
		if f.format == print.HTML && (strings.Contains(out.String(), "<script") || strings.Contains(out.String(), "://")) {
			t.Error("the page holds a script or a link to elsewhere")
		}
	}
}

func TestReportJSON(t *testing.T) {
	r := finished(t, report.Options{})
	var out bytes.Buffer
	if err := print.Report(&out, print.JSON, r, 0); err != nil {
		t.Fatal(err)
	}
	var back report.Report
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := print.Report(&again, print.JSON, back, 0); err != nil || again.String() != out.String() {
		t.Errorf("JSON that was read back is written otherwise (%v)", err)
	}
	if !reflect.DeepEqual(back.Judges[0].Criteria[0].Measures, r.Judges[0].Criteria[0].Measures) {
		t.Error("measures are lost in JSON")
	}
}

// No text of others is a formula in a spreadsheet or moves a cursor, and every number is one.
func TestReportCSV(t *testing.T) {
	r := finished(t, report.Options{})
	m := &r.Judges[0].Criteria[0].Measures[0]
	for i, name := range []string{"=1+1", "@sum", "-x", "+x", "\t=x", "  =x", "\x1b[2Jx\u202e"} {
		m.ByAgent = append(m.ByAgent, number.Part{Name: name, Number: m.Overall})
		r.Judges[0].Criteria[i%2].Name = name
	}
	r.Judges[0].Name, m.Value = "=judge", "=value"
	var out bytes.Buffer
	if err := print.Report(&out, print.CSV, r, 0); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) < 30 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	negative := false
	for _, row := range rows[1:] {
		for _, cell := range row[:8] {
			if text := strings.TrimLeft(cell, " \t\r"); text != "" && strings.ContainsAny(text[:1], "=+-@") || strings.ContainsAny(cell, "\x1b\u202e") {
				t.Errorf("%q is not safe", cell)
			}
		}
		for i, cell := range row {
			switch name := rows[0][i]; name {
			case "estimate", "low", "high", "coverage", "worst_low", "worst_high", "n", "N", "users":
				if _, err := strconv.ParseFloat(cell, 64); cell != "" && err != nil {
					t.Errorf("%s is %q", name, cell)
				}
				negative = negative || strings.HasPrefix(cell, "-")
			}
		}
		if row[9] == "" && row[22] == "" || row[10] == "" && row[22] == "" && row[23] == "" {
			t.Errorf("no number and no reason: %q", row)
		}
	}
	if !negative {
		t.Error("no negative number was written")
	}
}

func TestUnderWay(t *testing.T) {
	w := world(t)
	for name, pending := range map[string]func(i int) bool{"running": func(i int) bool { return i > 90 }, "nothing": func(int) bool { return true }} {
		i := -1
		run := w.Run(reporttest.Plan{Judge: "solved", Open: true}, func(s reporttest.Session, repeat int) reporttest.Answer {
			if i++; pending(i) {
				return reporttest.Answer{Pending: true}
			}
			return said(s, repeat)
		})
		r, err := report.Build(w.Ctx, w.Store, run, report.Options{})
		w.Must(err)
		r.Run.ID = 1
		var out bytes.Buffer
		w.Must(print.Report(&out, print.Text, r, 100))
		golden(t, name+".txt", out.Bytes())
	}
}

func TestNoise(t *testing.T) {
	w := world(t)
	run := w.Run(reporttest.Plan{Judge: "solved", Repeats: 2}, said)
	r, err := report.Build(w.Ctx, w.Store, run, report.Options{})
	w.Must(err)
	var out bytes.Buffer
	w.Must(print.Noise(&out, r, 100))
	golden(t, "noise.txt", out.Bytes())
}
