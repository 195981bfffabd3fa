package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/report/compare"
	"assay/internal/store"
)

// Report returns the report of a run, as JSON: a command that prints JSON loses nothing that a newer server says.
func (c *Client) Report(ctx context.Context, id assay.RunID, q api.ReportQuery) (r json.RawMessage, err error) {
	v := url.Values{}
	put(v, "target", q.Target)
	put(v, "control", q.Control)
	put(v, "shares", q.Shares)
	putNumber(v, "confidence", q.Confidence)
	v["gate"] = q.Gates
	return r, c.do(ctx, call{method: http.MethodGet, path: run(id, "report"), query: v}, &r)
}

// Compare returns the comparison of two runs, as JSON.
func (c *Client) Compare(ctx context.Context, a, b assay.RunID, q api.CompareQuery) (r json.RawMessage, err error) {
	return r, c.do(ctx, call{method: http.MethodGet, path: run(a, "compare", b.String()), query: compared(url.Values{}, q)}, &r)
}

// Flips pages through the pairs whose answer changed.
func (c *Client) Flips(ctx context.Context, a, b assay.RunID, q api.CompareQuery, f api.FlipQuery, p store.Page) (out api.Page[compare.Flip], err error) {
	v := compared(paged(p), q)
	put(v, "criterion", f.Criterion)
	put(v, "kind", f.Kind)
	return out, c.do(ctx, call{method: http.MethodGet, path: run(a, "compare", b.String(), "flips"), query: v}, &out)
}

func compared(v url.Values, q api.CompareQuery) url.Values {
	put(v, "key", q.Key)
	put(v, "judge_a", q.JudgeA)
	put(v, "judge_b", q.JudgeB)
	put(v, "primary", q.Primary)
	putNumber(v, "confidence", q.Confidence)
	v["gate"] = q.Gates
	return v
}

func putNumber(v url.Values, name string, x float64) {
	if x != 0 {
		v.Set(name, strconv.FormatFloat(x, 'g', -1, 64))
	}
}
