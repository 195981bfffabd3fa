package print_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/compare"
	"assay/internal/report/print"
	"assay/internal/report/reporttest"
	"assay/internal/store"
)

func compared(t *testing.T) (compare.Comparison, []compare.Flip) {
	w := world(t)
	w.Run(reporttest.Plan{Judge: "solved", Repeats: 2}, said)
	a := w.Run(reporttest.Plan{Judge: "solved"}, said)
	least, most := 1.0, 5.0
	w.Judge("solved", "fedcba9876543210", assay.Criterion{Name: "solved", Type: assay.Boolean, Question: "Did the agent really solve it?"},
		assay.Criterion{Name: "score", Type: assay.Number, Min: &least, Max: &most}, assay.Criterion{Name: "tone", Type: assay.Boolean})
	b := w.Run(reporttest.Plan{Judge: "solved", Chosen: func(s reporttest.Session) bool { return s.ID != "s011" }}, func(s reporttest.Session, repeat int) reporttest.Answer {
		var i int
		fmt.Sscanf(s.ID, "s%d", &i)
		out := said(s, repeat)
		if out.Pass != nil && i%9 == 4 {
			out.Pass = new(!*out.Pass)
			out.Findings[0] = reporttest.Said("solved", *out.Pass, hostile)
		}
		return out
	})
	o := compare.Options{Gates: gates(t, "drop > 0.02", "coverage < 0.9", "drop > 20%")}
	c, err := compare.Build(w.Ctx, w.Store, a, b, o)
	w.Must(err)
	flips, _, err := compare.Flips(w.Ctx, w.Store, a, b, o, "", "", store.Page{Limit: 10})
	w.Must(err)
	return c, flips
}

func TestComparison(t *testing.T) {
	c, flips := compared(t)
	for _, f := range []struct {
		name    string
		format  print.Format
		columns int
	}{{"comparison-100.txt", print.Text, 100}, {"comparison-60.txt", print.Text, 60}, {"comparison.md", print.Markdown, 0}, {"comparison.html", print.HTML, 0},
		{"comparison.csv", print.CSV, 0}, {"comparison.xml", print.JUnit, 0}} {
		var out bytes.Buffer
		if err := print.Comparison(&out, f.format, c, flips, f.columns); err != nil {
			t.Fatal(err)
		}
		golden(t, f.name, out.Bytes())
		if f.format == print.JUnit {
			var back struct {
				Suite struct {
					Tests    int `xml:"tests,attr"`
					Failures int `xml:"failures,attr"`
					Errors   int `xml:"errors,attr"`
				} `xml:"testsuite"`
			}
			if err := xml.Unmarshal(out.Bytes(), &back); err != nil || back.Suite.Tests != 4 {
				t.Errorf("%+v, %v", back, err)
			}
		}
	}
}
