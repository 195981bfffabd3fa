package provider

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"assay/internal/limit"
)

// longest bounds a wait that a provider asks for.
const longest = 31 * 24 * time.Hour

func waiting(d time.Duration) time.Duration { return max(0, min(d, longest)) }

// told reads the headers that tell of limits: OpenAI's names, which Azure and most compatible servers
// use, Anthropic's, and OpenRouter's.
func told(h http.Header, now time.Time) (t limit.Told) {
	if len(h) == 0 {
		return t
	}
	if h.Get("Anthropic-Ratelimit-Requests-Limit") != "" || h.Get("Anthropic-Ratelimit-Tokens-Limit") != "" || h.Get("Anthropic-Ratelimit-Requests-Remaining") != "" {
		t.LimitRequests, t.RemainingRequests, t.ResetRequests = toldOf(h, now, "Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset")
		t.LimitTokens, t.RemainingTokens, t.ResetTokens = toldOf(h, now, "Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset")
		return t
	}
	t.LimitRequests, t.RemainingRequests, t.ResetRequests = toldOf(h, now, "X-Ratelimit-Limit-Requests", "X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests")
	t.LimitTokens, t.RemainingTokens, t.ResetTokens = toldOf(h, now, "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens")
	if t.LimitRequests == 0 && t.RemainingRequests == nil {
		t.LimitRequests, t.RemainingRequests, t.ResetRequests = toldOf(h, now, "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset")
		if t.ResetRequests > time.Hour {
			t.Window = 24 * time.Hour
		}
	}
	return t
}

func toldOf(h http.Header, now time.Time, most, remaining, reset string) (limit float64, left *float64, until time.Duration) {
	limit, _ = number(h.Get(most))
	if n, ok := number(h.Get(remaining)); ok {
		left = &n
	}
	until, _ = resetIn(h.Get(reset), now)
	return limit, left, until
}

func number(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		return 0, false
	}
	return n, true
}

// resetIn reads a time until a limit is whole again: "6m0s", "120ms", "1d2h", seconds, a moment by
// RFC 3339, or one in seconds or milliseconds since 1970.
func resetIn(s string, now time.Time) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, false
	}
	if n, ok := number(s); ok {
		switch {
		case n > 1e11:
			return waiting(time.UnixMilli(int64(min(n, 1e14))).Sub(now)), true
		case n > 1e9:
			return waiting(time.Unix(int64(n), 0).Sub(now)), true
		}
		return waiting(time.Duration(min(n, longest.Seconds()) * float64(time.Second))), true
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return waiting(t.Sub(now)), true
	}
	days := time.Duration(0)
	if n, rest, found := strings.Cut(s, "d"); found {
		if d, ok := number(n); ok {
			days, s = time.Duration(min(d, 365)*24*float64(time.Hour)), rest
		}
	}
	if s == "" {
		return waiting(days), true
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, false
	}
	return waiting(days + d), true
}

// askedFor reads how long a provider asks to wait: milliseconds, seconds or a date.
func askedFor(h http.Header, now time.Time) (time.Duration, bool) {
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if ms, ok := number(h.Get(name)); ok && ms > 0 {
			return waiting(time.Duration(min(ms, float64(longest/time.Millisecond)) * float64(time.Millisecond))), true
		}
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, ok := number(value); ok && s > 0 {
		return waiting(time.Duration(min(s, longest.Seconds()) * float64(time.Second))), true
	}
	if t, err := http.ParseTime(value); err == nil && t.After(now) {
		return waiting(t.Sub(now)), true
	}
	return 0, false
}
