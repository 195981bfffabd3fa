package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"assay/internal/api"
	"assay/internal/assay"
)

// limitsSet is what a person set.
func limitsSet(s *assay.ModelSettings) string {
	if s == nil || s.Limits == (assay.Limits{}) {
		return "none"
	}
	var parts []string
	if l := s.Limits; l.RequestsPerMinute > 0 {
		parts = append(parts, number(l.RequestsPerMinute)+" requests/min")
	}
	if l := s.Limits; l.TokensPerMinute > 0 {
		parts = append(parts, number(l.TokensPerMinute)+" tokens/min")
	}
	if l := s.Limits; l.Concurrency > 0 {
		parts = append(parts, comma(int64(l.Concurrency))+" in flight")
	}
	return strings.Join(parts, ", ")
}

func number(x float64) string { return humanize.Commaf(math.Round(10*x) / 10) }

// limiterNow is one cell about a limiter.
func limiterNow(l *api.Limiter) string {
	switch {
	case l == nil:
		return "no calls yet"
	case l.Breaker != "closed":
		return "breaker " + l.Breaker + ": " + l.Cause
	case l.QuietUntil != nil:
		return "quiet until " + moment(l.QuietUntil, time.UTC)
	}
	text := fmt.Sprintf("%s in flight", comma(int64(l.InFlight)))
	if l.LearnedPerMinute > 0 {
		text += ", learned " + number(l.LearnedPerMinute) + "/min"
	}
	return text
}

// printLimiter says how a limiter stands in the process that answers.
func (a *app) printLimiter(l *api.Limiter) {
	if l == nil {
		a.print("%-11s no call went to it since the process started\n", "limiter")
		return
	}
	bound := func(x float64, unit string) string {
		if x <= 0 {
			return "no bound on " + unit
		}
		return number(x) + " " + unit
	}
	a.print("%-11s %s in flight", "limiter", comma(int64(l.InFlight)))
	if l.Window > 0 {
		a.print(" of %s", comma(int64(l.Window)))
	}
	a.print(", %s, %s\n", bound(l.RequestsPerMinute, "requests/min"), bound(l.TokensPerMinute, "tokens/min"))
	if l.LearnedPerMinute > 0 {
		a.print("%-11s %s requests/min from 429s\n", "learned", number(l.LearnedPerMinute))
	}
	if l.ToldPerMinute > 0 {
		a.print("%-11s %s requests/min by the provider's headers\n", "told", number(l.ToldPerMinute))
	}
	a.print("%-11s %s, %s answered 429; %s, %s\n", "calls", comma(l.Granted), comma(l.Limited), count(int64(l.Runs), "run"), fmt.Sprintf("%d waiting", l.Waiting))
	if len(l.Refused) > 0 {
		var parts []string
		for _, why := range slices.Sorted(maps.Keys(l.Refused)) {
			parts = append(parts, why+" "+comma(l.Refused[why]))
		}
		a.print("%-11s %s\n", "held back", strings.Join(parts, ", "))
	}
	if l.QuietUntil != nil {
		a.print("%-11s until %s: %s\n", "quiet", inTime(l.QuietUntil), l.QuietWhy)
	}
	if l.Breaker == "closed" {
		a.print("%-11s closed\n", "breaker")
		return
	}
	a.print("%-11s %s since %s: %s: %s\n", "breaker", l.Breaker, moment(l.Since, time.UTC), l.Cause, l.Message)
	a.print("%-11s %s\n", "tries again", inTime(l.ProbeAt))
}

// inTime is a time and how long it is until then.
func inTime(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return moment(t, time.UTC) + " (in " + span(max(0, time.Until(*t))) + ")"
}
