package client

import (
	"context"
	"net/http"
	"net/url"

	"assay/internal/api"
	"assay/internal/assay"
)

// Models lists the models that a project's judges ask and those for which something was set; without a
// project only the latter.
func (c *Client) Models(ctx context.Context, name string) ([]api.ModelView, error) {
	v := url.Values{}
	put(v, "project", name)
	return c.models(ctx, v)
}

// Model returns what is known of one model.
func (c *Client) Model(ctx context.Context, name string, key assay.ModelKey) (m api.ModelView, err error) {
	v := named(key)
	put(v, "project", name)
	found, err := c.models(ctx, v)
	if err == nil {
		m = found[0]
	}
	return m, err
}

// PutModel sets a model's price and limits in place of those that were set.
func (c *Client) PutModel(ctx context.Context, m api.ModelPut) (v api.ModelView, err error) {
	return v, c.do(ctx, call{method: http.MethodPut, path: path("models"), body: m}, &v)
}

// DeleteModel forgets what was set for a model.
func (c *Client) DeleteModel(ctx context.Context, key assay.ModelKey) error {
	return c.do(ctx, call{method: http.MethodDelete, path: path("models"), query: named(key)}, nil)
}

func (c *Client) models(ctx context.Context, v url.Values) ([]api.ModelView, error) {
	var out api.Page[api.ModelView]
	err := c.do(ctx, call{method: http.MethodGet, path: path("models"), query: v}, &out)
	return out.Items, err
}

func named(key assay.ModelKey) url.Values {
	v := url.Values{}
	put(v, "endpoint", key.Endpoint)
	put(v, "model", key.Model)
	return v
}
