package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
)

// printJSON prints one object, indented for reading.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printLine prints one object on one line, for lists and streams.
func (a *app) printLine(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// table aligns rows; the first is the header. Cells come from sessions and providers, so control
// characters in them never reach the terminal.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, header ...string) *table {
	t := &table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(header...)
	return t
}

func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = clean(c)
	}
	fmt.Fprintln(t.w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
}

func (t *table) end() error { return t.w.Flush() }

// clean makes text safe for a terminal: no control characters, one line.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
}

// short cuts text to n characters for a table.
func short(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// moment prints a time in zone, with the zone named, or a dash.
func moment(t *time.Time, zone *time.Location) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return t.In(zone).Format("2006-01-02 15:04:05 MST")
}

// count prints a number with the noun it counts: 1 run, 2 runs.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return humanize.Comma(n) + " " + noun + "s"
}

// span prints a duration as people say it: 12s, 3m20s, 2h05m.
func span(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// passMark prints a pass that may be undefined.
func passMark(pass *bool) string {
	switch {
	case pass == nil:
		return "-"
	case *pass:
		return "pass"
	}
	return "fail"
}

// print writes to stdout, with control characters of its operands taken out.
func (a *app) print(format string, operands ...any) {
	for i, o := range operands {
		if s, ok := o.(string); ok {
			operands[i] = clean(s)
		}
	}
	fmt.Fprintf(a.out, format, operands...)
}

// endTable prints the table, and says when rows were left.
func (a *app) endTable(t *table, more bool) error {
	if err := t.end(); err != nil {
		return err
	}
	if more {
		a.say("more rows were left; raise --limit, or --limit 0 for all")
	}
	return nil
}
