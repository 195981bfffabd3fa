package print

import (
	"encoding/xml"
	"io"

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

// junit has a test case for each gate, and one for the report itself, which always passes. A gate that is inconclusive
// is an error and not a failure: nobody knows.
func junit(w io.Writer, name, what, headline string, gates []gate.Outcome) error {
	s := suite{Name: name, Cases: []testCase{{Class: name, Name: what, Out: page.Clean(headline)}}}
	for _, g := range gates {
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
