package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

// Client is one server. It is safe for concurrent use.
type Client struct {
	base  string // without a slash at the end
	http  *http.Client
	token string
}

// New makes a Client of the server at base (scheme and host) that sends through hc.
func New(base string, hc *http.Client) *Client {
	return &Client{base: strings.TrimRight(base, "/"), http: hc}
}

// Socket makes a Client of the server that listens on a unix socket.
func Socket(path string) *Client {
	var d net.Dialer
	return New("http://assay.socket", &http.Client{Transport: transport(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "unix", path)
	})})
}

// Server makes a Client of a server on TCP. token is "" where none is needed.
func Server(base, token string) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, assay.Errorf(assay.CodeInvalid, "server %q is not a web address", base).
			WithHint("write it like http://127.0.0.1:7171")
	}
	c := New(base, &http.Client{Transport: transport((&net.Dialer{Timeout: 10 * time.Second}).DialContext)})
	c.token = token
	return c, nil
}

func transport(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:           dial,
		Proxy:                 nil, // a proxy between a person and their own server would see every transcript
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       time.Minute,
		ExpectContinueTimeout: 5 * time.Second,
	}
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// NewKey makes an idempotency key.
func NewKey() string { return rand.Text() }

// call is one request that answers with JSON.
type call struct {
	method, path string
	query        url.Values
	body         any    // sent as JSON when not nil
	key          string // Idempotency-Key
}

// do sends q and reads the answer into out, which may be nil.
func (c *Client) do(ctx context.Context, q call, out any) error {
	var body io.Reader
	if q.body != nil {
		raw, err := json.Marshal(q.body)
		if err != nil {
			return assay.Errorf(assay.CodeInvalid, "encode request: %w", err)
		}
		body = bytes.NewReader(raw)
	}
	req, err := c.request(ctx, q.method, q.path, q.query, body)
	if err != nil {
		return err
	}
	if q.method != http.MethodGet {
		req.Header.Set("Content-Type", "application/json")
	}
	if q.key != "" {
		req.Header.Set("Idempotency-Key", q.key)
	}
	return c.send(req, out)
}

func (c *Client) request(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Request, error) {
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, assay.Errorf(assay.CodeInvalid, "make request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

func (c *Client) send(req *http.Request, out any) error {
	resp, err := c.open(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if out == nil || resp.StatusCode == http.StatusNoContent {
		_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is used again
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return c.broken(req, err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return nil
}

// open sends req and returns the answer when it is not an error; the caller closes its body.
func (c *Client) open(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(req, err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, problem(resp)
}

// broken says that no whole answer came. The end of the caller's own context stays what it is.
func (c *Client) broken(req *http.Request, err error) error {
	if ctx := req.Context(); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the address is said already, and the request line is noise
	}
	var own *assay.Error
	if errors.As(err, &own) {
		return own // the transport's own words, with its hint
	}
	return assay.Errorf(assay.CodeUnavailable, "ask %s: %w", c.base, err).
		WithHint("is the server running? `assay serve` starts one")
}

// problem reads an error answer. What is not problem+json came from something in between.
func problem(resp *http.Response) error {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	var p api.Problem
	if json.Unmarshal(raw, &p) == nil && p.Code != "" {
		return p.Err()
	}
	code := assay.CodeInternal
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		code = assay.CodeUnauthorized
	case http.StatusForbidden:
		code = assay.CodeForbidden
	case http.StatusNotFound:
		code = assay.CodeNotFound
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		code = assay.CodeUnavailable
	}
	return assay.Errorf(code, "the server answered %s without saying why", resp.Status).
		WithHint("is this address really an Assay server?")
}

// project is the path of what belongs to a project.
func project(name string, rest ...string) string {
	return path("projects", append([]string{name}, rest...)...)
}

// path joins escaped segments under the API's root.
func path(noun string, rest ...string) string {
	p := "/api/v1/" + noun
	for _, s := range rest {
		p += "/" + segment(s)
	}
	return p
}

// segment escapes one path segment; "." and ".." would otherwise be taken for steps in a path.
func segment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}
