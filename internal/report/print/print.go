// Package print makes pages and files of reports, comparisons, checks and proposals.
//
// It owns their words and order, and their CSV and JUnit. It refuses to know where numbers come from and how a page is
// drawn (package page). Its invariant: every number that it prints stands with its interval, n and coverage, or with
// why there is none.
package print

import (
	"encoding/json"
	"io"
	"strings"

	"assay/internal/assay"
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

// ParseFormat reads a format, or the ending of a file's name: txt, md, htm, xml.
func ParseFormat(text string) (Format, error) {
	switch strings.ToLower(strings.TrimPrefix(text, ".")) {
	case "text", "txt":
		return Text, nil
	case "markdown", "md":
		return Markdown, nil
	case "html", "htm":
		return HTML, nil
	case "csv":
		return CSV, nil
	case "json":
		return JSON, nil
	case "junit", "xml":
		return JUnit, nil
	}
	return "", assay.Errorf(assay.CodeInvalid, "format %q is not known", text).WithHint("use text, markdown, html, csv, json or, of a comparison, junit")
}

// unknown refuses a format that something does not have.
func unknown(f Format, what string) error {
	return assay.Errorf(assay.CodeInvalid, "%s cannot be written as %s", what, f).WithHint("use text, markdown, html, csv or json")
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
