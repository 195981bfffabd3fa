package provider

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"assay/internal/limit"
)

func left(n float64) *float64 { return &n }

func TestTold(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		header []string
		want   limit.Told
	}{
		"nothing": {nil, limit.Told{}},
		"OpenAI": {[]string{"x-ratelimit-limit-requests", "60", "x-ratelimit-remaining-requests", "59", "x-ratelimit-reset-requests", "1s", "x-ratelimit-limit-tokens", "150000", "x-ratelimit-remaining-tokens", "149984", "x-ratelimit-reset-tokens", "6m0s"},
			limit.Told{LimitRequests: 60, RemainingRequests: left(59), ResetRequests: time.Second, LimitTokens: 150000, RemainingTokens: left(149984), ResetTokens: 6 * time.Minute}},
		"short resets": {[]string{"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "120ms", "x-ratelimit-reset-tokens", "1d2h3m4s"},
			limit.Told{RemainingRequests: left(0), ResetRequests: 120 * time.Millisecond, ResetTokens: 26*time.Hour + 3*time.Minute + 4*time.Second}},
		"Azure": {[]string{"x-ratelimit-remaining-requests", "249", "x-ratelimit-remaining-tokens", "249000", "x-ratelimit-reset-tokens", "7"},
			limit.Told{RemainingRequests: left(249), RemainingTokens: left(249000), ResetTokens: 7 * time.Second}},
		"Anthropic": {[]string{"anthropic-ratelimit-requests-limit", "50", "anthropic-ratelimit-requests-remaining", "49", "anthropic-ratelimit-requests-reset", "2026-03-01T12:00:01Z",
			"anthropic-ratelimit-tokens-limit", "40000", "anthropic-ratelimit-tokens-remaining", "39000", "anthropic-ratelimit-tokens-reset", "2026-03-01T12:00:30+00:00", "anthropic-ratelimit-input-tokens-limit", "30000"},
			limit.Told{LimitRequests: 50, RemainingRequests: left(49), ResetRequests: time.Second, LimitTokens: 40000, RemainingTokens: left(39000), ResetTokens: 30 * time.Second}},
		"OpenRouter": {[]string{"X-RateLimit-Limit", "50", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", strconv.FormatInt(now.Add(5*time.Hour).UnixMilli(), 10)},
			limit.Told{LimitRequests: 50, RemainingRequests: left(0), ResetRequests: 5 * time.Hour, Window: 24 * time.Hour}},
		"seconds since 1970": {[]string{"X-RateLimit-Limit", "20", "X-RateLimit-Reset", strconv.FormatInt(now.Add(9*time.Second).Unix(), 10)}, limit.Told{LimitRequests: 20, ResetRequests: 9 * time.Second}},
		"nonsense":           {[]string{"x-ratelimit-limit-requests", "many", "x-ratelimit-remaining-requests", "NaN", "x-ratelimit-reset-requests", "soon", "x-ratelimit-limit-tokens", "-5", "x-ratelimit-remaining-tokens", "Inf", "x-ratelimit-reset-tokens", "-3s"}, limit.Told{}},
		"past":               {[]string{"anthropic-ratelimit-requests-limit", "5", "anthropic-ratelimit-requests-reset", "2026-03-01T11:00:00Z"}, limit.Told{LimitRequests: 5}},
	} {
		h := http.Header{}
		for i := 0; i < len(tc.header); i += 2 {
			h.Set(tc.header[i], tc.header[i+1])
		}
		got := told(h, now)
		same := func(a, b *float64) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
		if !same(got.RemainingRequests, tc.want.RemainingRequests) || !same(got.RemainingTokens, tc.want.RemainingTokens) {
			t.Errorf("%s: %+v", name, got)
		}
		got.RemainingRequests, got.RemainingTokens, tc.want.RemainingRequests, tc.want.RemainingTokens = nil, nil, nil, nil
		if got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestAskedFor(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "2", 2 * time.Second}, {"Retry-After", "1.5", 1500 * time.Millisecond}, {"Retry-After", now.Add(90 * time.Second).Format(http.TimeFormat), 90 * time.Second},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond}, {"x-ms-retry-after-ms", "250", 250 * time.Millisecond},
		{"Retry-After", "0", 0}, {"Retry-After", "-5", 0}, {"Retry-After", "soon", 0}, {"Retry-After", now.Add(-time.Hour).Format(http.TimeFormat), 0}, {"Retry-After", "1e300", longest},
	} {
		h := http.Header{}
		h.Set(tc.name, tc.value)
		if got, ok := askedFor(h, now); got != tc.want || ok != (tc.want > 0) {
			t.Errorf("%s: %s is %s", tc.name, tc.value, got)
		}
	}
}
