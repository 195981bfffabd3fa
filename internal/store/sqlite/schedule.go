package sqlite

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type schedules struct{ s *Store }

const scheduleSelect = `SELECT s.id, s.project_id, p.name, s.name, s.definition, s.source, s.paused, s.next_at, s.last, s.updated_at
	FROM schedules s CROSS JOIN projects p ON p.id = s.project_id WHERE `

func scanSchedule(r row) (assay.Schedule, error) {
	s := assay.Schedule{
		ID: r.int(0), ProjectID: assay.ProjectID(r.int(1)), Project: r.text(2), Name: r.text(3), Source: r.text(5), Paused: r.bool(6),
		NextAt: r.timePtr(7), UpdatedAt: r.time(9),
	}
	if r[8] != nil {
		s.Last = new(assay.Tick)
		if err := store.Decode(r.json(8), s.Last, "the last tick of schedule "+s.Name); err != nil {
			return s, err
		}
	}
	return s, store.Decode(r.json(4), &s.Def, "the definition of schedule "+s.Name)
}

func (s schedules) Apply(ctx context.Context, project assay.ProjectID, list []assay.Schedule, now time.Time) (changed []bool, err error) {
	err = s.s.write.do(ctx, forAsk, func(t tx) error {
		if _, err := getProject(ctx, t.conn, project); err != nil {
			return err
		}
		changed = make([]bool, len(list))
		for i, n := range list {
			definition, err := store.Encode(n.Def, "the definition of schedule "+n.Name)
			if err != nil {
				return err
			}
			changes, err := t.exec(`INSERT INTO schedules (project_id, name, definition, source, paused, next_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (project_id, name) DO UPDATE SET definition = excluded.definition, source = excluded.source, next_at = excluded.next_at,
				updated_at = excluded.updated_at WHERE definition <> excluded.definition OR source <> excluded.source`,
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

func getSchedule(ctx context.Context, c *conn, project assay.ProjectID, name string) (schedule assay.Schedule, err error) {
	found, err := c.first(ctx, func(r row) (err error) {
		schedule, err = scanSchedule(r)
		return err
	}, scheduleSelect+"s.project_id = ? AND s.name = ?", project, name)
	if err == nil && !found {
		err = noSchedule(ctx, c, project, name)
	}
	return schedule, err
}

func noSchedule(ctx context.Context, c *conn, project assay.ProjectID, name string) error {
	known, err := namesOf(ctx, c, "SELECT name FROM schedules WHERE project_id = ? ORDER BY name", project)
	if err != nil {
		return err
	}
	return store.NoSchedule(name, known)
}

func (s schedules) Get(ctx context.Context, project assay.ProjectID, name string) (schedule assay.Schedule, err error) {
	err = s.s.read.do(ctx, func(c *conn) error {
		schedule, err = getSchedule(ctx, c, project, name)
		return err
	})
	return schedule, err
}

func (s schedules) List(ctx context.Context, project assay.ProjectID) ([]assay.Schedule, error) {
	return s.list(ctx, scheduleSelect+"s.project_id = ? ORDER BY s.name", project)
}

func (s schedules) Due(ctx context.Context, now time.Time) ([]assay.Schedule, error) {
	return s.list(ctx, scheduleSelect+"s.next_at IS NOT NULL AND NOT s.paused AND s.next_at <= ? AND NOT p.deleting ORDER BY s.next_at, s.id", now)
}

func (s schedules) list(ctx context.Context, query string, args ...any) (list []assay.Schedule, err error) {
	err = s.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			schedule, err := scanSchedule(r)
			list = append(list, schedule)
			return err
		}, query, args...)
	})
	return list, err
}

func (s schedules) Pause(ctx context.Context, project assay.ProjectID, name string, paused bool, next *time.Time) (schedule assay.Schedule, err error) {
	err = s.s.write.do(ctx, forAsk, func(t tx) error {
		if _, err := t.exec("UPDATE schedules SET paused = ?, next_at = ? WHERE project_id = ? AND name = ?", paused, next, project, name); err != nil {
			return err
		}
		schedule, err = getSchedule(ctx, t.conn, project, name)
		return err
	})
	return schedule, err
}

func (s schedules) Delete(ctx context.Context, project assay.ProjectID, name string) error {
	return s.s.write.do(ctx, forAsk, func(t tx) error {
		n, err := t.exec("DELETE FROM schedules WHERE project_id = ? AND name = ?", project, name)
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
	err = s.s.write.do(ctx, forAsk, func(t tx) error {
		n, err := t.exec("UPDATE schedules SET last = ?, next_at = ? WHERE id = ? AND next_at = ?", text, next, id, owed)
		if done = n > 0; done || err != nil {
			return err
		}
		var before *assay.Tick
		found, err := t.first(ctx, func(r row) error {
			if r[0] == nil {
				return nil
			}
			before = new(assay.Tick)
			return store.Decode(r.json(0), before, "the last tick of a schedule")
		}, "SELECT last FROM schedules WHERE id = ?", id)
		if err == nil && found && store.StartedBeside(before, last) {
			_, err = t.exec("UPDATE schedules SET last = ? WHERE id = ?", text, id)
		}
		return err
	})
	return done, err
}
