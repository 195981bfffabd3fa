package print

import (
	"encoding/xml"
	"io"

	"assay/internal/report/compare"
	"assay/internal/report/gate"
	"assay/internal/report/page"
)

type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suite   suite    `xml:"testsuite"`
}

type suite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Cases    []testCase `xml:"testcase"`
}

type testCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *outcome `xml:"failure,omitempty"`
	Error   *outcome `xml:"error,omitempty"`
	Out     string   `xml:"system-out,omitempty"`
}

type outcome struct {
	Message string `xml:"message,attr"`
}

// comparisonJUnit has a test case for each gate, and one for the comparison itself, which always passes. A gate that
// is inconclusive is an error and not a failure: nobody knows.
func comparisonJUnit(w io.Writer, c compare.Comparison) error {
	name := "assay compare " + c.A.Run.String() + " " + c.B.Run.String()
	s := suite{Name: name, Cases: []testCase{{Class: name, Name: "compared", Out: page.Clean(c.Headline)}}}
	for _, g := range c.Gates {
		one := testCase{Class: name, Name: page.Clean(g.Text)}
		switch g.Decision {
		case gate.Fail:
			s.Failures++
			one.Failure = &outcome{page.Clean(g.Sentence)}
		case gate.Inconclusive:
			s.Errors++
			one.Error = &outcome{page.Clean(g.Sentence)}
		default:
			one.Out = page.Clean(g.Sentence)
		}
		s.Cases = append(s.Cases, one)
	}
	s.Tests = len(s.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(suites{Suite: s}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
