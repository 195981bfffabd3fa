// Package report understands what a harness says about itself: the lines of its report channel, and the
// little that is recognised in its output.
//
// It is pure. Its invariant: what a harness printed is never taken for what it reported. From output come
// only a guess of progress, marked as one, and the experiment's address where the suite asks for it.
package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"assay/internal/assay"
	"assay/internal/logs"
)

// Event is one thing that a harness said. Exactly one of the pointers and Experiment is set.
type Event struct {
	N          int64           `json:"n,omitempty"` // from 1, in the order in which they came
	At         time.Time       `json:"at"`
	Progress   *assay.Progress `json:"progress,omitempty"`
	Metric     *assay.Metric   `json:"metric,omitempty"`
	Link       *assay.Link     `json:"link,omitempty"`
	Experiment string          `json:"experiment,omitempty"`
}

// MaxLine bounds a line, in bytes.
const MaxLine = 4 << 10

// Parse reads a line of the report channel:
//
//	progress DONE[/TOTAL] [text]
//	metric NAME VALUE
//	link URL [text]
//
// The error says what is wrong with the line and how it should be.
func Parse(line string, now time.Time) (e Event, err error) {
	if len(line) > MaxLine {
		return e, fmt.Errorf("a line of %d bytes is too long, %d are allowed", len(line), MaxLine)
	}
	verb, rest := word(line)
	first, text := word(rest)
	text = brief(text)
	e.At = now
	switch verb {
	case "progress":
		e.Progress, err = progress(first, text, now)
	case "metric":
		e.Metric, err = metric(first, text, now)
	case "link":
		e.Link, err = link(first, text)
	default:
		err = fmt.Errorf("%.40q is not known: a line is `progress DONE/TOTAL [text]`, `metric NAME VALUE` or `link URL [text]`", verb)
	}
	return e, err
}

// word is the first word of s, and the rest.
func word(s string) (first, rest string) {
	s = strings.TrimSpace(s)
	if i := strings.IndexFunc(s, unicode.IsSpace); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

func progress(first, text string, now time.Time) (*assay.Progress, error) {
	done, total, hasTotal := strings.Cut(first, "/")
	p := &assay.Progress{Text: text, At: now}
	var err error
	if p.Done, err = number(done); err == nil && hasTotal {
		p.Total, err = number(total)
	}
	if err != nil || p.Done < 0 || p.Total < 0 || hasTotal && p.Total == 0 {
		return nil, fmt.Errorf("progress %.40q is not DONE or DONE/TOTAL, for instance 3/20", first)
	}
	return p, nil
}

func metric(name, value string, now time.Time) (*assay.Metric, error) {
	x, err := number(value)
	if err != nil || name == "" || len(name) > assay.MaxMetricName || name != clean(name) {
		return nil, fmt.Errorf("metric %.40q %.40q is not NAME VALUE, for instance accuracy 0.93", name, value)
	}
	return &assay.Metric{Name: name, Value: x, At: now}, nil
}

func link(address, text string) (*assay.Link, error) {
	if !assay.WebAddress(address) {
		return nil, fmt.Errorf("link %.60q is not an http or https address, for instance https://example.com/run/7", address)
	}
	return &assay.Link{URL: address, Text: text}, nil
}

// number reads a finite number.
func number(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = fmt.Errorf("%q is not finite", s)
	}
	return x, err
}

// brief is a text as one line without colours, bounded.
func brief(s string) string {
	s = clean(string(logs.Plain([]byte(s))))
	if len(s) > assay.MaxReportText {
		s = strings.ToValidUTF8(s[:assay.MaxReportText], "")
	}
	return s
}

// clean is s without what does not print, among it what turns the direction of writing.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}
