package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/limit"
)

// maxBody bounds a response: an answer is a few kilobytes.
const maxBody = 8 << 20

var errDeadline = fmt.Errorf("the judge's own deadline: %w", context.DeadlineExceeded)

// Send makes one call. content is the model's text, or the JSON of its tool's input, when the reply
// has no class; else the reply says what broke. The reply's Answers stay empty.
//
// A key that was refused is asked for again where its source can give another one; only then the call
// is made a second time, and the first has cost nothing.
func (c *Client) Send(ctx context.Context, body []byte) (content string, r judge.Reply) {
	limited, cancel := context.WithTimeoutCause(ctx, c.timeout, errDeadline)
	defer cancel()
	key, err := c.keys.get(limited)
	if err == nil {
		content, r = c.attempt(ctx, limited, key, body)
		if r.HTTPStatus == http.StatusUnauthorized {
			if other, changed := c.keys.refused(limited, key); changed {
				content, r = c.attempt(ctx, limited, other, body)
			}
		}
	} else {
		r.Class, r.Error = keyless(ctx, limited, err)
	}
	if r.EndedAt.IsZero() {
		r.EndedAt = time.Now()
	}
	// What was read out of JSON is not spelled as it was in the body, which is masked already.
	for _, text := range []*string{&content, &r.Error, &r.Model, &r.Fingerprint} {
		*text = c.keys.mask(*text)
	}
	return content, r
}

// keyless classifies a call that did not leave for want of a key.
func keyless(ctx, limited context.Context, err error) (assay.Class, string) {
	switch {
	case ctx.Err() != nil:
		return assay.ClassAborted, withdrawn
	case limited.Err() != nil:
		return assay.ClassTimeout, err.Error()
	}
	return assay.ClassBadCredentials, err.Error()
}

const withdrawn = "the call was cut because the question was withdrawn"

// received is a response as it came, read whole.
type received struct {
	status int
	header http.Header
	body   []byte
	err    error // reading stopped
	over   bool  // it is longer than maxBody
}

// attempt makes one call with one key. What the SDK makes of the response is not used: it cannot read
// half of what real servers answer.
func (c *Client) attempt(ctx, limited context.Context, key string, body []byte) (content string, r judge.Reply) {
	var got *received
	r.CallAt = time.Now()
	err := c.post(limited, key, body, func(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		// The SDK's own wrapper hides from net/http that the body is in memory, which then sends the
		// header in a packet of its own.
		req.Body = io.NopCloser(bytes.NewReader(body))
		for name := range req.Header {
			if strings.HasPrefix(name, "X-Stainless-") {
				delete(req.Header, name) // what machine this is concerns no endpoint
			}
		}
		resp, err := next(req)
		if err != nil {
			return resp, err
		}
		got = receive(resp)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	})
	r.EndedAt = time.Now()
	if got != nil {
		r.HTTPStatus = got.status
		r.Told = told(got.header, r.EndedAt)
		r.RequestID = c.keys.mask(requestID(got.header))
		got.body = c.keys.maskBytes(got.body)
	}
	switch {
	case got != nil && got.err == nil:
		return c.answered(got, &r), r
	case ctx.Err() != nil:
		r.Class, r.Error = assay.ClassAborted, withdrawn
	case errors.Is(context.Cause(limited), errDeadline):
		r.Class, r.Error = assay.ClassTimeout, fmt.Sprintf("the endpoint did not answer within %s", c.timeout)
	case got != nil:
		r.Raw = bounded(got.body)
		r.Class, r.Error = assay.ClassNetwork, "the connection broke while the answer came: "+firstLine(innermost(got.err).Error())
	case err == nil:
		r.Class, r.Error = assay.ClassNetwork, "the call brought no response"
	default:
		r.Class, r.Error = broken(err)
		if r.Class == assay.ClassUnreachable {
			r.CallAt = time.Time{} // there was no connection: nothing left
		}
	}
	return "", r
}

func receive(resp *http.Response) *received {
	defer resp.Body.Close()
	g := &received{status: resp.StatusCode, header: resp.Header}
	b := bytes.NewBuffer(make([]byte, 0, bytes.MinRead+max(0, min(resp.ContentLength, maxBody))))
	_, g.err = b.ReadFrom(io.LimitReader(resp.Body, maxBody+1))
	g.body = b.Bytes()
	g.over = len(g.body) > maxBody
	return g
}

func (c *Client) answered(got *received, r *judge.Reply) (content string) {
	r.Raw = bounded(got.body)
	switch {
	case got.status >= 200 && got.status < 300 && got.over:
		r.Class, r.Error = assay.ClassMalformed, fmt.Sprintf("the endpoint's response is longer than %d bytes", maxBody)
		return ""
	case got.status >= 200 && got.status < 300:
		return c.read(got, r)
	}
	p := readProblem(got.status, got.body)
	p.header = got.header
	c.failed(p, r)
	return ""
}

// failed says what an error response means.
func (c *Client) failed(p problem, r *judge.Reply) {
	if r.Told == (limit.Told{}) {
		r.Told = told(p.limits, r.EndedAt)
	}
	r.Class = p.class()
	r.Error = p.sentence(r.Class, c.path())
	r.RetryAfter = p.retryAfter(r.Class, r.Told, r.EndedAt)
}

// bounded is a text that may be kept.
func bounded(body []byte) string {
	return strings.ToValidUTF8(string(body[:min(len(body), judge.MaxRaw)]), "�")
}

func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "Apim-Request-Id"} {
		if id := h.Get(name); id != "" {
			return firstLine(id)
		}
	}
	return ""
}
