package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// ApplySuites stores the suites of a file, all or none.
func (c *Client) ApplySuites(ctx context.Context, name string, f api.DefinitionFile) (a api.AppliedSuites, err error) {
	return a, c.do(ctx, call{method: http.MethodPut, path: project(name, "suites"), body: f}, &a)
}

// Suites lists a project's suites with how they stand.
func (c *Client) Suites(ctx context.Context, name string) ([]api.SuiteView, error) {
	var out api.Page[api.SuiteView]
	err := c.do(ctx, call{method: http.MethodGet, path: project(name, "suites")}, &out)
	return out.Items, err
}

// Suite returns a suite with its definition and its newest runs.
func (c *Client) Suite(ctx context.Context, name, suite string) (v api.SuiteView, err error) {
	return v, c.do(ctx, call{method: http.MethodGet, path: project(name, "suites", suite)}, &v)
}

// DeleteSuite removes a suite; its runs stay.
func (c *Client) DeleteSuite(ctx context.Context, name, suite string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: project(name, "suites", suite)}, nil)
}

// RunSuite starts a run of a suite. A run that is active already is CodeConflict with Details run and state.
func (c *Client) RunSuite(ctx context.Context, name, suite string, q engine.SuiteRequest, key string) (r api.SuiteRun, err error) {
	return r, c.do(ctx, call{method: http.MethodPost, path: project(name, "suites", suite, "runs"), body: q, key: key}, &r)
}

// StartExternal tells of a harness that has started elsewhere.
func (c *Client) StartExternal(ctx context.Context, name string, q engine.ExternalRequest, key string) (r api.SuiteRun, err error) {
	return r, c.do(ctx, call{method: http.MethodPost, path: project(name, "external"), body: q, key: key}, &r)
}

// SendReport says how a harness that runs elsewhere goes on. It may be repeated.
func (c *Client) SendReport(ctx context.Context, id assay.RunID, r api.ExternalReport) (out api.ExternalReported, err error) {
	return out, c.do(ctx, call{method: http.MethodPost, path: run(id, "reports"), body: r}, &out)
}

// Finish says how a harness that ran elsewhere ended. It may be repeated.
func (c *Client) Finish(ctx context.Context, id assay.RunID, f engine.Finish) (r api.RunView, err error) {
	return r, c.do(ctx, call{method: http.MethodPost, path: run(id, "finish"), body: api.FinishOf(f)}, &r)
}

// Cases pages through what the result files of a run held.
func (c *Client) Cases(ctx context.Context, id assay.RunID, q api.CaseQuery, p store.Page) (out api.Page[assay.Case], err error) {
	v := paged(p)
	put(v, "state", string(q.State))
	put(v, "class", string(q.Class))
	if q.Pass != nil {
		v.Set("pass", strconv.FormatBool(*q.Pass))
	}
	if q.Full {
		v.Set("full", "true")
	}
	return out, c.do(ctx, call{method: http.MethodGet, path: run(id, "cases"), query: v}, &out)
}

// Case returns one case.
func (c *Client) Case(ctx context.Context, id assay.RunID, seq int64) (out assay.Case, err error) {
	return out, c.do(ctx, call{method: http.MethodGet, path: run(id, "cases", strconv.FormatInt(seq, 10))}, &out)
}

// Metrics returns the newest value of each metric that a harness reported.
func (c *Client) Metrics(ctx context.Context, id assay.RunID) ([]assay.Metric, error) {
	var out api.Page[assay.Metric]
	err := c.do(ctx, call{method: http.MethodGet, path: run(id, "metrics")}, &out)
	return out.Items, err
}

// Points returns the values of metrics over time, of each at most limit of the newest; 0 is the server's default.
func (c *Client) Points(ctx context.Context, id assay.RunID, metrics []string, limit int) ([]api.MetricPoints, error) {
	v := url.Values{"metric": metrics}
	if limit > 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
	var out api.Page[api.MetricPoints]
	err := c.do(ctx, call{method: http.MethodGet, path: run(id, "points"), query: v}, &out)
	return out.Items, err
}
