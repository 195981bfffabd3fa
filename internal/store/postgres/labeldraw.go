package postgres

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
	FROM draws d WHERE d.project_id = $1`

func drawInto(d *assay.Draw) []any {
	return []any{&d.ID, intTo(&d.Run), &d.Judge, textTo(&d.Version), &d.Criterion, textTo(&d.Method), &d.Seed, &d.Frame, &d.By, asTime{&d.CreatedAt},
		&d.Members, &d.Labelled}
}

func (l labels) CreateDraw(ctx context.Context, project assay.ProjectID, d assay.Draw, members []assay.DrawMember, now time.Time) (draw assay.Draw, err error) {
	err = l.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := lockProject(ctx, t, project, "FOR KEY SHARE"); err != nil {
			return err
		}
		var id int64
		if _, err := t.first(ctx, `INSERT INTO draws (project_id, run_id, judge, version, criterion, method, seed, frame, by_whom, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
			[]any{project, d.Run, d.Judge, d.Version, d.Criterion, d.Method, d.Seed, d.Frame, d.By, now}, &id); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `INSERT INTO draw_members (draw_id, no, content_id, day, arm, probability)
			SELECT $1, u.no, u.content, u.day, u.arm, u.probability
			FROM unnest($2::bigint[], $3::text[], $4::text[], $5::float8[]) WITH ORDINALITY u (content, day, arm, probability, no)`, id,
			columnOf(members, func(m *assay.DrawMember) int64 { return int64(m.Content) }),
			columnOf(members, func(m *assay.DrawMember) string { return m.Stratum.Day }),
			columnOf(members, func(m *assay.DrawMember) string { return m.Stratum.Arm }),
			columnOf(members, func(m *assay.DrawMember) float64 { return m.Probability })); err != nil {
			return err
		}
		var err error
		draw, err = getDraw(ctx, t.conn, project, id)
		return err
	})
	return draw, err
}

func getDraw(ctx context.Context, c conn, project assay.ProjectID, id int64) (draw assay.Draw, err error) {
	found, err := c.first(ctx, drawSelect+" AND d.id = $2", []any{project, id}, drawInto(&draw)...)
	if err == nil && !found {
		err = store.NoDraw(id)
	}
	return draw, err
}

func (l labels) Draw(ctx context.Context, project assay.ProjectID, id int64) (draw assay.Draw, err error) {
	err = l.read(ctx, func(ctx context.Context, c conn) (err error) {
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
	err = l.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, drawInto, drawSelect+" AND (NOT $2::bool OR d.id < $3) ORDER BY d.id DESC LIMIT $4", project, within, before, limit+1)
		return err
	})
	list, next = store.CutPage(list, limit, func(d assay.Draw) any { return d.ID })
	return list, next, err
}

func memberInto(m *assay.DrawMember) []any {
	return []any{intTo(&m.No), intTo(&m.Content), &m.UserID, &m.SessionID, textTo(&m.ContentHash), &m.Current, &m.Stratum.Day, &m.Stratum.Arm,
		&m.Probability, &m.Labels}
}

func (l labels) Members(ctx context.Context, project assay.ProjectID, draw int64, open bool, rater string, p store.Page) (list []assay.DrawMember, next string, err error) {
	var after int64
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	err = l.read(ctx, func(ctx context.Context, c conn) error {
		if _, err := getDraw(ctx, c, project, draw); err != nil {
			return err
		}
		list, err = collect(ctx, c, memberInto, `SELECT m.no, m.content_id, s.user_id, s.session_id, c.hash, c.id = s.content_id, m.day, m.arm, m.probability,
			(SELECT count(*) FROM labels l WHERE l.content_id = m.content_id AND l.criterion = d.criterion)
			FROM draws d JOIN draw_members m ON m.draw_id = d.id JOIN contents c ON c.id = m.content_id JOIN sessions s ON s.id = c.session_key
			WHERE d.id = $1 AND m.no > $2 AND (NOT $3::bool OR NOT EXISTS (SELECT 1 FROM labels l
				WHERE l.content_id = m.content_id AND l.criterion = d.criterion AND ($4::text = '' OR l.rater = $4)))
			ORDER BY m.no LIMIT $5`, draw, after, open, rater, limit+1)
		return err
	})
	list, next = store.CutPage(list, limit, func(m assay.DrawMember) any { return m.No })
	return list, next, err
}

func (l labels) Drawn(ctx context.Context, draw int64, f func(content assay.ContentKey, stratum assay.Stratum, probability float64) error) error {
	return l.snapshot(ctx, func(c conn) error {
		var content assay.ContentKey
		var stratum assay.Stratum
		var probability float64
		return c.each(ctx, func() error { return callers(f(content, stratum, probability)) },
			"SELECT content_id, day, arm, probability FROM draw_members WHERE draw_id = $1 ORDER BY content_id", []any{draw},
			intTo(&content), &stratum.Day, &stratum.Arm, &probability)
	})
}
