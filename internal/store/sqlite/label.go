package sqlite

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type labels struct{ s *Store }

// putLabels stores what is new. A rater who answers again on the same content replaces the answer.
func putLabels(t tx, project assay.ProjectID, content int64, list []assay.Label, now time.Time) error {
	for _, l := range list {
		if _, err := t.exec(`INSERT INTO labels (project_id, content_id, criterion, criterion_version, rater, value, blind, probability, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (content_id, criterion, criterion_version, rater)
			DO UPDATE SET value = excluded.value, blind = excluded.blind, probability = excluded.probability
			WHERE (value, blind, probability) <> (excluded.value, excluded.blind, excluded.probability)`,
			project, content, l.Criterion, l.CriterionVersion, l.Rater, string(l.Value), l.Blind, l.Probability, now); err != nil {
			return err
		}
	}
	return nil
}

func (l labels) List(ctx context.Context, project assay.ProjectID, q store.LabelQuery, p store.Page) (list []assay.Label, next string, err error) {
	var after int64
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	err = l.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			list = append(list, assay.Label{
				ID: r.int(0), UserID: r.text(1), SessionID: r.text(2), ContentHash: assay.Hash(r.text(3)),
				Criterion: r.text(4), CriterionVersion: r.text(5), Value: r.json(6), Rater: r.text(7),
				Blind: r.bool(8), Probability: r.float(9), CreatedAt: r.time(10),
			})
			return nil
		}, `SELECT l.id, s.user_id, s.session_id, c.hash, l.criterion, l.criterion_version, l.value, l.rater, l.blind, l.probability, l.created_at
			FROM labels l CROSS JOIN contents c ON c.id = l.content_id CROSS JOIN sessions s ON s.id = c.session_key
			WHERE l.project_id = ? AND l.id > ? ORDER BY l.id LIMIT ?`, project, after, limit+1)
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
