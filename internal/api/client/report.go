package client

import (
	"context"
	"encoding/json"
	"net/http"

	"assay/internal/assay"
)

// Report returns the report of a run.
func (c *Client) Report(ctx context.Context, id assay.RunID) (r json.RawMessage, err error) {
	return r, c.do(ctx, call{method: http.MethodGet, path: run(id, "report")}, &r)
}
