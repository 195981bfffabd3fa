package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

// Sessions pages through sessions in (day, user, session) order.
func (c *Client) Sessions(ctx context.Context, name string, q api.SessionQuery, p store.Page) (out api.Page[assay.Head], err error) {
	v := paged(p)
	put(v, "filter", q.Filter)
	put(v, "set", q.Set)
	putTime(v, "from", q.From)
	putTime(v, "to", q.To)
	putBool(v, "undated", q.Undated)
	putBool(v, "labelled", q.Labelled)
	return out, c.do(ctx, call{method: http.MethodGet, path: project(name, "sessions"), query: v}, &out)
}

// Session returns one session with the body of the content named, or of the present one for "".
func (c *Client) Session(ctx context.Context, name, user, id string, content assay.Hash) (s api.SessionView, err error) {
	v := url.Values{}
	put(v, "content", string(content))
	return s, c.do(ctx, call{method: http.MethodGet, path: project(name, "sessions", user, id), query: v}, &s)
}

// SessionVerdicts pages through every verdict on a session, newest first.
func (c *Client) SessionVerdicts(ctx context.Context, name, user, id string, p store.Page) (out api.Page[assay.Verdict], err error) {
	return out, c.do(ctx, call{method: http.MethodGet, path: project(name, "sessions", user, id, "verdicts"), query: paged(p)}, &out)
}

// Sets lists a project's sets.
func (c *Client) Sets(ctx context.Context, name string) ([]store.Set, error) {
	var out api.Page[store.Set]
	err := c.do(ctx, call{method: http.MethodGet, path: project(name, "sets")}, &out)
	return out.Items, err
}

// CreateSet makes a set with its first members.
func (c *Client) CreateSet(ctx context.Context, name, set string, m api.Members) (s api.SetChange, err error) {
	return s, c.do(ctx, call{method: http.MethodPost, path: project(name, "sets"), body: api.NewSet{Name: set, Members: m}}, &s)
}

// AddToSet adds members; those already in are left.
func (c *Client) AddToSet(ctx context.Context, name, set string, m api.Members) (s api.SetChange, err error) {
	return s, c.do(ctx, call{method: http.MethodPost, path: project(name, "sets", set, "members"), body: m}, &s)
}

func paged(p store.Page) url.Values {
	v := url.Values{}
	put(v, "cursor", p.Cursor)
	if p.Limit > 0 {
		v.Set("limit", strconv.Itoa(p.Limit))
	}
	return v
}

func put(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

func putBool(v url.Values, name string, value bool) {
	if value {
		v.Set(name, "true")
	}
}

func putTime(v url.Values, name string, t *time.Time) {
	if t != nil {
		v.Set(name, t.Format(time.RFC3339Nano))
	}
}
