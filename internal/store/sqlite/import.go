package sqlite

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type imports struct{ s *Store }

const importColumns = "id, file, format, by_whom, state, started_at, ended_at, bytes, new, changed, unchanged, rejected, repaired, labels, error"

func scanImport(r row) store.Import {
	return store.Import{
		ID: r.int(0), File: r.text(1), Format: r.text(2), By: r.text(3), State: r.text(4),
		StartedAt: r.time(5), EndedAt: r.timePtr(6), Bytes: r.int(7), New: r.int(8), Changed: r.int(9),
		Unchanged: r.int(10), Rejected: r.int(11), Repaired: r.int(12), Labels: r.int(13), Error: r.text(14),
	}
}

func (i imports) Start(ctx context.Context, project assay.ProjectID, file, format, by string, now time.Time) (id int64, err error) {
	err = i.s.write.do(ctx, forImport, func(t tx) error {
		if _, err := getProject(ctx, t.conn, project); err != nil {
			return err
		}
		id, err = t.insert("INSERT INTO imports (project_id, file, format, by_whom, state, started_at) VALUES (?, ?, ?, ?, 'running', ?)",
			project, file, format, by, now)
		return err
	})
	return id, err
}

// setTotals stores totals in an import that runs still.
func setTotals(t tx, id int64, totals store.Import) error {
	n, err := t.exec(`UPDATE imports SET bytes = ?, new = ?, changed = ?, unchanged = ?, rejected = ?, repaired = ?, labels = ?,
		format = CASE WHEN ? = '' THEN format ELSE ? END, error = ? WHERE id = ? AND state = 'running'`,
		totals.Bytes, totals.New, totals.Changed, totals.Unchanged, totals.Rejected, totals.Repaired, totals.Labels,
		totals.Format, totals.Format, totals.Error, id)
	if err == nil && n == 0 {
		return assay.Errorf(assay.CodeRefused, "import %d is not running", id).WithHint("import the file again: what is stored already is left as it is")
	}
	return err
}

func (i imports) Progress(ctx context.Context, id int64, totals store.Import, rejects []store.Reject) error {
	return i.s.write.do(ctx, forImport, func(t tx) error {
		if err := setTotals(t, id, totals); err != nil {
			return err
		}
		var have int64
		if _, err := t.first(ctx, func(r row) error { have = r.int(0); return nil },
			"SELECT coalesce(max(no), 0) FROM rejects WHERE import_id = ?", id); err != nil {
			return err
		}
		for _, r := range rejects[:min(int64(len(rejects)), max(0, store.MaxRejects-have))] {
			have++
			if _, err := t.exec("INSERT INTO rejects (import_id, no, line, place, reason, excerpt) VALUES (?, ?, ?, ?, ?, ?)",
				id, have, r.Line, r.Where, r.Reason, r.Excerpt); err != nil {
				return err
			}
		}
		return nil
	})
}

func (i imports) Finish(ctx context.Context, id int64, totals store.Import, now time.Time) error {
	return i.s.write.do(ctx, forImport, func(t tx) error {
		if err := setTotals(t, id, totals); err != nil {
			return err
		}
		state := "done"
		if totals.State == "failed" || totals.Error != "" {
			state = "failed"
		}
		_, err := t.exec("UPDATE imports SET state = ?, ended_at = ? WHERE id = ?", state, now, id)
		return err
	})
}

func (i imports) List(ctx context.Context, project assay.ProjectID, p store.Page) (list []store.Import, next string, err error) {
	before := int64(1) << 62
	if _, err := p.After(&before); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	err = i.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			list = append(list, scanImport(r))
			return nil
		}, "SELECT "+importColumns+" FROM imports WHERE project_id = ? AND id < ? ORDER BY id DESC LIMIT ?", project, before, limit+1)
	})
	list, next = store.CutPage(list, limit, func(i store.Import) any { return i.ID })
	return list, next, err
}

func (i imports) Rejects(ctx context.Context, project assay.ProjectID, id int64, p store.Page) (list []store.Reject, next string, err error) {
	var after int64
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	err = i.s.read.do(ctx, func(c *conn) error {
		found, err := c.first(ctx, func(row) error { return nil }, "SELECT 1 FROM imports WHERE id = ? AND project_id = ?", id, project)
		if err != nil {
			return err
		}
		if !found {
			return notFound("there is no import %d", id).WithHint("`assay imports list` shows them")
		}
		return c.query(ctx, func(r row) error {
			list = append(list, store.Reject{Line: r.int(0), Where: r.text(1), Reason: r.text(2), Excerpt: r.text(3)})
			return nil
		}, "SELECT line, place, reason, excerpt FROM rejects WHERE import_id = ? AND no > ? ORDER BY no LIMIT ?", id, after, limit+1)
	})
	list, next = store.CutPage(list, limit, func(store.Reject) any { return after + int64(limit) }) // numbers have no gaps
	return list, next, err
}

func (i imports) Interrupt(ctx context.Context, now time.Time) (n int64, err error) {
	err = i.s.write.do(ctx, forAsk, func(t tx) error {
		n, err = t.exec("UPDATE imports SET state = 'failed', error = 'interrupted', ended_at = ? WHERE state = 'running'", now)
		return err
	})
	return n, err
}
