package assay

import (
	"encoding/json"
	"testing"
	"time"
)

func TestMoneyIsNeverZeroWhereNobodyKnows(t *testing.T) {
	for _, c := range []struct {
		spend       Spend
		text, short string
	}{
		{Spend{Attempts: 3}, "0.0000", "0.0000"}, // rules: free, which is known
		{Spend{Attempts: 3, Unpriced: 3}, "unknown for 3 calls", "unknown for 3 calls"},
		{Spend{Attempts: 3, Cost: Dollar * 3 / 2}, "1.5000", "1.5000"},
		{Spend{Attempts: 3, Cost: Dollar * 3 / 2, Unpriced: 1}, "1.5000 + unknown for 1 call", "1.5000 + unknown for 1 call"},
		{Spend{Attempts: 3, Cost: Dollar * 6 / 5, Held: Dollar * 14 / 100, HeldN: 2}, "1.2000 + at most 0.1400 of 2 calls whose cost is not known", "1.2000 to 1.3400"},
		{Spend{Attempts: 3000, Held: Dollar, HeldN: 1, Unpriced: 1234}, "at most 1.0000 of 1 call whose cost is not known + unknown for 1,234 calls", "0.0000 to 1.0000 + unknown for 1,234 calls"},
		{Spend{Attempts: 1, Cost: 12_345}, "0.000012345", "0.000012345"},
	} {
		if got := c.spend.CostText(); got != c.text {
			t.Errorf("%+v: %q, want %q", c.spend, got, c.text)
		}
		if got := c.spend.CostRange(); got != c.short {
			t.Errorf("%+v: %q, want %q", c.spend, got, c.short)
		}
	}
}

func TestASumOfTokensSaysWhatIsNotInIt(t *testing.T) {
	s := Spend{Unmetered: 1}.Add(Spend{Unmetered: 1233})
	if got := s.UnmeteredText(); got != " + unknown for 1,234 calls" {
		t.Errorf("%q", got)
	}
	if got := (Spend{}).UnmeteredText(); got != "" {
		t.Errorf("%q where all is known", got)
	}
	for name, c := range map[string]struct {
		a    Attempt
		want bool
	}{
		"in flight":          {Attempt{Status: AttemptOpen, Seen: "x"}, true},
		"cut":                {Attempt{Status: AttemptUnknown, Class: ClassUnknown, Seen: "x"}, true},
		"told no usage":      {Attempt{Status: AttemptDone, CallAt: new(time.Time), Seen: "x", HTTPStatus: 200}, true},
		"told its usage":     {Attempt{Status: AttemptDone, CallAt: new(time.Time), Seen: "x", Usage: Usage{Known: true}}, false},
		"an error status":    {Attempt{Status: AttemptDone, CallAt: new(time.Time), Seen: "x", HTTPStatus: 503}, false},
		"never left":         {Attempt{Status: AttemptDone, Seen: "x"}, false},
		"a prompt":           {Attempt{Status: AttemptUnknown, Class: ClassPrompt}, false},
		"rules, or programs": {Attempt{Status: AttemptDone, CallAt: new(time.Time)}, false},
	} {
		if got := c.a.Unmetered(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Many providers tell no part of their counts, and what was not told is not 0.
func TestPartsOfUsageThatWereNotReportedAreAbsent(t *testing.T) {
	got, err := json.Marshal(Usage{Known: true, Input: 12})
	if want := `{"known":true,"input":12,"output":0}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func TestLeftOfABudget(t *testing.T) {
	budget := 2 * Dollar
	for _, c := range []struct {
		spend Spend
		left  USD
	}{{Spend{}, 2 * Dollar}, {Spend{Cost: Dollar, Held: Dollar / 2}, Dollar / 2}, {Spend{Cost: 3 * Dollar}, 0}} {
		if got := c.spend.Left(&budget); got == nil || *got != c.left {
			t.Errorf("%+v: %v, want %s", c.spend, got, c.left)
		}
	}
	if (Spend{}).Left(nil) != nil {
		t.Error("nothing is left of no budget")
	}
}

// A month begins and ends at midnight where the project is, whatever clocks did in it.
func TestMonthOf(t *testing.T) {
	for _, c := range []struct{ at, zone, from, to string }{
		{"2026-03-31T22:30:00Z", "Europe/Berlin", "2026-03-31T22:00:00Z", "2026-04-30T22:00:00Z"},
		{"2026-03-31T21:30:00Z", "Europe/Berlin", "2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"},
		{"2026-12-31T23:59:59Z", "UTC", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"2026-12-31T23:59:59Z", "nowhere", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		from, to := MonthOf(at, Settings{Zone: c.zone}.Location())
		if got := from.UTC().Format(time.RFC3339); got != c.from {
			t.Errorf("%s in %s: from %s, want %s", c.at, c.zone, got, c.from)
		}
		if got := to.UTC().Format(time.RFC3339); got != c.to {
			t.Errorf("%s in %s: to %s, want %s", c.at, c.zone, got, c.to)
		}
	}
}
