package sqlite

import (
	"cmp"
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type labels struct{ s *Store }

// How a label that is there was chosen is kept where the new answer says nothing of it, or only that a judge was
// disagreed with (store.Labels).
const (
	keptChoice = "(l.use = 'prompt' OR l.draw <> 0 AND excluded.draw = 0 OR l.use = 'measure' AND excluded.use = 'queue')"
	newUse     = "CASE WHEN " + keptChoice + " AND excluded.use <> 'prompt' THEN l.use ELSE excluded.use END"
	newDraw    = "CASE WHEN " + keptChoice + " THEN l.draw ELSE excluded.draw END"
	newChance  = "CASE WHEN " + keptChoice + " THEN l.probability ELSE excluded.probability END"

	upsertLabel = `INSERT INTO labels AS l (project_id, content_id, criterion, criterion_version, rater, value, blind, decided, note, use, draw, probability, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (content_id, criterion, criterion_version, rater)
		DO UPDATE SET value = excluded.value, blind = excluded.blind, decided = excluded.decided, note = excluded.note,
			use = ` + newUse + ", draw = " + newDraw + ", probability = " + newChance + `
		WHERE (l.value, l.blind, l.decided, l.note, l.use, l.draw, l.probability)
			<> (excluded.value, excluded.blind, excluded.decided, excluded.note, ` + newUse + ", " + newDraw + ", " + newChance + ")"
)

// putLabel stores an answer and says whether anything changed.
func putLabel(t tx, project assay.ProjectID, content int64, l *assay.Label, now time.Time) (bool, error) {
	n, err := t.exec(upsertLabel, project, content, l.Criterion, l.CriterionVersion, l.Rater, l.Value, l.Blind, l.Decided, l.Note,
		cmp.Or(l.Use, assay.UseMeasure), l.Draw, l.Probability, now)
	return n > 0, err
}

// putLabels stores what came with a content.
func putLabels(t tx, project assay.ProjectID, content int64, list []assay.Label, now time.Time) error {
	for i := range list {
		if _, err := putLabel(t, project, content, &list[i], now); err != nil {
			return err
		}
	}
	return nil
}

func (l labels) Put(ctx context.Context, project assay.ProjectID, list []assay.Label, now time.Time) (results []store.LabelResult, err error) {
	err = l.s.write.do(ctx, forAsk, func(t tx) error {
		if _, err := getProject(ctx, t.conn, project); err != nil {
			return err
		}
		results = make([]store.LabelResult, len(list))
		for i, label := range list { // a copy: what the draw says is written into it
			if results[i], err = placeLabel(ctx, t, project, &label, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// placeLabel finds a label's content and stores it.
func placeLabel(ctx context.Context, t tx, project assay.ProjectID, l *assay.Label, now time.Time) (store.LabelResult, error) {
	var content int64
	found, err := t.first(ctx, func(r row) error { content = r.int(0); return nil },
		`SELECT c.id FROM sessions s JOIN contents c ON c.session_key = s.id WHERE s.project_id = ?1 AND s.user_id = ?2 AND s.session_id = ?3
			AND CASE WHEN ?4 = '' THEN c.id = s.content_id ELSE c.hash = ?4 END`, project, l.UserID, l.SessionID, l.ContentHash)
	if err != nil || !found {
		return store.LabelNoSession, err
	}
	if l.Draw != 0 {
		found, err := t.first(ctx, func(r row) error {
			l.Probability = r.float(0)
			l.Use = store.DrawnUse(assay.DrawMethod(r.text(1)), l.Use)
			return nil
		}, `SELECT m.probability, d.method FROM draws d JOIN draw_members m ON m.draw_id = d.id AND m.content_id = ? WHERE d.id = ? AND d.project_id = ?`,
			content, l.Draw, project)
		if err != nil || !found {
			return store.LabelNotDrawn, err
		}
	}
	had, err := t.first(ctx, func(row) error { return nil },
		"SELECT 1 FROM labels WHERE content_id = ? AND criterion = ? AND criterion_version = ? AND rater = ?", content, l.Criterion, l.CriterionVersion, l.Rater)
	if err != nil {
		return 0, err
	}
	changed, err := putLabel(t, project, content, l, now)
	return store.LabelResultOf(had, changed), err
}

// labelled is the condition that q selects labels l. Those of a session are found by its contents and not, as the plus
// sign says, among all of the project.
func labelled(project assay.ProjectID, q store.LabelQuery) *clause {
	c := new(clause)
	if q.Session != "" {
		c.sql.WriteString("+")
	}
	c.sql.WriteString("l.project_id = ?")
	c.args = append(c.args, project)
	if q.Criterion != "" {
		c.and("l.criterion = ?", q.Criterion)
	}
	if q.Rater != "" {
		c.and("l.rater = ?", q.Rater)
	}
	if q.Use != "" {
		c.and("l.use = ?", q.Use)
	}
	if q.Draw != 0 {
		c.and("l.draw = ?", q.Draw)
	}
	if q.Session != "" {
		c.and(`l.content_id IN (SELECT c.id FROM sessions s JOIN contents c ON c.session_key = s.id
			WHERE s.project_id = ? AND s.user_id = ? AND s.session_id = ?)`, project, q.User, q.Session)
	}
	return c
}

func (l labels) List(ctx context.Context, project assay.ProjectID, q store.LabelQuery, p store.Page) (list []assay.Label, next string, err error) {
	var after int64
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	where := labelled(project, q)
	if q.Session == "" {
		where.and("l.id > ?", after)
	} else {
		where.and("+l.id > ?", after)
	}
	err = l.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			list = append(list, assay.Label{
				ID: r.int(0), UserID: r.text(1), SessionID: r.text(2), ContentHash: assay.Hash(r.text(3)), Current: r.bool(4),
				Criterion: r.text(5), CriterionVersion: r.text(6), Value: r.json(7), Rater: r.text(8), Blind: r.bool(9), Decided: r.bool(10),
				Note: r.text(11), Use: assay.LabelUse(r.text(12)), Draw: r.int(13), Probability: r.float(14), CreatedAt: r.time(15),
			})
			return nil
		}, `SELECT l.id, s.user_id, s.session_id, c.hash, c.id = s.content_id, l.criterion, l.criterion_version, l.value, l.rater, l.blind, l.decided,
			l.note, l.use, l.draw, l.probability, l.created_at
			FROM labels l CROSS JOIN contents c ON c.id = l.content_id CROSS JOIN sessions s ON s.id = c.session_key
			WHERE `+where.sql.String()+" ORDER BY l.id LIMIT ?", append(where.args, limit+1)...)
	})
	list, next = store.CutPage(list, limit, func(l assay.Label) any { return l.ID })
	return list, next, err
}

func (l labels) Tally(ctx context.Context, project assay.ProjectID) (list []store.LabelTally, err error) {
	err = l.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			list = append(list, store.LabelTally{Criterion: r.text(0), Rater: r.text(1), Value: r.text(2), N: r.int(3)})
			return nil
		}, "SELECT criterion, rater, value, count(*) FROM labels WHERE project_id = ? GROUP BY 1, 2, 3 ORDER BY 1, 2, 3", project)
	})
	return list, err
}

func (l labels) Remove(ctx context.Context, project assay.ProjectID, q store.LabelQuery) (n int64, err error) {
	if err := q.Narrow(); err != nil {
		return 0, err
	}
	where := labelled(project, q)
	err = l.s.write.do(ctx, forAsk, func(t tx) error {
		n, err = t.exec("DELETE FROM labels WHERE id IN (SELECT l.id FROM labels l WHERE "+where.sql.String()+")", where.args...)
		return err
	})
	return n, err
}

func (l labels) Mark(ctx context.Context, project assay.ProjectID, q store.LabelQuery, use assay.LabelUse) (n int64, err error) {
	where := labelled(project, q)
	where.and("l.use <> ?", use)
	err = l.s.write.do(ctx, forAsk, func(t tx) error {
		n, err = t.exec("UPDATE labels SET use = ? WHERE id IN (SELECT l.id FROM labels l WHERE "+where.sql.String()+")", append([]any{use}, where.args...)...)
		return err
	})
	return n, err
}

func (l labels) Contents(ctx context.Context, project assay.ProjectID, criterion string, f func(*store.ContentLabel) error) error {
	var label store.ContentLabel
	return l.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			label = store.ContentLabel{
				ID: r.int(0), Content: assay.ContentKey(r.int(1)), Version: r.text(2), Value: r.text(3), Rater: r.text(4), Blind: r.bool(5), Decided: r.bool(6),
				Use: assay.LabelUse(r.text(7)), Draw: r.int(8), Probability: r.float(9),
			}
			return f(&label)
		}, `SELECT id, content_id, criterion_version, value, rater, blind, decided, use, draw, probability
			FROM labels WHERE project_id = ? AND criterion = ? ORDER BY content_id, id`, project, criterion)
	})
}
