package postgres

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/internal/assay"
	"assay/internal/store"
)

type labels struct{ *Store }

// How a label that is there was chosen is kept where the new answer says nothing of it, or only that a judge was
// disagreed with (store.Labels).
const (
	keptChoice = "(l.use = 'prompt' OR l.draw <> 0 AND excluded.draw = 0 OR l.use = 'measure' AND excluded.use = 'queue')"
	newUse     = "CASE WHEN " + keptChoice + " AND excluded.use <> 'prompt' THEN l.use ELSE excluded.use END"
	newDraw    = "CASE WHEN " + keptChoice + " THEN l.draw ELSE excluded.draw END"
	newChance  = "CASE WHEN " + keptChoice + " THEN l.probability ELSE excluded.probability END"

	insertLabels = `INSERT INTO labels AS l (project_id, created_at, content_id, criterion, criterion_version, rater, value, blind, decided, note, use, draw, probability) `
	replaceLabel = `
		ON CONFLICT (content_id, criterion, criterion_version, rater)
		DO UPDATE SET value = excluded.value, blind = excluded.blind, decided = excluded.decided, note = excluded.note,
			use = ` + newUse + ", draw = " + newDraw + ", probability = " + newChance + `
		WHERE (l.value, l.blind, l.decided, l.note, l.use, l.draw, l.probability)
			<> (excluded.value, excluded.blind, excluded.decided, excluded.note, ` + newUse + ", " + newDraw + ", " + newChance + ")"
)

// newLabels are the columns of labels on their way in.
type newLabels struct {
	content, draw                                  []int64
	criterion, version, rater, values, notes, uses []string
	blind, decided                                 []bool
	probability                                    []float64
	seen                                           map[labelKey]int
}

type labelKey struct {
	content                   int64
	criterion, version, rater string
}

// add appends a label; one that repeats within the batch replaces the one before.
func (n *newLabels) add(content int64, l assay.Label) {
	key := labelKey{content, clean(l.Criterion), clean(l.CriterionVersion), clean(l.Rater)}
	use := string(cmp.Or(l.Use, assay.UseMeasure))
	if at, ok := n.seen[key]; ok {
		n.values[at], n.notes[at], n.uses[at] = string(l.Value), l.Note, use
		n.blind[at], n.decided[at], n.draw[at], n.probability[at] = l.Blind, l.Decided, l.Draw, l.Probability
		return
	}
	if n.seen == nil {
		n.seen = map[labelKey]int{}
	}
	n.seen[key] = len(n.content)
	n.content, n.criterion, n.version = append(n.content, content), append(n.criterion, key.criterion), append(n.version, key.version)
	n.rater, n.values, n.notes, n.uses = append(n.rater, key.rater), append(n.values, string(l.Value)), append(n.notes, l.Note), append(n.uses, use)
	n.blind, n.decided = append(n.blind, l.Blind), append(n.decided, l.Decided)
	n.draw, n.probability = append(n.draw, l.Draw), append(n.probability, l.Probability)
}

// put stores what is new.
func (n *newLabels) put(ctx context.Context, t tx, project assay.ProjectID, now time.Time) error {
	if len(n.content) == 0 {
		return nil
	}
	_, err := t.exec(ctx, insertLabels+`SELECT $1, $2, u.* FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bool[],
		$9::bool[], $10::text[], $11::text[], $12::bigint[], $13::float8[]) u`+replaceLabel,
		project, now, n.content, n.criterion, n.version, n.rater, n.values, n.blind, n.decided, n.notes, n.uses, n.draw, n.probability)
	return err
}

func (l labels) Put(ctx context.Context, project assay.ProjectID, list []assay.Label, now time.Time) (results []store.LabelResult, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	err = l.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := lockProject(ctx, t, project, "FOR KEY SHARE"); err != nil {
			return err
		}
		p := labelPutter{tx: t, project: project, list: append([]assay.Label{}, list...), content: make([]int64, len(list)), results: make([]store.LabelResult, len(list))}
		if err := p.find(ctx); err != nil {
			return err
		}
		if err := p.drawn(ctx); err != nil {
			return err
		}
		results = p.results
		return p.store(ctx, now)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// labelPutter stores labels inside one transaction. A label whose content is 0 is not stored.
type labelPutter struct {
	tx
	project assay.ProjectID
	list    []assay.Label
	content []int64
	results []store.LabelResult
}

// find finds the contents that labels are about.
func (p *labelPutter) find(ctx context.Context) error {
	n := len(p.list)
	users, sessions, hashes := make([]string, n), make([]string, n), make([]string, n)
	for i := range p.list {
		l := &p.list[i]
		users[i], sessions[i], hashes[i] = l.UserID, l.SessionID, string(l.ContentHash)
		p.results[i] = store.LabelNoSession
	}
	var no, content int64
	return p.each(ctx, func() error { p.content[no-1] = content; return nil },
		`SELECT u.no, c.id FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY u (user_id, session_id, hash, no)
			JOIN sessions s ON s.project_id = $1 AND s.user_id = u.user_id AND s.session_id = u.session_id
			JOIN contents c ON c.session_key = s.id AND CASE WHEN u.hash = '' THEN c.id = s.content_id ELSE c.hash = u.hash END`,
		[]any{p.project, users, sessions, hashes}, &no, &content)
}

// drawn writes into labels what their draws say of them, and leaves out those that were not drawn.
func (p *labelPutter) drawn(ctx context.Context) error {
	var nos, draws, contents []int64
	for i := range p.list {
		if p.content[i] != 0 && p.list[i].Draw != 0 {
			nos, draws, contents = append(nos, int64(i)), append(draws, p.list[i].Draw), append(contents, p.content[i])
			p.content[i], p.results[i] = 0, store.LabelNotDrawn
		}
	}
	if len(nos) == 0 {
		return nil
	}
	var no, content int64
	var probability float64
	var method assay.DrawMethod
	return p.each(ctx, func() error {
		l := &p.list[no]
		p.content[no], l.Probability, l.Use = content, probability, store.DrawnUse(method, l.Use)
		return nil
	}, `SELECT u.no, m.content_id, m.probability, d.method FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) u (no, draw, content)
		JOIN draws d ON d.id = u.draw AND d.project_id = $1 JOIN draw_members m ON m.draw_id = d.id AND m.content_id = u.content`,
		[]any{p.project, nos, draws, contents}, &no, &content, &probability, textTo(&method))
}

// store sends one statement for each label, all in one round trip, since a label may repeat. A row comes back of
// what changed, and xmax is 0 in it where it is new.
func (p *labelPutter) store(ctx context.Context, now time.Time) error {
	b := &pgx.Batch{}
	var sent []int
	for i := range p.list {
		if p.content[i] == 0 {
			continue
		}
		l := &p.list[i]
		sent = append(sent, i)
		b.Queue(insertLabels+"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"+replaceLabel+" RETURNING l.xmax = 0",
			values([]any{p.project, now, p.content[i], l.Criterion, l.CriterionVersion, l.Rater, l.Value, l.Blind, l.Decided, l.Note,
				cmp.Or(l.Use, assay.UseMeasure), l.Draw, l.Probability})...)
	}
	if len(sent) == 0 {
		return nil
	}
	results := p.SendBatch(ctx, b)
	var err error
	for _, i := range sent {
		var isNew bool
		if err = results.QueryRow().Scan(&isNew); err != nil && !errors.Is(err, pgx.ErrNoRows) {
			break
		}
		p.results[i], err = store.LabelResultOf(!isNew, err == nil), nil
	}
	return errors.Join(err, results.Close())
}

// labelled is the condition that q selects labels l.
func labelled(project assay.ProjectID, q store.LabelQuery) *clause {
	c := where("l.project_id = ?", project)
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

func labelInto(l *assay.Label) []any {
	return []any{&l.ID, &l.UserID, &l.SessionID, textTo(&l.ContentHash), &l.Current, &l.Criterion, &l.CriterionVersion, asRaw{&l.Value},
		&l.Rater, &l.Blind, &l.Decided, &l.Note, textTo(&l.Use), &l.Draw, &l.Probability, asTime{&l.CreatedAt}}
}

func (l labels) List(ctx context.Context, project assay.ProjectID, q store.LabelQuery, p store.Page) (list []assay.Label, next string, err error) {
	var after int64
	if _, err := p.After(&after); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	where := labelled(project, q)
	where.and("l.id > ?", after)
	err = l.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, labelInto, `SELECT l.id, s.user_id, s.session_id, c.hash, c.id = s.content_id, l.criterion, l.criterion_version, l.value,
			l.rater, l.blind, l.decided, l.note, l.use, l.draw, l.probability, l.created_at
			FROM labels l JOIN contents c ON c.id = l.content_id JOIN sessions s ON s.id = c.session_key`+
			where.sql.String()+" ORDER BY l.id LIMIT "+where.next(), where.values(limit+1)...)
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

func (l labels) Remove(ctx context.Context, project assay.ProjectID, q store.LabelQuery) (n int64, err error) {
	if err := q.Narrow(); err != nil {
		return 0, err
	}
	where := labelled(project, q)
	err = l.write(ctx, func(ctx context.Context, t tx) error {
		n, err = t.exec(ctx, "DELETE FROM labels l"+where.sql.String(), where.values()...)
		return err
	})
	return n, err
}

func (l labels) Mark(ctx context.Context, project assay.ProjectID, q store.LabelQuery, use assay.LabelUse) (n int64, err error) {
	where := labelled(project, q)
	where.and("l.use <> ?", use)
	err = l.write(ctx, func(ctx context.Context, t tx) error {
		n, err = t.exec(ctx, "UPDATE labels l SET use = "+where.next()+where.sql.String(), where.values(use)...)
		return err
	})
	return n, err
}

func (l labels) Contents(ctx context.Context, project assay.ProjectID, criterion string, f func(*store.ContentLabel) error) error {
	return l.snapshot(ctx, func(c conn) error {
		var r, label store.ContentLabel // f gets a copy: it may change it
		return c.each(ctx, func() error { label = r; return callers(f(&label)) },
			`SELECT id, content_id, criterion_version, value, rater, blind, decided, use, draw, probability
			FROM labels WHERE project_id = $1 AND criterion = $2 ORDER BY content_id, id`, []any{project, criterion},
			&r.ID, intTo(&r.Content), &r.Version, &r.Value, &r.Rater, &r.Blind, &r.Decided, textTo(&r.Use), &r.Draw, &r.Probability)
	})
}
