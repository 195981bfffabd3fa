package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// clause is a condition with its arguments; each ? in its pieces is the next argument's place.
type clause struct {
	sql  strings.Builder
	args []any
}

func where(sql string, args ...any) *clause {
	c := new(clause)
	c.sql.WriteString(" WHERE ")
	c.add(sql, args)
	return c
}

func (c *clause) and(sql string, args ...any) {
	c.sql.WriteString(" AND ")
	c.add(sql, args)
}

func (c *clause) add(sql string, args []any) {
	for _, a := range args {
		before, after, _ := strings.Cut(sql, "?")
		c.args = append(c.args, a)
		c.sql.WriteString(before + "$" + strconv.Itoa(len(c.args)))
		sql = after
	}
	c.sql.WriteString(sql)
}

// values returns the arguments, which pgx's side may change, and more for places after them.
func (c *clause) values(more ...any) []any { return append(append([]any{}, c.args...), more...) }

// next is the place of the first argument after the clause's.
func (c *clause) next() string { return "$" + strconv.Itoa(len(c.args)+1) }

// windows are the conditions of a query's window, to be asked one after the other in the order of
// days. A zone is less than a day away from UTC, so two days of slack on both sides make the day a
// safe bound for the index, whatever the project's zone was when the day was computed.
func windows(project assay.ProjectID, q store.SessionQuery) []*clause {
	dated := where("s.project_id = ?", project)
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
	undated := where("s.project_id = ?", project)
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
		c.and("EXISTS (SELECT 1 FROM set_members m WHERE m.set_id = ? AND m.session_key = s.id)", q.Set)
	}
}

func (s sessions) List(ctx context.Context, project assay.ProjectID, q store.SessionQuery, p store.Page) (heads []assay.Head, next string, err error) {
	var after [3]string
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	for _, w := range windows(project, q) {
		narrow(w, q)
		from := after
		for len(heads) <= limit {
			n := limit + 1
			if q.Match != nil {
				n = max(n, 500)
			}
			chunk, err := s.heads(ctx, w, from, n)
			if err != nil {
				return nil, "", err
			}
			for i := range chunk {
				if h := &chunk[i]; (q.Match == nil || q.Match(h)) && len(heads) <= limit {
					heads = append(heads, *h)
				}
			}
			if len(chunk) < n {
				break
			}
			end := chunk[n-1]
			from = [3]string{end.Day, end.UserID, end.SessionID}
		}
	}
	heads, next = store.CutPage(heads, limit, func(h assay.Head) any { return [3]string{h.Day, h.UserID, h.SessionID} })
	return heads, next, nil
}

// heads reads the first n heads after a place in the order of lists.
func (s sessions) heads(ctx context.Context, w *clause, after [3]string, n int) (heads []assay.Head, err error) {
	at := len(w.args)
	place := func(i int) string { return "$" + strconv.Itoa(at+i) }
	sql := "SELECT " + headColumns + headTables + w.sql.String() +
		" AND (s.day, s.user_id, s.session_id) > (" + place(1) + ", " + place(2) + ", " + place(3) + ") ORDER BY s.day, s.user_id, s.session_id LIMIT " + place(4)
	err = s.read(ctx, func(ctx context.Context, c conn) (err error) {
		heads, err = collect(ctx, c, headInto, sql, w.values(after[0], after[1], after[2], n)...)
		return err
	})
	return heads, err
}

// Scan reads one state of the database, windows together.
func (s sessions) Scan(ctx context.Context, project assay.ProjectID, q store.SessionQuery, f func(*store.FrameRow) error) error {
	return s.snapshot(ctx, func(c conn) error {
		for _, w := range windows(project, q) {
			narrow(w, q)
			if err := scanWindow(ctx, c, q, w, f); err != nil {
				return err
			}
		}
		return nil
	})
}

func scanWindow(ctx context.Context, c conn, q store.SessionQuery, w *clause, f func(*store.FrameRow) error) error {
	var out store.FrameRow
	if q.Match != nil {
		var h assay.Head
		return c.each(ctx, func() error {
			defer func() { h = assay.Head{} }()
			if !q.Match(&h) {
				return nil
			}
			out = store.FrameRow{Key: h.Key, Content: h.Content, UserID: h.UserID, SessionID: h.SessionID, Day: h.Day, Arm: h.Arm,
				Undated: h.StartedAt == nil, Empty: h.Empty, ArrivedAt: h.ArrivedAt.UnixMicro()}
			if h.SettleFrom != nil {
				out.SettleFrom = h.SettleFrom.UnixMicro()
			}
			return callers(f(&out))
		}, "SELECT "+headColumns+headTables+w.sql.String(), w.values(), headInto(&h)...)
	}
	return c.each(ctx, func() error { return callers(f(&out)) },
		"SELECT s.id, s.content_id, s.user_id, s.session_id, s.day, s.arm, s.started_at IS NULL, s.empty, coalesce(s.settle_from, 0), s.arrived_at FROM sessions s"+
			w.sql.String(), w.values(), intTo(&out.Key), intTo(&out.Content), &out.UserID, &out.SessionID, &out.Day, &out.Arm, &out.Undated, &out.Empty,
		&out.SettleFrom, &out.ArrivedAt)
}
