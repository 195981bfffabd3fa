package clock

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

func TestRareTicksAreFound(t *testing.T) {
	for _, c := range []struct{ cron, after, want string }{
		{"0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},   // 2100 is no leap year
		{"0 0 29 2 */7", "2026-01-01T00:00:00Z", "2032-02-29T00:00:00Z"}, // a Sunday
		{"0 0 31 * *", "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z"},
		{"0 0 13 * 5", "2026-03-01T00:00:00Z", "2026-03-06T00:00:00Z"}, // either
		{"0 0 */10 * 1", "2026-03-01T00:00:00Z", "2026-05-11T00:00:00Z"},
		{"0 0 * dec sun", "2026-03-01T00:00:00Z", "2026-12-06T00:00:00Z"},
		{"59 23 31 12 7", "2026-12-31T23:59:00Z", "2027-12-05T23:59:00Z"},
		{"0 8 * * MON-Fri", "2026-05-29T08:00:00Z", "2026-06-01T08:00:00Z"},
		{"5/20 * * * *", "2026-05-29T08:26:00Z", "2026-05-29T08:45:00Z"},
	} {
		next, err := Next(def(c.cron, "UTC"), at(t, c.after))
		if err != nil || !next.Equal(at(t, c.want)) {
			t.Errorf("%s after %s: %s (%v), want %s", c.cron, c.after, next, err, c.want)
		}
	}
}

func TestBadDefinitionsAreToldClearly(t *testing.T) {
	ok := def("0 3 * * *", "Europe/Berlin")
	if err := Validate(ok); err != nil {
		t.Fatal(err)
	}
	grade := func(body string) func(*assay.ScheduleDef) {
		return func(d *assay.ScheduleDef) { d.Suite, d.Grade = nil, json.RawMessage(body) }
	}
	cron := func(text string) func(*assay.ScheduleDef) { return func(d *assay.ScheduleDef) { d.Cron = text } }
	for says, change := range map[string]func(*assay.ScheduleDef){
		"has 0 fields, not 5":                              cron(""),
		"has 4 fields, not 5":                              cron("0 3 * *"),
		"has 6 fields, not 5":                              cron("0 0 3 * * *"),
		"has 1 fields, not 5":                              cron("@daily"),
		"minute 61 is out of range":                        cron("61 3 * * *"),
		"hour 24 is out of range":                          cron("0 24 * * *"),
		"day of month 0 is out of range":                   cron("0 3 0 * *"),
		"month 13 is out of range":                         cron("0 3 * 13 *"),
		"day of week 8 is out of range":                    cron("0 3 * * 8"),
		"\"x\" of the hour is not a value":                 cron("0 x * * *"),
		"\"\" of the minute is not a value":                cron("1,,2 3 * * *"),
		"\"-1\" of the minute is not a value":              cron("-1 3 * * *"),
		"\"+1\" of the minute is not a value":              cron("+1 3 * * *"),
		"the range 5-1 of the minute runs backwards":       cron("5-1 3 * * *"),
		"the step \"0\" of the minute is not a number":     cron("*/0 3 * * *"),
		"the step \"90\" of the minute is not a number":    cron("*/90 3 * * *"),
		"the step \"\" of the minute is not a number":      cron("*/ 3 * * *"),
		"\"L\" of the day of month is not a value":         cron("0 3 L * *"),
		"cron \"0 0 30 2 *\" never comes":                  cron("0 0 30 2 *"),
		"cron \"0 0 31 4,6,9,11 *\" never comes":           cron("0 0 31 4,6,9,11 *"),
		"zone \"Europe/Berlinn\" is not known":             func(d *assay.ScheduleDef) { d.Zone = "Europe/Berlinn" },
		"the schedule names no zone":                       func(d *assay.ScheduleDef) { d.Zone = "" },
		"catch_up \"two\" is not known":                    func(d *assay.ScheduleDef) { d.CatchUp = "two" },
		"overlap \"\" is not known":                        func(d *assay.ScheduleDef) { d.Overlap = "" },
		"the schedule starts nothing":                      func(d *assay.ScheduleDef) { d.Suite = nil },
		"the schedule starts both a suite and a grade run": func(d *assay.ScheduleDef) { d.Grade = json.RawMessage(`{"judges":["j"]}`) },
		"the schedule's suite has no name":                 func(d *assay.ScheduleDef) { d.Suite = &assay.ScheduledSuite{} },
		"unknown field \"judge\"":                          grade(`{"judge":"j"}`),
		"grade names one session":                          grade(`{"judges":["j"],"session":"u/s"}`),
		"grade names no judge":                             grade(`{"filter":"turns > 1"}`),
		"grade: more than one request":                     grade(`{"judges":["j"]} {}`),
	} {
		bad := ok
		change(&bad)
		err := Validate(bad)
		e, is := err.(*assay.Error)
		if !is || e.Code != assay.CodeInvalid || !strings.Contains(e.Error(), says) || e.Hint == "" {
			t.Errorf("%v (%+v), want it to say %q and what to do", err, e, says)
		}
	}
	good := ok
	grade(`{"judges":["j"],"since":"2026-03-01T00:00:00Z"}`)(&good)
	if err := Validate(good); err != nil {
		t.Errorf("a grade schedule: %v", err)
	}
}

func FuzzCron(f *testing.F) {
	for _, seed := range []string{"0 3 * * *", "*/5 1-4,22 1/3 jan-mar,12 mon,7", "0 0 29 2 *", "0 0 30 2 *", "5-1 * * * *"} {
		f.Add(seed, int64(1_780_000_000))
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, seconds int64) {
		c, err := parseCron(text)
		if err != nil {
			return
		}
		now := time.Unix(seconds%(1<<33), 0)
		next, ok := timetable{c, zone}.next(now)
		if ok && !next.After(now) {
			t.Errorf("%q after %s: %s", text, now, next)
		}
	})
}
