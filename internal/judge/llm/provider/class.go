package provider

import (
	"net/http"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/limit"
)

// class maps what providers say to our classes. Codes and texts come before statuses, because servers
// disagree on statuses.
func (p problem) class() assay.Class {
	switch {
	case p.quota():
		return assay.ClassQuota
	case p.status == http.StatusTooManyRequests || p.status < 500 && p.coded("rate_limit_exceeded", "rate_limit_error", "resource_exhausted", "throttling_error", "ratelimitexceeded"):
		return assay.ClassRateLimited
	case p.says(filtered...):
		return assay.ClassContentFiltered
	case p.modelMissing():
		return assay.ClassModelMissing
	case p.credentials():
		return assay.ClassBadCredentials
	case p.status == http.StatusRequestEntityTooLarge || p.status <= 500 && p.says(tooLong...):
		return assay.ClassContextTooLong
	case p.status == http.StatusNotFound || p.status == http.StatusMethodNotAllowed || p.status == http.StatusForbidden || p.status == http.StatusProxyAuthRequired || p.status >= 300 && p.status < 400:
		return assay.ClassUnreachable
	case p.status == http.StatusRequestTimeout || p.status == http.StatusConflict || p.status == http.StatusTooEarly || p.status >= 500 || p.status < 300:
		return assay.ClassProviderError
	}
	return assay.ClassJudgeError
}

// spent are the words for money or an allowance that no waiting of minutes brings back.
var spent = []string{
	"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "credit_balance_exhausted", "billing_error", "spend_limit_", "usage_limit_", "budget_exceeded",
	"insufficient balance", "insufficient credits", "requires more credits", "credit balance is too low", "specified api usage limits", "key limit exceeded", "budget has been exceeded", "exceededbudget", "prepayment credits are depleted",
}

// daily are the words for a limit by the day, in messages of 429s.
var daily = []string{"per day", "per-day", "(rpd)", "(tpd)", "perday", "per_day", "daily", "quota_exceeded"}

func (p problem) quota() bool {
	if p.status == http.StatusPaymentRequired || p.says(spent...) {
		return true
	}
	if p.status != http.StatusTooManyRequests {
		return false
	}
	if p.byDay() {
		return true
	}
	// Google says "exceeded your current quota" of a limit by the minute as well: there the quotas'
	// names tell. A limit of 0 is one that this account will never have.
	if p.coded("resource_exhausted") {
		return p.delay == "" && len(p.quotas) == 0 && p.says("limit: 0")
	}
	return p.says("exceeded your current quota")
}

// byDay says whether a 429 speaks of a limit by the day.
func (p problem) byDay() bool {
	for _, q := range p.quotas {
		for _, d := range daily {
			if strings.Contains(q, d) {
				return true
			}
		}
	}
	return len(p.quotas) == 0 && p.says(daily...)
}

var filtered = []string{
	"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "content management policy", "was flagged", "requires moderation", "moderation_blocked", "content_filtered", "prohibited_content", "output blocked by content filtering policy",
}

var tooLong = []string{
	"context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "request_too_large", "maximum context length", "context length", "context window", "context size", "prompt is too long", "input is too long",
	"too many tokens", "reduce the length", "exceeds the maximum number of tokens", "input token count", "input length and `max_tokens` exceed", "prompt_too_long",
	"max_tokens must be at least 1, got -", // vLLM: what is left of its context for the answer
}

func (p problem) modelMissing() bool {
	if p.status >= 500 {
		return false
	}
	if p.coded("model_not_found", "invalid_model", "deploymentnotfound", "unknown_model", "model_not_available", "key_model_access_denied") {
		return true
	}
	m := strings.ToLower(p.message)
	switch {
	case p.coded("not_found_error") && strings.HasPrefix(m, "model:"): // Anthropic names the model and nothing else
		return true
	case strings.Contains(m, "no endpoints found"): // OpenRouter: nobody serves it, or not with these parameters
		return true
	case !strings.Contains(m, "model") && !strings.Contains(m, "deployment"):
		return false
	}
	return p.says("not found", "does not exist", "not a valid model", "unknown model", "no such model", "invalid model name", "is not available", "not supported for generatecontent", "have access to model")
}

func (p problem) credentials() bool {
	switch {
	case p.coded("invalid_api_key", "api_key_invalid", "authentication_error", "permission_error", "permission_denied", "unauthenticated"):
		return true
	case p.status < 500 && p.says("api key not valid", "incorrect api key", "invalid api key"):
		return true
	}
	// A page with 403 comes from a wall before the endpoint, which has not seen the key.
	return p.status == http.StatusUnauthorized || p.status == http.StatusForbidden && !p.page
}

// retryAfter is how long the provider asks to wait: by its headers, by its body, or until what it says
// is used up is whole again.
func (p problem) retryAfter(class assay.Class, t limit.Told, now time.Time) time.Duration {
	if d, ok := askedFor(p.header, now); ok {
		return d
	}
	if class != assay.ClassRateLimited && class != assay.ClassQuota && class != assay.ClassProviderError {
		return 0
	}
	// Google's delay beside a limit by the day is that of another limit.
	if d, ok := resetIn(p.delay, now); ok && !p.byDay() {
		return d
	}
	if d, ok := p.inWords(now); ok && !(p.byDay() && p.coded("resource_exhausted")) {
		return d
	}
	if class == assay.ClassProviderError {
		return 0
	}
	var wait time.Duration
	if t.RemainingRequests != nil && *t.RemainingRequests < 1 {
		wait = t.ResetRequests
	}
	if t.RemainingTokens != nil && *t.RemainingTokens < 1 {
		wait = max(wait, t.ResetTokens)
	}
	return wait
}

// inWords finds a wait in the message: "Please try again in 6m0s", "Please retry after 7 seconds",
// "You will regain access on 2026-03-01 at 00:00 UTC".
func (p problem) inWords(now time.Time) (time.Duration, bool) {
	m := strings.ToLower(p.message)
	for _, lead := range []string{"try again in ", "retry in ", "retry after ", "try again after "} {
		_, rest, found := strings.Cut(m, lead)
		if !found {
			continue
		}
		word, after, _ := strings.Cut(rest, " ")
		word = strings.TrimRight(word, ".,;")
		unit, _, _ := strings.Cut(strings.TrimLeft(after, " "), " ")
		scale := time.Second
		switch {
		case strings.HasPrefix(unit, "millisecond"):
			scale = time.Millisecond
		case strings.HasPrefix(unit, "minute"):
			scale = time.Minute
		case strings.HasPrefix(unit, "hour"):
			scale = time.Hour
		case strings.HasPrefix(unit, "day"):
			scale = 24 * time.Hour
		}
		if n, ok := number(word); ok {
			return waiting(time.Duration(min(n, longest.Seconds()) * float64(scale))), true
		}
		if d, ok := resetIn(word, now); ok {
			return d, true
		}
	}
	if _, rest, found := strings.Cut(m, "regain access on "); found && len(rest) >= len("2006-01-02 at 15:04") {
		if t, err := time.Parse("2006-01-02 at 15:04", rest[:len("2006-01-02 at 15:04")]); err == nil && t.After(now) {
			return waiting(t.Sub(now)), true
		}
	}
	return 0, false
}
