package sqlite

import (
	"context"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// clause is a condition on sessions with its arguments.
type clause struct {
	sql  strings.Builder
	args []any
}

func (c *clause) and(sql string, args ...any) {
	c.sql.WriteString(" AND " + sql)
	c.args = append(c.args, args...)
}

// windows are the conditions of a query's window, to be asked one after the other in the order of
// days. A zone is less than a day away from UTC, so two days of slack on both sides make the day a
// safe bound for the index, whatever the project's zone was when the day was computed.
func windows(project assay.ProjectID, q store.SessionQuery) []*clause {
	base := func() *clause {
		c := new(clause)
		c.sql.WriteString("s.project_id = ?")
		c.args = append(c.args, project)
		return c
	}
	dated := base()
	if q.From == nil && q.To == nil {
		return []*clause{dated}
	}
	const slack = 48 * time.Hour
	if q.From != nil {
		dated.and("s.day >= ?", q.From.UTC().Add(-slack).Format(time.DateOnly))
		dated.and("s.started_at >= ?", q.From)
	}
	if q.To != nil {
		dated.and("s.day <= ?", q.To.UTC().Add(slack).Format(time.DateOnly))
		dated.and("s.started_at < ?", q.To)
	}
	if !q.Undated {
		return []*clause{dated}
	}
	undated := base()
	undated.and("s.day = ?", assay.Undated)
	undated.and("s.started_at IS NULL")
	return []*clause{dated, undated}
}

// narrow adds what a query asks besides its window.
func narrow(c *clause, q store.SessionQuery) {
	if q.Labelled {
		c.and("EXISTS (SELECT 1 FROM labels l WHERE l.content_id = s.content_id)")
	}
	if q.Set != 0 {
		c.and("s.id IN (SELECT session_key FROM set_members WHERE set_id = ?)", q.Set)
	}
}

// from says how sessions are reached: through the members of a set, else through the index of frames.
func from(q store.SessionQuery) string {
	if q.Set != 0 {
		return " FROM sessions s"
	}
	return " FROM sessions s INDEXED BY sessions_frame"
}

func (s sessions) List(ctx context.Context, project assay.ProjectID, q store.SessionQuery, p store.Page) (heads []assay.Head, next string, err error) {
	var after [3]string
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	err = s.s.read.view(ctx, func(c *conn) error {
		for _, w := range windows(project, q) {
			narrow(w, q)
			w.and("(s.day, s.user_id, s.session_id) > (?, ?, ?)", after[0], after[1], after[2])
			if err := eachHead(ctx, c, q, w, func(h *assay.Head) error {
				if heads = append(heads, *h); len(heads) > limit {
					return errStop
				}
				return nil
			}); err != nil && err != errStop {
				return err
			}
			if len(heads) > limit {
				break
			}
		}
		return nil
	})
	heads, next = store.CutPage(heads, limit, func(h assay.Head) any { return [3]string{h.Day, h.UserID, h.SessionID} })
	return heads, next, err
}

// eachHead calls f for the heads that match, in the order of lists.
func eachHead(ctx context.Context, c *conn, q store.SessionQuery, w *clause, f func(*assay.Head) error) error {
	return c.query(ctx, func(r row) error {
		h, err := scanHead(r)
		if err != nil || (q.Match != nil && !q.Match(&h)) {
			return err
		}
		return f(&h)
	}, "SELECT "+headColumns+from(q)+" CROSS JOIN contents c ON c.id = s.content_id WHERE "+w.sql.String()+
		" ORDER BY s.day, s.user_id, s.session_id", w.args...)
}
