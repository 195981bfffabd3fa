package client

import (
	"context"
	"net/http"
	"net/url"

	"assay/internal/api"
)

// Spend returns what a project's calls used and cost, in groups.
func (c *Client) Spend(ctx context.Context, name string, q api.SpendQuery) (s api.Spending, err error) {
	v := url.Values{}
	put(v, "by", q.By)
	if q.Run != 0 {
		v.Set("run", q.Run.String())
	}
	putTime(v, "from", q.From)
	putTime(v, "to", q.To)
	return s, c.do(ctx, call{method: http.MethodGet, path: project(name, "spend"), query: v}, &s)
}
