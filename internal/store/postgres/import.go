package postgres

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type imports struct{ *Store }

const importColumns = "id, file, format, by_whom, state, started_at, ended_at, bytes, new, changed, unchanged, rejected, repaired, labels, error"

func importInto(i *store.Import) []any {
	return []any{&i.ID, &i.File, &i.Format, &i.By, &i.State, asTime{&i.StartedAt}, asTimePtr{&i.EndedAt}, &i.Bytes, &i.New, &i.Changed,
		&i.Unchanged, &i.Rejected, &i.Repaired, &i.Labels, &i.Error}
}

func (i imports) Start(ctx context.Context, project assay.ProjectID, file, format, by string, now time.Time) (id int64, err error) {
	err = i.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := lockProject(ctx, t, project, "FOR KEY SHARE"); err != nil {
			return err
		}
		_, err := t.first(ctx, "INSERT INTO imports (project_id, file, format, by_whom, state, started_at) VALUES ($1, $2, $3, $4, 'running', $5) RETURNING id",
			[]any{project, file, format, by, now}, &id)
		return err
	})
	return id, err
}

// setTotals stores totals in an import that runs still.
func setTotals(ctx context.Context, t tx, id int64, totals store.Import) error {
	n, err := t.exec(ctx, `UPDATE imports SET bytes = $2, new = $3, changed = $4, unchanged = $5, rejected = $6, repaired = $7, labels = $8,
		format = CASE WHEN $9 = '' THEN format ELSE $9 END, error = $10 WHERE id = $1 AND state = 'running'`,
		id, totals.Bytes, totals.New, totals.Changed, totals.Unchanged, totals.Rejected, totals.Repaired, totals.Labels, totals.Format, totals.Error)
	if err == nil && n == 0 {
		return assay.Errorf(assay.CodeRefused, "import %d is not running", id).WithHint("import the file again: what is stored already is left as it is")
	}
	return err
}

func (i imports) Progress(ctx context.Context, id int64, totals store.Import, rejects []store.Reject) error {
	return i.write(ctx, func(ctx context.Context, t tx) error {
		if err := setTotals(ctx, t, id, totals); err != nil || len(rejects) == 0 {
			return err
		}
		var have int
		if _, err := t.first(ctx, "SELECT coalesce(max(no), 0)::bigint FROM rejects WHERE import_id = $1", []any{id}, &have); err != nil {
			return err
		}
		keep := rejects[:min(len(rejects), max(0, store.MaxRejects-have))]
		lines, places, reasons, excerpts := make([]int64, len(keep)), make([]string, len(keep)), make([]string, len(keep)), make([]string, len(keep))
		for n, r := range keep {
			lines[n], places[n], reasons[n], excerpts[n] = r.Line, r.Where, r.Reason, r.Excerpt
		}
		_, err := t.exec(ctx, `INSERT INTO rejects (import_id, no, line, place, reason, excerpt)
			SELECT $1, $2 + u.no, u.line, u.place, u.reason, u.excerpt
			FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[]) WITH ORDINALITY u (line, place, reason, excerpt, no)`,
			id, have, lines, places, reasons, excerpts)
		return err
	})
}

func (i imports) Finish(ctx context.Context, id int64, totals store.Import, now time.Time) error {
	return i.write(ctx, func(ctx context.Context, t tx) error {
		if err := setTotals(ctx, t, id, totals); err != nil {
			return err
		}
		state := "done"
		if totals.State == "failed" || totals.Error != "" {
			state = "failed"
		}
		_, err := t.exec(ctx, "UPDATE imports SET state = $2, ended_at = $3 WHERE id = $1", id, state, now)
		return err
	})
}

func (i imports) List(ctx context.Context, project assay.ProjectID, p store.Page) (list []store.Import, next string, err error) {
	before := int64(1) << 62
	if _, err := p.After(&before); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	err = i.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, importInto, "SELECT "+importColumns+" FROM imports WHERE project_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
			project, before, limit+1)
		return err
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
	err = i.read(ctx, func(ctx context.Context, c conn) error {
		found, err := c.first(ctx, "SELECT id FROM imports WHERE id = $1 AND project_id = $2", []any{id, project}, new(int64))
		if err != nil {
			return err
		}
		if !found {
			return notFound("there is no import %d", id).WithHint("`assay imports list` shows them")
		}
		into := func(r *store.Reject) []any { return []any{&r.Line, &r.Where, &r.Reason, &r.Excerpt} }
		list, err = collect(ctx, c, into, "SELECT line, place, reason, excerpt FROM rejects WHERE import_id = $1 AND no > $2 ORDER BY no LIMIT $3", id, after, limit+1)
		return err
	})
	list, next = store.CutPage(list, limit, func(store.Reject) any { return after + int64(limit) }) // numbers have no gaps
	return list, next, err
}

func (i imports) Interrupt(ctx context.Context, now time.Time) (n int64, err error) {
	err = i.write(ctx, func(ctx context.Context, t tx) (err error) {
		n, err = t.exec(ctx, "UPDATE imports SET state = 'failed', error = 'interrupted', ended_at = $1 WHERE state = 'running'", now)
		return err
	})
	return n, err
}
