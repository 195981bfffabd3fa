// Package print makes pages and files of reports, comparisons, checks and proposals.
//
// It owns their words and order, and their CSV and JUnit. It refuses to know where numbers come from and how a page is
// drawn (package page). Its invariant: every number that it prints stands with its interval, n and coverage, or with
// why there is none.
package print

import (
	"io"

	"assay/internal/assay"
	"assay/internal/report"
	"assay/internal/report/check"
	"assay/internal/report/compare"
	"assay/internal/report/propose"
)

// Format is what is written.
type Format string

const (
	Text     Format = "text"
	Markdown Format = "markdown"
	HTML     Format = "html"
	CSV      Format = "csv"
	JSON     Format = "json"
	JUnit    Format = "junit" // of what has gates
)

// ParseFormat reads a format, or the ending of a file's name: md, htm, xml.
func ParseFormat(text string) (Format, error) { return "", errUnbuilt }

// Report writes a report. Columns are a terminal's, 0 where there is none.
func Report(w io.Writer, f Format, r report.Report, columns int) error { return errUnbuilt }

// Noise writes only how far gradings of one session agree.
func Noise(w io.Writer, r report.Report, columns int) error { return errUnbuilt }

// Comparison writes a comparison, with the flips that are given (a page of them).
func Comparison(w io.Writer, f Format, c compare.Comparison, flips []compare.Flip, columns int) error {
	return errUnbuilt
}

// Check writes a check.
func Check(w io.Writer, f Format, c check.Check, columns int) error { return errUnbuilt }

// Proposals writes proposals; as text only.
func Proposals(w io.Writer, p propose.Proposals, columns int) error { return errUnbuilt }

var errUnbuilt = assay.Errorf(assay.CodeInternal, "printing is not built yet")
