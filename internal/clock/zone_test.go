package clock

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	m, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func def(cron, zone string) assay.ScheduleDef {
	return assay.ScheduleDef{Cron: cron, Zone: zone, CatchUp: assay.CatchUpOne, Overlap: assay.OverlapSkip, Suite: &assay.ScheduledSuite{Name: "s"}}
}

func TestTicksAroundAShiftOfTheClock(t *testing.T) {
	for _, c := range []struct{ name, cron, zone, after, want string }{
		{"skipped hour comes at the shift", "30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00+01:00", "2026-03-29T03:00:00+02:00 2026-03-30T02:30:00+02:00"},
		{"several skipped ticks come once", "*/15 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00"},
		{"a skipped one and one at the shift are one", "0 2,3 * * *", "Europe/Berlin", "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00 2026-03-30T02:00:00+02:00"},
		{"repeated hour comes the first time", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00+02:00", "2026-10-25T02:30:00+02:00 2026-10-26T02:30:00+01:00"},
		{"asked in the repeated hour", "30 2 * * *", "Europe/Berlin", "2026-10-25T02:10:00+01:00", "2026-10-26T02:30:00+01:00"},
		{"after the repeated hour", "0 3 * * *", "Europe/Berlin", "2026-10-25T02:59:00+02:00", "2026-10-25T03:00:00+01:00"},
		{"each hour", "0 * * * *", "Europe/Berlin", "2026-10-25T01:00:00+02:00", "2026-10-25T02:00:00+02:00 2026-10-25T03:00:00+01:00"},
		{"half an hour forward", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00+10:30", "2026-10-04T02:30:00+11:00 2026-10-05T02:15:00+11:00"},
		{"half an hour back", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00+11:00", "2026-04-05T01:45:00+11:00 2026-04-06T01:45:00+10:30"},
		{"a midnight that is not", "0 0 * * *", "America/Santiago", "2026-09-05T12:00:00-04:00", "2026-09-06T01:00:00-03:00 2026-09-07T00:00:00-03:00"},
		{"a midnight that comes twice", "0 0 * * *", "America/Santiago", "2026-04-04T12:00:00-03:00", "2026-04-05T00:00:00-04:00 2026-04-06T00:00:00-04:00"},
		{"the evening before it", "30 23 * * *", "America/Santiago", "2026-04-04T12:00:00-03:00", "2026-04-04T23:30:00-03:00 2026-04-05T23:30:00-04:00"},
		{"a day that is not", "0 12 * * *", "Pacific/Apia", "2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00 2011-12-31T12:00:00+14:00"},
		{"a quarter zone", "0 9 * * 1", "Asia/Kathmandu", "2026-06-01T09:00:00+05:45", "2026-06-08T09:00:00+05:45"},
		{"strictly after", "0 3 * * *", "UTC", "2026-06-01T03:00:00Z", "2026-06-02T03:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := at(t, c.after)
			for _, want := range strings.Fields(c.want) {
				next, err := Next(def(c.cron, c.zone), now)
				if err != nil || !next.Equal(at(t, want)) {
					t.Fatalf("after %s: %s (%v), want %s", now, next, err, want)
				}
				now = next
			}
		})
	}
}

// The slow definition: walk the minutes of the world, keep the latest that the clock has shown, and tick
// where it passes one or more wall minutes that match. It shares nothing with Next but the zones.
func slowly(cronText string, zone *time.Location, from time.Time, minutes int) (ticks []time.Time) {
	clock := func(m time.Time) time.Time {
		y, mo, d := m.In(zone).Date()
		h, mi, _ := m.In(zone).Clock()
		return time.Date(y, mo, d, h, mi, 0, 0, time.UTC)
	}
	latest := clock(from.Add(-72 * time.Hour))
	for m := from.Add(-72 * time.Hour); m.Before(from.Add(time.Duration(minutes) * time.Minute)); m = m.Add(time.Minute) {
		ticked := false
		for w := latest.Add(time.Minute); !w.After(clock(m)); w = w.Add(time.Minute) {
			latest = w
			ticked = ticked || slowMatch(cronText, w)
		}
		if ticked && m.After(from) {
			ticks = append(ticks, m)
		}
	}
	return ticks
}

func slowMatch(cronText string, w time.Time) bool {
	f := strings.Fields(cronText)
	day, weekday := slowField(f[2], w.Day(), 1, 31), slowField(f[4], int(w.Weekday()), 0, 6) || slowField(f[4], 7, 0, 7) && w.Weekday() == 0
	on := day && weekday
	if f[2][0] != '*' && f[4][0] != '*' {
		on = day || weekday
	}
	return on && slowField(f[0], w.Minute(), 0, 59) && slowField(f[1], w.Hour(), 0, 23) && slowField(f[3], int(w.Month()), 1, 12)
}

func slowField(text string, v, low, high int) bool {
	return slices.ContainsFunc(strings.Split(text, ","), func(item string) bool {
		span, stepText, _ := strings.Cut(item, "/")
		step, _ := strconv.Atoi(stepText)
		from, to := low, high
		if span != "*" {
			a, b, ranged := strings.Cut(span, "-")
			from, _ = strconv.Atoi(a)
			if to = from; ranged {
				to, _ = strconv.Atoi(b)
			} else if step > 0 {
				to = high
			}
		}
		return v >= from && v <= to && (v-from)%max(step, 1) == 0
	})
}

func randomField(rng *rand.Rand, low, high int) string {
	value := func() int { return low + rng.IntN(high-low+1) }
	switch rng.IntN(6) {
	case 0:
		return strconv.Itoa(value())
	case 1:
		a, b := value(), value()
		return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
	case 2:
		return fmt.Sprintf("*/%d", 1+rng.IntN(high-low))
	case 3:
		return fmt.Sprintf("%d,%d", value(), value())
	case 4:
		a, b := value(), value()
		return fmt.Sprintf("%d-%d/%d,%d/%d", min(a, b), max(a, b), 1+rng.IntN(high-low), value(), 1+rng.IntN(high-low))
	}
	return "*"
}

func TestNextIsWhatWalkingTheMinutesFinds(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Casablanca", "Asia/Kathmandu", "Pacific/Apia", "Antarctica/Troll", "America/St_Johns"}
	rng := rand.New(rand.NewPCG(7, 11))
	for range 400 {
		zone, err := time.LoadLocation(zones[rng.IntN(len(zones))])
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(2005+rng.IntN(30), 1, 1, 0, rng.IntN(366*1440), 0, 0, time.UTC)
		if _, shift := from.In(zone).ZoneBounds(); rng.IntN(4) > 0 && !shift.IsZero() { // near a shift of the clock
			from = shift.UTC().Truncate(time.Minute).Add(time.Duration(rng.IntN(300)-200) * time.Minute)
		}
		expression := strings.Join([]string{randomField(rng, 0, 59), randomField(rng, 0, 23), randomField(rng, 1, 31), "*", randomField(rng, 0, 7)}, " ")
		if rng.IntN(2) == 0 { // hours of the night, each day: where clocks are shifted
			expression = strings.Join([]string{randomField(rng, 0, 59), randomField(rng, 0, 4), "* * *"}, " ")
		}
		const span = 2880
		table, err := parse(def(expression, zone.String()))
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		want := slowly(expression, zone, from, span)
		end := from.Add(span * time.Minute)
		for now := from; ; {
			next, ok := table.next(now)
			if !ok || !next.Before(end) {
				break
			}
			if len(want) == 0 || !next.Equal(want[0]) {
				t.Fatalf("%q in %s after %s: %s, want %v", expression, zone, now.In(zone), next.In(zone), want[:min(1, len(want))])
			}
			now, want = next, want[1:]
		}
		if len(want) > 0 {
			t.Fatalf("%q in %s from %s: %s and later is missing", expression, zone, from.In(zone), want[0].In(zone))
		}
	}
}

// Between two ticks nobody may find another: Next of every moment before a tick is that tick.
func TestNextOfAnyMomentBeforeATickIsTheTick(t *testing.T) {
	d := def("*/20 1,2,3 * * *", "Europe/Berlin")
	for _, from := range []string{"2026-03-29T00:00:00+01:00", "2026-10-25T00:00:00+02:00"} {
		now := at(t, from)
		for range 12 {
			next, err := Next(d, now)
			if err != nil {
				t.Fatal(err)
			}
			for m := now; m.Before(next); m = m.Add(37 * time.Second) {
				if got, _ := Next(d, m); !got.Equal(next) {
					t.Fatalf("after %s: %s, want %s", m, got, next)
				}
			}
			now = next
		}
	}
}
