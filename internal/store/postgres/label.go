package postgres

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type labels struct{ *Store }

// newLabels are the columns of labels on their way in.
type newLabels struct {
	content                           []int64
	criterion, version, rater, values []string
	blind                             []bool
	probability                       []float64
	seen                              map[labelKey]int
}

type labelKey struct {
	content                   int64
	criterion, version, rater string
}

// add appends a label; one that repeats within the batch replaces the one before.
func (n *newLabels) add(content int64, l assay.Label) {
	key := labelKey{content, clean(l.Criterion), clean(l.CriterionVersion), clean(l.Rater)}
	if at, ok := n.seen[key]; ok {
		n.values[at], n.blind[at], n.probability[at] = string(l.Value), l.Blind, l.Probability
		return
	}
	if n.seen == nil {
		n.seen = map[labelKey]int{}
	}
	n.seen[key] = len(n.content)
	n.content, n.criterion, n.version = append(n.content, content), append(n.criterion, key.criterion), append(n.version, key.version)
	n.rater, n.values = append(n.rater, key.rater), append(n.values, string(l.Value))
	n.blind, n.probability = append(n.blind, l.Blind), append(n.probability, l.Probability)
}

// put stores what is new. A rater who answers again on the same content replaces the answer.
func (n *newLabels) put(ctx context.Context, t tx, project assay.ProjectID, now time.Time) error {
	if len(n.content) == 0 {
		return nil
	}
	_, err := t.exec(ctx, `INSERT INTO labels AS l (project_id, content_id, criterion, criterion_version, rater, value, blind, probability, created_at)
		SELECT $1, u.*, $9 FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bool[], $8::float8[]) u
		ON CONFLICT (content_id, criterion, criterion_version, rater)
		DO UPDATE SET value = excluded.value, blind = excluded.blind, probability = excluded.probability
		WHERE (l.value, l.blind, l.probability) <> (excluded.value, excluded.blind, excluded.probability)`,
		project, n.content, n.criterion, n.version, n.rater, n.values, n.blind, n.probability, now)
	return err
}

func labelInto(l *assay.Label) []any {
	return []any{&l.ID, &l.UserID, &l.SessionID, textTo(&l.ContentHash), &l.Criterion, &l.CriterionVersion, asRaw{&l.Value},
		&l.Rater, &l.Blind, &l.Probability, asTime{&l.CreatedAt}}
}

func (l labels) List(ctx context.Context, project assay.ProjectID, q store.LabelQuery, p store.Page) (list []assay.Label, next string, err error) {
	var after int64
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	err = l.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, labelInto, `SELECT l.id, s.user_id, s.session_id, c.hash, l.criterion, l.criterion_version, l.value, l.rater,
			l.blind, l.probability, l.created_at
			FROM labels l JOIN contents c ON c.id = l.content_id JOIN sessions s ON s.id = c.session_key
			WHERE l.project_id = $1 AND l.id > $2 ORDER BY l.id LIMIT $3`, project, after, limit+1)
		return err
	})
	list, next = store.CutPage(list, limit, func(l assay.Label) any { return l.ID })
	return list, next, err
}

func (l labels) Tally(ctx context.Context, project assay.ProjectID) (list []store.LabelTally, err error) {
	err = l.read(ctx, func(ctx context.Context, c conn) (err error) {
		into := func(t *store.LabelTally) []any { return []any{&t.Criterion, &t.Rater, &t.Value, &t.N} }
		list, err = collect(ctx, c, into, "SELECT criterion, rater, value, count(*) FROM labels WHERE project_id = $1 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3", project)
		return err
	})
	return list, err
}
