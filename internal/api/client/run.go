package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// Plan previews a grade run; it writes nothing.
func (c *Client) Plan(ctx context.Context, name string, q engine.GradeRequest) (p api.Plan, err error) {
	return p, c.do(ctx, call{method: http.MethodPost, path: project(name, "plan"), body: q}, &p)
}

// Propose is Plan for a margin or a budget: with sizes of the strata, which Grade takes as they are.
func (c *Client) Propose(ctx context.Context, name string, q api.PlanRequest) (p api.Plan, err error) {
	return p, c.do(ctx, call{method: http.MethodPost, path: project(name, "plan"), body: q}, &p)
}

// Grade starts a run. With the same key (NewKey makes one, "" means none) a second call answers with
// the same run. A held key is CodeConflict with Details run, state and key.
func (c *Client) Grade(ctx context.Context, name string, q engine.GradeRequest, key string) (g api.Graded, err error) {
	return g, c.do(ctx, call{method: http.MethodPost, path: project(name, "runs"), body: q, key: key}, &g)
}

// GradeSession grades the one session of q.Session and returns, with its verdicts, when that is done.
func (c *Client) GradeSession(ctx context.Context, name string, q engine.GradeRequest, key string) (g api.Graded, err error) {
	v := url.Values{"wait": {"true"}}
	return g, c.do(ctx, call{method: http.MethodPost, path: project(name, "runs"), query: v, body: q, key: key}, &g)
}

// Runs pages through runs, newest first; of every project when q names none.
func (c *Client) Runs(ctx context.Context, q api.RunQuery, p store.Page) (out api.Page[api.RunRow], err error) {
	v := paged(p)
	put(v, "kind", string(q.Kind))
	put(v, "suite", q.Suite)
	put(v, "schedule", q.Schedule)
	states := make([]string, len(q.States))
	for i, s := range q.States {
		states[i] = string(s)
	}
	put(v, "state", strings.Join(states, ","))
	at := path("runs")
	if q.Project != "" {
		at = project(q.Project, "runs")
	}
	return out, c.do(ctx, call{method: http.MethodGet, path: at, query: v}, &out)
}

// Run returns one run with its counts, spend and strata.
func (c *Client) Run(ctx context.Context, id assay.RunID) (r api.RunView, err error) {
	return r, c.do(ctx, call{method: http.MethodGet, path: run(id)}, &r)
}

// Items pages through a run's items in dispatch order.
func (c *Client) Items(ctx context.Context, id assay.RunID, q api.ItemQuery, p store.Page) (out api.Page[assay.Item], err error) {
	v := paged(p)
	put(v, "state", string(q.State))
	put(v, "class", string(q.Class))
	if q.Waiting {
		put(v, "waiting", "true")
	}
	return out, c.do(ctx, call{method: http.MethodGet, path: run(id, "items"), query: v}, &out)
}

// Item returns every call made for one item.
func (c *Client) Item(ctx context.Context, id assay.RunID, seq int64) (i api.ItemCalls, err error) {
	return i, c.do(ctx, call{method: http.MethodGet, path: run(id, "items", strconv.FormatInt(seq, 10))}, &i)
}

// Verdicts pages through the verdicts of a run as its items adopted them; judge is the index + 1 of
// one of its judges, 0 all.
func (c *Client) Verdicts(ctx context.Context, id assay.RunID, judge int, p store.Page) (out api.Page[assay.Verdict], err error) {
	return out, c.do(ctx, call{method: http.MethodGet, path: run(id, "verdicts"), query: judged(judge, paged(p))}, &out)
}

// EachVerdict streams every verdict of a run. It ends early with f's error.
func (c *Client) EachVerdict(ctx context.Context, id assay.RunID, judge int, f func(assay.Verdict) error) error {
	req, err := c.request(ctx, http.MethodGet, run(id, "verdicts"), judged(judge, url.Values{}), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/x-ndjson")
	resp, err := c.open(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := json.NewDecoder(resp.Body); ; {
		var v assay.Verdict
		if err := lines.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return c.broken(req, err)
		}
		if err := f(v); err != nil {
			return err
		}
	}
}

// Cancel asks a run to stop; with now calls in flight are cut. A terminal run comes back unchanged.
func (c *Client) Cancel(ctx context.Context, id assay.RunID, now bool) (r api.RunView, err error) {
	return c.CancelBy(ctx, id, "", now)
}

// CancelBy is Cancel with who asks.
func (c *Client) CancelBy(ctx context.Context, id assay.RunID, by string, now bool) (r api.RunView, err error) {
	return r, c.do(ctx, call{method: http.MethodPost, path: run(id, "cancel"), body: api.CancelRequest{Now: now, By: by}}, &r)
}

// Pause asks a run to pause once nothing is in flight.
func (c *Client) Pause(ctx context.Context, id assay.RunID) (r api.RunView, err error) {
	return r, c.do(ctx, call{method: http.MethodPost, path: run(id, "pause")}, &r)
}

// Resume queues a paused run.
func (c *Client) Resume(ctx context.Context, id assay.RunID) (r api.RunView, err error) {
	return r, c.do(ctx, call{method: http.MethodPost, path: run(id, "resume")}, &r)
}

// End asks a run to complete with what it has.
func (c *Client) End(ctx context.Context, id assay.RunID) (r api.RunView, err error) {
	return r, c.do(ctx, call{method: http.MethodPost, path: run(id, "end")}, &r)
}

// Retry starts a new run over the errored, cancelled and abandoned items of a terminal one. Without a
// budget of its own it gets what the old run's budget left.
func (c *Client) Retry(ctx context.Context, id assay.RunID, q engine.RetryRequest, key string) (g api.Graded, err error) {
	return g, c.do(ctx, call{method: http.MethodPost, path: run(id, "retry"), body: q, key: key}, &g)
}

// PatchRun changes a run's concurrency or budget, while it runs too.
func (c *Client) PatchRun(ctx context.Context, id assay.RunID, change api.RunPatch) (r api.RunView, err error) {
	return r, c.do(ctx, call{method: http.MethodPatch, path: run(id), body: change}, &r)
}

// Exchange returns what was sent for an item, what the judge saw and what came back.
func (c *Client) Exchange(ctx context.Context, id assay.RunID, seq int64) (x api.Exchange, err error) {
	return x, c.do(ctx, call{method: http.MethodGet, path: run(id, "items", strconv.FormatInt(seq, 10), "exchange")}, &x)
}

func run(id assay.RunID, rest ...string) string {
	return path("runs", append([]string{id.String()}, rest...)...)
}

func judged(judge int, v url.Values) url.Values {
	if judge > 0 {
		v.Set("judge", strconv.Itoa(judge))
	}
	return v
}
