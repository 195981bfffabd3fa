package assay

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Spend sums the attempts whose call left or may have left, across crashes and late ones too. One that
// was closed without a call (no CallAt) cost nothing and is not counted. What was spent lies between
// Cost and Cost + Held where Unpriced is 0; else nobody knows.
type Spend struct {
	Attempts int64 `json:"attempts"`
	Unknown  int64 `json:"unknown"` // attempts that a crash cut
	Late     int64 `json:"late"`
	Usage    Usage `json:"usage"`
	Cost     USD   `json:"known_cost_usd"` // of attempts whose cost is known
	Held     USD   `json:"held_usd"`       // at most, of attempts whose cost is not known (yet): in flight, cut, without usage
	HeldN    int64 `json:"held"`           // how many those are
	Unpriced int64 `json:"unpriced"`       // attempts of which neither cost nor price is known; they are in neither sum

	Unmetered int64 `json:"unmetered" doc:"calls to models that left, or may have, and told no usage (yet): their tokens are not in usage"` // Attempt.Unmetered
}

// Add sums two spends.
func (s Spend) Add(o Spend) Spend {
	s.Attempts += o.Attempts
	s.Unknown += o.Unknown
	s.Late += o.Late
	s.Usage.Known = s.Usage.Known || o.Usage.Known
	s.Usage.Input += o.Usage.Input
	s.Usage.Cached += o.Usage.Cached
	s.Usage.CacheWrite += o.Usage.CacheWrite
	s.Usage.Output += o.Usage.Output
	s.Usage.Reasoning += o.Usage.Reasoning
	s.Cost = add(s.Cost, o.Cost)
	s.Held = add(s.Held, o.Held)
	s.HeldN += o.HeldN
	s.Unpriced += o.Unpriced
	s.Unmetered += o.Unmetered
	return s
}

// MonthOf is the calendar month of t in zone, [from, to): what a project's budget of the month counts.
func MonthOf(t time.Time, zone *time.Location) (from, to time.Time) {
	y, m, _ := t.In(zone).Date()
	from = time.Date(y, m, 1, 0, 0, 0, 0, zone)
	return from, from.AddDate(0, 1, 0)
}

// SpendLine is one group's spend: of a run, a judge of it, a model and a day.
type SpendLine struct {
	Day     string // of the attempt, in the project's zone
	Run     RunID
	Judge   string
	Version Hash
	Model   string // as served; "" where no answer named one
	Spend   Spend
}

// CostText says in words what was spent, without the currency. What is not known is called unknown,
// never 0.
func (s Spend) CostText() string {
	var parts []string
	if s.Cost != 0 || s.Unpriced == 0 {
		parts = append(parts, s.Cost.Short())
	}
	if s.HeldN > 0 {
		parts = append(parts, fmt.Sprintf("at most %s of %s whose cost is not known", s.Held.Short(), calls(s.HeldN)))
	}
	if s.Unpriced > 0 {
		parts = append(parts, "unknown for "+calls(s.Unpriced))
	}
	return strings.Join(parts, " + ")
}

// CostRange is CostText for where there is little room: "1.2000 to 1.3400".
func (s Spend) CostRange() string { return s.costRange(USD.Short) }

// CostColumn is CostRange with so many decimals: Decimals says how many a column needs.
func (s Spend) CostColumn(decimals int) string {
	return s.costRange(func(u USD) string { return u.Fixed(decimals) })
}

func (s Spend) costRange(text func(USD) string) string {
	t := text(s.Cost)
	if s.Held > 0 {
		t += " to " + text(s.Charged())
	}
	switch {
	case s.Unpriced == 0:
		return t
	case s.Cost == 0 && s.Held == 0:
		return "unknown for " + calls(s.Unpriced)
	}
	return t + " + unknown for " + calls(s.Unpriced)
}

// UnmeteredText follows a sum of tokens: " + unknown for 6 calls"; "" where the sum holds all.
func (s Spend) UnmeteredText() string {
	if s.Unmetered == 0 {
		return ""
	}
	return " + unknown for " + calls(s.Unmetered)
}

// Charged is what a budget counts of s.
func (s Spend) Charged() USD { return add(s.Cost, s.Held) }

// Left is what a budget has left of it; nil without a budget.
func (s Spend) Left(budget *USD) *USD {
	if budget == nil {
		return nil
	}
	left := max(0, *budget-min(*budget, s.Charged()))
	return &left
}

func calls(n int64) string {
	if n == 1 {
		return "1 call"
	}
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " calls"
}
