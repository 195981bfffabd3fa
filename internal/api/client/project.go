package client

import (
	"context"
	"net/http"

	"assay/internal/api"
)

// Owner says which process answers and whether it drives.
func (c *Client) Owner(ctx context.Context) (o api.OwnerInfo, err error) {
	return o, c.do(ctx, call{method: http.MethodGet, path: path("owner")}, &o)
}

// Check asks the database for its own check and the standing rules.
func (c *Client) Check(ctx context.Context) (k api.Check, err error) {
	return k, c.do(ctx, call{method: http.MethodGet, path: path("check")}, &k)
}

// Projects lists every project.
func (c *Client) Projects(ctx context.Context) ([]api.Project, error) {
	var out api.Page[api.Project]
	err := c.do(ctx, call{method: http.MethodGet, path: path("projects")}, &out)
	return out.Items, err
}

// Project returns one project with its totals.
func (c *Client) Project(ctx context.Context, name string) (p api.Project, err error) {
	return p, c.do(ctx, call{method: http.MethodGet, path: project(name)}, &p)
}

// CreateProject makes a project; settings may be nil.
func (c *Client) CreateProject(ctx context.Context, name string, settings *api.SettingsPatch) (p api.Project, err error) {
	return p, c.do(ctx, call{method: http.MethodPost, path: path("projects"), body: api.NewProject{Name: name, Settings: settings}}, &p)
}

// PatchProject changes settings. Where arms, days or cases depend on them it returns when all are recomputed.
func (c *Client) PatchProject(ctx context.Context, name string, change api.SettingsPatch) (p api.Project, err error) {
	return p, c.do(ctx, call{method: http.MethodPatch, path: project(name), body: change}, &p)
}

// DeleteProject removes a project and all that belongs to it.
func (c *Client) DeleteProject(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: project(name)}, nil)
}
