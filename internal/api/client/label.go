package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/report/check"
	"assay/internal/store"
)

// Labels pages through labels, oldest first.
func (c *Client) Labels(ctx context.Context, name string, q api.LabelQuery, p store.Page) (out api.Page[assay.Label], err error) {
	return out, c.do(ctx, call{method: http.MethodGet, path: project(name, "labels"), query: labels(paged(p), q)}, &out)
}

func labels(v url.Values, q api.LabelQuery) url.Values {
	put(v, "criterion", q.Criterion)
	put(v, "rater", q.Rater)
	put(v, "use", string(q.Use))
	put(v, "session", q.Session)
	if q.Draw != 0 {
		v.Set("draw", strconv.FormatInt(q.Draw, 10))
	}
	return v
}

// LabelTally counts labels per criterion, rater and value.
func (c *Client) LabelTally(ctx context.Context, name string) ([]store.LabelTally, error) {
	var out api.Page[store.LabelTally]
	err := c.do(ctx, call{method: http.MethodGet, path: project(name, "labels", "tally")}, &out)
	return out.Items, err
}

// PutLabels stores up to 1,000 labels and says what became of each.
func (c *Client) PutLabels(ctx context.Context, name string, n api.NewLabels) (out api.LabelOutcomes, err error) {
	return out, c.do(ctx, call{method: http.MethodPost, path: project(name, "labels"), body: n}, &out)
}

// RemoveLabels removes the labels of a rater, a draw or a session.
func (c *Client) RemoveLabels(ctx context.Context, name string, q api.LabelQuery) (out api.LabelsChanged, err error) {
	return out, c.do(ctx, call{method: http.MethodDelete, path: project(name, "labels"), query: labels(url.Values{}, q)}, &out)
}

// MarkLabels gives labels another use.
func (c *Client) MarkLabels(ctx context.Context, name string, m api.LabelMark) (out api.LabelsChanged, err error) {
	return out, c.do(ctx, call{method: http.MethodPost, path: project(name, "labels", "mark"), body: m}, &out)
}

// CreateDraw chooses graded sessions to be labelled.
func (c *Client) CreateDraw(ctx context.Context, name string, n api.NewDraw) (d assay.Draw, err error) {
	return d, c.do(ctx, call{method: http.MethodPost, path: project(name, "draws"), body: n}, &d)
}

// Draws pages through draws, newest first.
func (c *Client) Draws(ctx context.Context, name string, p store.Page) (out api.Page[assay.Draw], err error) {
	return out, c.do(ctx, call{method: http.MethodGet, path: project(name, "draws"), query: paged(p)}, &out)
}

// Draw returns one draw.
func (c *Client) Draw(ctx context.Context, name string, id int64) (d assay.Draw, err error) {
	return d, c.do(ctx, call{method: http.MethodGet, path: project(name, "draws", strconv.FormatInt(id, 10))}, &d)
}

// DrawMembers pages through what was drawn; open leaves out what has a label by the rater, or with rater "" by anybody.
func (c *Client) DrawMembers(ctx context.Context, name string, id int64, open bool, rater string, p store.Page) (out api.Page[assay.DrawMember], err error) {
	v := paged(p)
	putBool(v, "open", open)
	put(v, "rater", rater)
	return out, c.do(ctx, call{method: http.MethodGet, path: project(name, "draws", strconv.FormatInt(id, 10), "members"), query: v}, &out)
}

// CheckJudge says how far a judge can be trusted.
func (c *Client) CheckJudge(ctx context.Context, name, judge string, q api.CheckQuery) (out check.Check, err error) {
	return out, c.do(ctx, call{method: http.MethodGet, path: project(name, "judges", judge, "check"), query: checked(url.Values{}, q)}, &out)
}

// Disagreements pages through the sessions on which a judge and labels differ.
func (c *Client) Disagreements(ctx context.Context, name, judge string, q api.CheckQuery, p store.Page) (out api.Page[check.Disagreement], err error) {
	return out, c.do(ctx, call{method: http.MethodGet, path: project(name, "judges", judge, "check", "disagreements"), query: checked(paged(p), q)}, &out)
}

func checked(v url.Values, q api.CheckQuery) url.Values {
	put(v, "run", q.Run)
	put(v, "criterion", q.Criterion)
	put(v, "rater", q.Rater)
	put(v, "from", q.From)
	return v
}
