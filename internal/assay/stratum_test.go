package assay

import (
	"testing"
	"time"
)

// A day is the calendar's, whatever its clocks do: it begins at local midnight before, in and after
// a change of clocks, and also where a day has no midnight.
func TestDayInZonesWhoseClocksChange(t *testing.T) {
	for _, c := range []struct{ zone, at, day string }{
		{"Europe/Berlin", "2025-03-29T22:59:59Z", "2025-03-29"}, // the last second before the day of the change
		{"Europe/Berlin", "2025-03-29T23:00:00Z", "2025-03-30"},
		{"Europe/Berlin", "2025-03-30T21:59:59Z", "2025-03-30"}, // 23 hours later it ends
		{"Europe/Berlin", "2025-03-30T22:00:00Z", "2025-03-31"},
		{"Europe/Berlin", "2025-10-25T22:00:00Z", "2025-10-26"},
		{"Europe/Berlin", "2025-10-26T22:59:59Z", "2025-10-26"}, // 25 hours
		{"Europe/Berlin", "2025-10-26T23:00:00Z", "2025-10-27"},
		{"America/New_York", "2025-11-02T03:59:59Z", "2025-11-01"},
		{"America/New_York", "2025-11-03T04:59:59Z", "2025-11-02"},
		{"America/New_York", "2025-11-03T05:00:00Z", "2025-11-03"},
		{"America/Santiago", "2025-09-07T03:59:59Z", "2025-09-06"}, // clocks go from 24:00 to 01:00
		{"America/Santiago", "2025-09-07T04:00:00Z", "2025-09-07"},
		{"Australia/Lord_Howe", "2025-10-04T15:29:59Z", "2025-10-05"}, // by half an hour
		{"Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29"},        // the 30th did not happen
		{"Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31"},
		{"UTC", "2025-03-29T23:59:59Z", "2025-03-29"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if day := DayOf(&at, zone); day != c.day {
			t.Errorf("%s in %s is on %s, want %s", c.at, c.zone, day, c.day)
		}
	}
	if DayOf(nil, time.UTC) != Undated {
		t.Error("a session without a time has an invented day")
	}
}
