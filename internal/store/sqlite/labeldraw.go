package sqlite

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// drawSelect counts members by number, which has no gaps, and those with a label one by one.
const drawSelect = `SELECT d.id, d.run_id, d.judge, d.version, d.criterion, d.method, d.seed, d.frame, d.by_whom, d.created_at,
	(SELECT coalesce(max(m.no), 0) FROM draw_members m WHERE m.draw_id = d.id),
	(SELECT count(*) FROM draw_members m WHERE m.draw_id = d.id
		AND EXISTS (SELECT 1 FROM labels l WHERE l.content_id = m.content_id AND l.criterion = d.criterion))
	FROM draws d WHERE d.project_id = ?`

func scanDraw(r row) assay.Draw {
	return assay.Draw{
		ID: r.int(0), Run: assay.RunID(r.int(1)), Judge: r.text(2), Version: assay.Hash(r.text(3)), Criterion: r.text(4), Method: assay.DrawMethod(r.text(5)),
		Seed: r.text(6), Frame: r.int(7), By: r.text(8), CreatedAt: r.time(9), Members: r.int(10), Labelled: r.int(11),
	}
}

func (l labels) CreateDraw(ctx context.Context, project assay.ProjectID, d assay.Draw, members []assay.DrawMember, now time.Time) (draw assay.Draw, err error) {
	err = l.s.write.do(ctx, forAsk, func(t tx) error {
		if _, err := getProject(ctx, t.conn, project); err != nil {
			return err
		}
		id, err := t.insert(`INSERT INTO draws (project_id, run_id, judge, version, criterion, method, seed, frame, by_whom, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, project, d.Run, d.Judge, d.Version, d.Criterion, d.Method, d.Seed, d.Frame, d.By, now)
		if err != nil {
			return err
		}
		for i := range members {
			m := &members[i]
			if _, err := t.exec("INSERT INTO draw_members (draw_id, no, content_id, day, arm, probability) VALUES (?, ?, ?, ?, ?, ?)",
				id, i+1, m.Content, m.Stratum.Day, m.Stratum.Arm, m.Probability); err != nil {
				return err
			}
		}
		draw, err = getDraw(ctx, t.conn, project, id)
		return err
	})
	return draw, err
}

func getDraw(ctx context.Context, c *conn, project assay.ProjectID, id int64) (draw assay.Draw, err error) {
	found, err := c.first(ctx, func(r row) error { draw = scanDraw(r); return nil }, drawSelect+" AND d.id = ?", project, id)
	if err == nil && !found {
		err = store.NoDraw(id)
	}
	return draw, err
}

func (l labels) Draw(ctx context.Context, project assay.ProjectID, id int64) (draw assay.Draw, err error) {
	err = l.s.read.do(ctx, func(c *conn) error {
		draw, err = getDraw(ctx, c, project, id)
		return err
	})
	return draw, err
}

func (l labels) Draws(ctx context.Context, project assay.ProjectID, p store.Page) (list []assay.Draw, next string, err error) {
	var before int64
	within, err := p.After(&before)
	if err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	err = l.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error { list = append(list, scanDraw(r)); return nil },
			drawSelect+" AND (NOT ? OR d.id < ?) ORDER BY d.id DESC LIMIT ?", project, within, before, limit+1)
	})
	list, next = store.CutPage(list, limit, func(d assay.Draw) any { return d.ID })
	return list, next, err
}

func (l labels) Members(ctx context.Context, project assay.ProjectID, draw int64, open bool, rater string, p store.Page) (list []assay.DrawMember, next string, err error) {
	var after int64
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	err = l.s.read.view(ctx, func(c *conn) error {
		if _, err := getDraw(ctx, c, project, draw); err != nil {
			return err
		}
		return c.query(ctx, func(r row) error {
			list = append(list, assay.DrawMember{
				No: int(r.int(0)), Content: assay.ContentKey(r.int(1)), UserID: r.text(2), SessionID: r.text(3), ContentHash: assay.Hash(r.text(4)),
				Current: r.bool(5), Stratum: assay.Stratum{Day: r.text(6), Arm: r.text(7)}, Probability: r.float(8), Labels: r.int(9),
			})
			return nil
		}, `SELECT m.no, m.content_id, s.user_id, s.session_id, c.hash, c.id = s.content_id, m.day, m.arm, m.probability,
			(SELECT count(*) FROM labels l WHERE l.content_id = m.content_id AND l.criterion = d.criterion)
			FROM draws d CROSS JOIN draw_members m ON m.draw_id = d.id CROSS JOIN contents c ON c.id = m.content_id CROSS JOIN sessions s ON s.id = c.session_key
			WHERE d.id = ?1 AND m.no > ?2 AND (NOT ?3 OR NOT EXISTS (SELECT 1 FROM labels l
				WHERE l.content_id = m.content_id AND l.criterion = d.criterion AND (?4 = '' OR l.rater = ?4)))
			ORDER BY m.no LIMIT ?5`, draw, after, open, rater, limit+1)
	})
	list, next = store.CutPage(list, limit, func(m assay.DrawMember) any { return m.No })
	return list, next, err
}

func (l labels) Drawn(ctx context.Context, draw int64, f func(content assay.ContentKey, stratum assay.Stratum, probability float64) error) error {
	return l.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			return f(assay.ContentKey(r.int(0)), assay.Stratum{Day: r.text(1), Arm: r.text(2)}, r.float(3))
		}, "SELECT content_id, day, arm, probability FROM draw_members WHERE draw_id = ? ORDER BY content_id", draw)
	})
}
