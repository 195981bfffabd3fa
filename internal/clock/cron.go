package clock

import (
	"math/bits"
	"strconv"
	"strings"
	"time"

	"assay/internal/assay"
)

// cron is a parsed expression: for each field a bit for each value that it takes.
type cron struct {
	minute, hour, day, month, weekday uint64
	either                            bool // day and weekday are both restricted: one of them is enough
}

// field is one place of an expression.
type field struct {
	name     string
	min, max int
	names    []string // of values, from min
	into     func(*cron) *uint64
}

var fields = []field{
	{"minute", 0, 59, nil, func(c *cron) *uint64 { return &c.minute }},
	{"hour", 0, 23, nil, func(c *cron) *uint64 { return &c.hour }},
	{"day of month", 1, 31, nil, func(c *cron) *uint64 { return &c.day }},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}, func(c *cron) *uint64 { return &c.month }},
	{"day of week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, func(c *cron) *uint64 { return &c.weekday }},
}

const sunday7 = 7 // Sunday may be written 7 as well as 0

// parseCron reads minute, hour, day of month, month and day of week. In each: *, a value, a range a-b, and
// steps */s, a-b/s and a/s (from a to the end), several with commas; months and weekdays by their English
// names too. Where neither day begins with * either of the two is enough, as in every cron.
func parseCron(text string) (c cron, err error) {
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		return c, bad("cron %q has %d fields, not 5", text, len(parts)).
			WithHint("write minute, hour, day of month, month and day of week: '0 3 * * *' is daily at 03:00")
	}
	for i, f := range fields {
		set := f.into(&c)
		for item := range strings.SplitSeq(parts[i], ",") {
			values, err := f.parse(item)
			if err != nil {
				return c, bad("cron %q: %w", text, err).WithHint("%s", f.hint())
			}
			*set |= values
		}
	}
	if c.weekday&(1<<sunday7) != 0 {
		c.weekday |= 1
	}
	c.either = !strings.HasPrefix(parts[2], "*") && !strings.HasPrefix(parts[4], "*")
	return c, nil
}

func (f field) hint() string {
	hint := "the " + f.name + " is " + strconv.Itoa(f.min) + " to " + strconv.Itoa(f.max)
	if f.names != nil {
		hint += " or " + f.names[0] + " to " + f.names[len(f.names)-1]
	}
	return hint + "; * is every one, */2 every second one, 1-3 a range, and commas join several"
}

// parse reads one item between commas.
func (f field) parse(item string) (values uint64, err error) {
	text, stepText, stepped := strings.Cut(item, "/")
	low, high := f.min, f.max
	if text != "*" {
		from, to, ranged := strings.Cut(text, "-")
		if low, err = f.value(from, item); err != nil {
			return 0, err
		}
		switch {
		case ranged:
			if high, err = f.value(to, item); err != nil {
				return 0, err
			}
			if high < low {
				return 0, bad("the range %s of the %s runs backwards", text, f.name)
			}
		case !stepped:
			high = low
		}
	}
	step := 1
	if stepped {
		if step, err = strconv.Atoi(stepText); err != nil || step < 1 || step > f.max-f.min {
			return 0, bad("the step %q of the %s is not a number from 1 to %d", stepText, f.name, f.max-f.min)
		}
	}
	for v := low; v <= high; v += step {
		values |= 1 << v
	}
	return values, nil
}

func (f field) value(text, item string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, nil
		}
	}
	v, err := strconv.Atoi(text)
	if err != nil || strings.ContainsAny(text, "+-") {
		return 0, bad("%q of the %s is not a value", item, f.name)
	}
	if v < f.min || v > f.max {
		return 0, bad("%s %s is out of range", f.name, text)
	}
	return v, nil
}

func bad(format string, args ...any) *assay.Error {
	return assay.Errorf(assay.CodeInvalid, format, args...)
}

// calendar is after how many years days of the month and of the week repeat.
const calendar = 400

// after is the first time of a wall clock after t that the expression meets; false: it never comes. Wall
// times are written as if they were UTC, which has every one of them once.
func (c cron) after(t time.Time) (time.Time, bool) {
	t = t.Truncate(time.Minute).Add(time.Minute)
	for end := t.AddDate(calendar, 0, 1); t.Before(end); {
		switch {
		case c.month&(1<<t.Month()) == 0:
			t = time.Date(t.Year(), t.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		case !c.onDay(t):
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
		case c.hour&(1<<t.Hour()) == 0:
			t = t.Truncate(time.Hour).Add(time.Hour)
		case c.minute>>t.Minute() == 0: // none is left in this hour
			t = t.Truncate(time.Hour).Add(time.Hour)
		default:
			return t.Add(time.Duration(bits.TrailingZeros64(c.minute>>t.Minute())) * time.Minute), true
		}
	}
	return time.Time{}, false
}

func (c cron) onDay(t time.Time) bool {
	day, weekday := c.day&(1<<t.Day()) != 0, c.weekday&(1<<t.Weekday()) != 0
	if c.either {
		return day || weekday
	}
	return day && weekday
}
