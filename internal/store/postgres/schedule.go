package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"assay/internal/assay"
	"assay/internal/store"
)

type schedules struct{ *Store }

const scheduleSelect = `SELECT s.id, s.project_id, p.name, s.name, s.definition, s.source, s.paused, s.next_at, s.last, s.updated_at
	FROM schedules s JOIN projects p ON p.id = s.project_id`

func scheduleInto(s *assay.Schedule) []any {
	return []any{&s.ID, intTo(&s.ProjectID), &s.Project, &s.Name, asJSON{&s.Def}, &s.Source, &s.Paused, asTimePtr{&s.NextAt}, asTick{&s.Last},
		asTime{&s.UpdatedAt}}
}

// asTick reads the last tick; NULL is none.
type asTick struct{ to **assay.Tick }

func (d asTick) ScanText(v pgtype.Text) error {
	*d.to = nil
	if !v.Valid {
		return nil
	}
	*d.to = new(assay.Tick)
	return store.Decode([]byte(v.String), *d.to, "the last tick of a schedule")
}

func (s schedules) Apply(ctx context.Context, project assay.ProjectID, list []assay.Schedule, now time.Time) (changed []bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		// Two who apply several at once take turns.
		if _, err := lockProject(ctx, t, project, "FOR NO KEY UPDATE"); err != nil {
			return err
		}
		changed = make([]bool, len(list))
		for i, n := range list {
			definition, err := store.Encode(n.Def, "the definition of schedule "+n.Name)
			if err != nil {
				return err
			}
			changes, err := t.exec(ctx, `INSERT INTO schedules AS s (project_id, name, definition, source, paused, next_at, updated_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7)
				ON CONFLICT (project_id, name) DO UPDATE SET definition = excluded.definition, source = excluded.source, next_at = excluded.next_at,
				updated_at = excluded.updated_at WHERE s.definition <> excluded.definition OR s.source <> excluded.source`,
				project, n.Name, definition, n.Source, n.Paused, n.NextAt, now)
			if err != nil {
				return err
			}
			changed[i] = changes > 0
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

func getSchedule(ctx context.Context, c conn, project assay.ProjectID, name string) (schedule assay.Schedule, err error) {
	found, err := c.first(ctx, scheduleSelect+" WHERE s.project_id = $1 AND s.name = $2", []any{project, name}, scheduleInto(&schedule)...)
	if err == nil && !found {
		err = noSchedule(ctx, c, project, name)
	}
	return schedule, err
}

func noSchedule(ctx context.Context, c conn, project assay.ProjectID, name string) error {
	known, err := namesOf(ctx, c, "SELECT name FROM schedules WHERE project_id = $1 ORDER BY name", project)
	if err != nil {
		return err
	}
	return store.NoSchedule(name, known)
}

func (s schedules) Get(ctx context.Context, project assay.ProjectID, name string) (schedule assay.Schedule, err error) {
	err = s.read(ctx, func(ctx context.Context, c conn) (err error) {
		schedule, err = getSchedule(ctx, c, project, name)
		return err
	})
	return schedule, err
}

func (s schedules) List(ctx context.Context, project assay.ProjectID) ([]assay.Schedule, error) {
	return s.list(ctx, scheduleSelect+" WHERE s.project_id = $1 ORDER BY s.name", project)
}

func (s schedules) Due(ctx context.Context, now time.Time) ([]assay.Schedule, error) {
	return s.list(ctx, scheduleSelect+" WHERE s.next_at IS NOT NULL AND NOT s.paused AND s.next_at <= $1 AND NOT p.deleting ORDER BY s.next_at, s.id", now)
}

func (s schedules) list(ctx context.Context, query string, args ...any) (list []assay.Schedule, err error) {
	err = s.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, scheduleInto, query, args...)
		return err
	})
	return list, err
}

func (s schedules) Pause(ctx context.Context, project assay.ProjectID, name string, paused bool, next *time.Time) (schedule assay.Schedule, err error) {
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := t.exec(ctx, "UPDATE schedules SET paused = $3, next_at = $4 WHERE project_id = $1 AND name = $2", project, name, paused, next); err != nil {
			return err
		}
		schedule, err = getSchedule(ctx, t.conn, project, name)
		return err
	})
	return schedule, err
}

func (s schedules) Delete(ctx context.Context, project assay.ProjectID, name string) error {
	return s.write(ctx, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, "DELETE FROM schedules WHERE project_id = $1 AND name = $2", project, name)
		if err == nil && n == 0 {
			err = noSchedule(ctx, t.conn, project, name)
		}
		return err
	})
}

func (s schedules) Ticked(ctx context.Context, id int64, owed time.Time, last assay.Tick, next *time.Time) (done bool, err error) {
	text, err := store.EncodeTick(last)
	if err != nil {
		return false, err
	}
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, "UPDATE schedules SET last = $3, next_at = $4 WHERE id = $1 AND next_at = $2", id, owed, text, next)
		if done = n > 0; done || err != nil {
			return err
		}
		var before *assay.Tick
		found, err := t.first(ctx, "SELECT last FROM schedules WHERE id = $1 FOR UPDATE", []any{id}, asTick{&before})
		if err == nil && found && store.StartedBeside(before, last) {
			_, err = t.exec(ctx, "UPDATE schedules SET last = $2 WHERE id = $1", id, text)
		}
		return err
	})
	return done, err
}
