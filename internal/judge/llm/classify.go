package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
)

// problem is what an endpoint says when it does not answer, whatever shape its server gives it:
// OpenAI's error object, a bare text, FastAPI's detail, an HTML page of a proxy.
type problem struct {
	status              int
	message, kind, code string
}

func readProblem(status int, body []byte) problem {
	p := problem{status: status}
	if !json.Valid(body) {
		p.message = firstLine(string(body))
		return p
	}
	outer := gjson.ParseBytes(body)
	inner := outer.Get("error")
	switch {
	case inner.IsObject():
	case inner.Type == gjson.String:
		p.message = inner.Str
		inner = outer
	default:
		inner = outer
	}
	if p.message == "" {
		p.message = inner.Get("message").String()
	}
	if p.message == "" {
		p.message = outer.Get("detail").String()
	}
	p.message = firstLine(p.message)
	p.kind, p.code = strings.ToLower(inner.Get("type").String()), strings.ToLower(inner.Get("code").String())
	return p
}

// relayed reads the error that a router reports with status 200: its code is the upstream's status.
func relayed(body []byte) problem {
	p := readProblem(http.StatusBadGateway, body)
	if code, err := strconv.Atoi(p.code); err == nil && code >= 400 && code < 600 {
		p.status = code
	}
	return p
}

func firstLine(s string) string {
	const most = 400
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func (p problem) says(parts ...string) bool {
	m := strings.ToLower(p.message)
	for _, part := range parts {
		if strings.Contains(m, part) || p.code == part || p.kind == part {
			return true
		}
	}
	return false
}

// class maps what compatible servers say to our classes. Codes come before statuses, because servers
// disagree on statuses.
func (p problem) class() assay.Class {
	switch {
	case p.says("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "exceeded your current quota", "insufficient balance", "insufficient credits", "requires more credits") || p.status == http.StatusPaymentRequired:
		return assay.ClassQuota
	case p.status == http.StatusTooManyRequests && p.says("per day", "(rpd)", "(tpd)", "perday", "daily"):
		return assay.ClassQuota
	case p.status == http.StatusTooManyRequests || p.code == "rate_limit_exceeded" && p.status < 500:
		return assay.ClassRateLimited
	case p.says("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "content management policy", "was flagged", "moderation"):
		return assay.ClassContentFiltered
	case p.status == http.StatusUnauthorized || p.status == http.StatusForbidden || p.code == "invalid_api_key":
		return assay.ClassBadCredentials
	case p.status == http.StatusRequestEntityTooLarge || p.status < 500 && p.says("context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "maximum context length", "context length", "context window", "context size", "prompt is too long", "input is too long", "too many tokens", "reduce the length"):
		return assay.ClassContextTooLong
	case p.status < 500 && (p.code == "model_not_found" || p.code == "invalid_model" || p.says("model") && p.says("not found", "does not exist", "not a valid model", "unknown model", "no such model")):
		return assay.ClassModelMissing
	case p.status == http.StatusNotFound || p.status == http.StatusMethodNotAllowed:
		return assay.ClassUnreachable
	case p.status == http.StatusRequestTimeout || p.status >= 500:
		return assay.ClassProviderError
	}
	return assay.ClassJudgeError
}

// sentence tells a person what happened and, where the class does not say it, what to do.
func (p problem) sentence(class assay.Class) string {
	s := fmt.Sprintf("the endpoint answered %d %s", p.status, http.StatusText(p.status))
	if p.message != "" && !strings.HasPrefix(p.message, "<") {
		s += ": " + p.message
	}
	switch class {
	case assay.ClassUnreachable:
		s += "; there is no /chat/completions under this base_url"
	case assay.ClassJudgeError:
		s += "; the judge's parameters do not suit this endpoint"
	}
	return s
}

// retryAfter reads how long a provider asks to wait: milliseconds, seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const most = 7 * 24 * time.Hour
	bound := func(d time.Duration) time.Duration { return max(0, min(d, most)) }
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bound(time.Duration(min(ms, float64(most/time.Millisecond)) * float64(time.Millisecond)))
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return bound(time.Duration(min(s, most.Seconds()) * float64(time.Second)))
	}
	if t, err := http.ParseTime(value); err == nil {
		return bound(t.Sub(now))
	}
	return 0
}

// broken classifies a call that brought no response.
func broken(err error) (assay.Class, string) {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return assay.ClassUnreachable, fmt.Sprintf("the endpoint's host %s has no address", dns.Name)
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect"):
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EADDRNOTAVAIL) {
			return assay.ClassNetwork, "this machine has no socket left for the call: " + op.Err.Error()
		}
		return assay.ClassUnreachable, "nothing answers at the endpoint: " + op.Err.Error()
	case isTLS(err):
		return assay.ClassUnreachable, "no secure connection to the endpoint: " + firstLine(innermost(err).Error())
	}
	return assay.ClassNetwork, "the connection broke during the call: " + firstLine(innermost(err).Error())
}

func isTLS(err error) bool {
	m := err.Error()
	return strings.Contains(m, "tls: ") || strings.Contains(m, "x509: ") || strings.Contains(m, "server gave HTTP response to HTTPS client")
}

// innermost leaves out the wrappers that repeat the URL.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

var errDeadline = fmt.Errorf("the judge's own deadline: %w", context.DeadlineExceeded)
