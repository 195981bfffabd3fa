package print

// What the parts of this package share. Of numbers: say, bare, scaleSay, cellOf, intervalOf, worstOf, coverageOf, markOf,
// differenceCells, differenceMark, pOf. Of texts: shortHash, plural, inZone. Of files: write, writeJSON, unknown, newSheet,
// plainText, numberHead with numberCells and differenceFigures. Percents, points and counts are number's.

import (
	"io"
	"strconv"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/report/number"
	"assay/internal/report/page"
	"assay/internal/stats"
)

// say is how a value of a kind of number is written: a share in percent, a mean as it is.
func say(mean bool) func(float64) string {
	if mean {
		return number.Plain
	}
	return number.Percent
}

// scaleSay is how the ends of a scale are written: whole percents, so that they are short.
func scaleSay(mean bool) func(float64) string {
	if mean {
		return func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }
	}
	return func(x float64) string { return strconv.FormatFloat(100*x, 'f', 0, 64) + " %" }
}

// bare is say without the unit, for the ends of a range.
func bare(mean bool) func(float64) string {
	return func(x float64) string { return strings.TrimSuffix(say(mean)(x), " %") }
}

// cellOf is a value, or why there is none.
func cellOf(n number.Number, mean bool) string {
	if n.Value == nil {
		return "absent: " + number.Why(n.Absent)
	}
	return say(mean)(*n.Value)
}

// intervalOf is an interval, or why there is none.
func intervalOf(n number.Number, mean bool) string {
	switch {
	case n.Interval != nil && n.Interval.Low == n.Interval.High && n.Interval.Method == stats.MethodCensus:
		return "exact"
	case n.Interval != nil:
		return n.Interval.Between(bare(mean))
	case n.Value == nil:
		return ""
	}
	return "absent: " + number.Why(n.IntervalAbsent)
}

// worstOf are the worst cases; a limit that is not known is a question mark.
func worstOf(low, high *float64, end func(float64) string) string {
	if low == nil && high == nil {
		return "-"
	}
	text := func(x *float64) string {
		if x == nil {
			return "?"
		}
		return end(*x)
	}
	if low != nil && high != nil && *low == *high {
		return text(low)
	}
	return text(low) + " to " + text(high)
}

func coverageOf(x *float64) string {
	if x == nil {
		return "-"
	}
	return number.Percent(*x)
}

// markOf is a number as a mark; nil where there is none.
func markOf(n number.Number) *page.Mark {
	if n.Value == nil {
		return nil
	}
	m := &page.Mark{Value: *n.Value}
	if n.Interval != nil {
		m.Low, m.High = &n.Interval.Low, &n.Interval.High
	}
	return m
}

// differenceCells are a difference in points (a mean's as it is) and its interval, or why there is none.
func differenceCells(d number.Difference, mean bool) (value, interval string) {
	end := number.Points
	if mean {
		end = number.Plain
	}
	if d.Value == nil {
		return "absent: " + number.Why(d.Absent), ""
	}
	if d.Interval == nil {
		return end(*d.Value), "absent: " + number.Why(d.IntervalAbsent)
	}
	return end(*d.Value), d.Interval.Between(end)
}

// differenceMark is a difference as a mark.
func differenceMark(d number.Difference) *page.Mark {
	if d.Value == nil {
		return nil
	}
	m := &page.Mark{Value: *d.Value}
	if d.Interval != nil {
		m.Low, m.High = &d.Interval.Low, &d.Interval.High
	}
	return m
}

// pOf is a P, or a dash.
func pOf(p *float64) string {
	switch {
	case p == nil:
		return "-"
	case *p < 0.001:
		return "<0.001"
	case *p > 0.9995:
		return ">0.999"
	}
	return strconv.FormatFloat(*p, 'f', 3, 64)
}

func shortHash(h assay.Hash) string {
	if len(h) > 12 {
		return string(h[:12])
	}
	return string(h)
}

// plural is a count with its noun.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number.Whole(n) + " " + noun + "s"
}

func inZone(at time.Time, zone string) string {
	const form = "2006-01-02 15:04 MST"
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return at.UTC().Format(form) + " (zone " + zone + " is not known here)"
	}
	return at.In(loc).Format(form)
}

// write writes a page in one of the formats that a page has.
func write(w io.Writer, f Format, p page.Page, columns int) error {
	switch f {
	case Markdown:
		return p.Markdown(w)
	case HTML:
		return p.HTML(w)
	}
	return p.Text(w, columns)
}
