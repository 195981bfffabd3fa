package assay

import (
	"fmt"
	"strconv"
	"strings"
)

// Short is an amount for people: four decimals, and all of them where four would show nothing.
func (u USD) Short() string {
	if u > -Dollar/10_000 && u < Dollar/10_000 && u != 0 {
		return u.String()
	}
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", uint64(-u)
	}
	n = (n + 50_000) / 100_000 // ten-thousandths of a dollar
	return fmt.Sprintf("%s%d.%04d", sign, n/10_000, n%10_000)
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
func (s Spend) CostRange() string {
	text := s.Cost.Short()
	if s.Held > 0 {
		text += " to " + (add(s.Cost, s.Held)).Short()
	}
	switch {
	case s.Unpriced == 0:
		return text
	case s.Cost == 0 && s.Held == 0:
		return "unknown for " + calls(s.Unpriced)
	}
	return text + " + unknown for " + calls(s.Unpriced)
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
