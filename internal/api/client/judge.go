package client

import (
	"context"
	"net/http"

	"assay/internal/api"
	"assay/internal/assay"
)

// ApplyJudge stores a definition, YAML text, under the name that it gives itself.
func (c *Client) ApplyJudge(ctx context.Context, name, source string) (api.JudgeView, error) {
	return c.ApplyJudgeIn(ctx, name, api.JudgeSource{Source: source})
}

// ApplyJudgeIn is ApplyJudge for a definition that lies in a folder.
func (c *Client) ApplyJudgeIn(ctx context.Context, name string, source api.JudgeSource) (j api.JudgeView, err error) {
	return j, c.do(ctx, call{method: http.MethodPut, path: project(name, "judges"), body: source}, &j)
}

// Judges lists a project's judges.
func (c *Client) Judges(ctx context.Context, name string) ([]assay.Judge, error) {
	var out api.Page[assay.Judge]
	err := c.do(ctx, call{method: http.MethodGet, path: project(name, "judges")}, &out)
	return out.Items, err
}

// Judge returns a judge with its definition and history.
func (c *Client) Judge(ctx context.Context, name, judge string) (j api.JudgeView, err error) {
	return j, c.do(ctx, call{method: http.MethodGet, path: project(name, "judges", judge)}, &j)
}

// TryJudge asks a judge about one session and returns when that is done; with DryRun it calls nobody.
func (c *Client) TryJudge(ctx context.Context, name string, q api.TryRequest, key string) (t api.Tried, err error) {
	return t, c.do(ctx, call{method: http.MethodPost, path: project(name, "judges", "try"), body: q, key: key}, &t)
}

// CheckProvider makes one cheap call to the provider of an applied judge.
func (c *Client) CheckProvider(ctx context.Context, name, judge string) (k api.ProviderCheck, err error) {
	return k, c.do(ctx, call{method: http.MethodPost, path: project(name, "providers", "check"), body: api.CheckRequest{Judge: judge}}, &k)
}
