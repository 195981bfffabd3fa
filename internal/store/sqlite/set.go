package sqlite

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type sets struct{ s *Store }

const setSelect = "SELECT id, name, created_at, (SELECT count(*) FROM set_members m WHERE m.set_id = sets.id) FROM sets WHERE project_id = ?"

func scanSet(r row) store.Set {
	return store.Set{ID: r.int(0), Name: r.text(1), CreatedAt: r.time(2), Members: r.int(3)}
}

func (s sets) Create(ctx context.Context, project assay.ProjectID, name string, now time.Time) (set store.Set, err error) {
	err = s.s.write.do(ctx, forImport, func(t tx) error {
		if _, err := getProject(ctx, t.conn, project); err != nil {
			return err
		}
		id, err := t.insert("INSERT INTO sets (project_id, name, created_at) VALUES (?, ?, ?)", project, name, now)
		if violates(err) {
			return assay.Errorf(assay.CodeConflict, "set %s exists already", name).WithHint("add to it with `assay set add %s`", name)
		}
		if err != nil {
			return err
		}
		_, err = t.first(ctx, func(r row) error { set = scanSet(r); return nil }, setSelect+" AND id = ?", project, id)
		return err
	})
	return set, err
}

func (s sets) Get(ctx context.Context, project assay.ProjectID, name string) (set store.Set, err error) {
	err = s.s.read.do(ctx, func(c *conn) error {
		found, err := c.first(ctx, func(r row) error { set = scanSet(r); return nil }, setSelect+" AND name = ?", project, name)
		if err == nil && !found {
			err = notFound("there is no set %s", name).WithHint("`assay set list` shows them")
		}
		return err
	})
	return set, err
}

func (s sets) List(ctx context.Context, project assay.ProjectID) (list []store.Set, err error) {
	err = s.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error { list = append(list, scanSet(r)); return nil }, setSelect+" ORDER BY name", project)
	})
	return list, err
}

const addBatch = 5000

// Add takes several transactions when there are many keys; adding again finishes what was cut.
func (s sets) Add(ctx context.Context, set int64, keys []assay.SessionKey) (added int64, err error) {
	for len(keys) > 0 {
		n := min(addBatch, len(keys))
		if err := s.s.write.do(ctx, forImport, func(t tx) error {
			found, err := t.first(ctx, func(row) error { return nil }, "SELECT 1 FROM sets WHERE id = ?", set)
			if err != nil {
				return err
			}
			if !found {
				return notFound("there is no set with number %d", set).WithHint("`assay set list` shows them")
			}
			for _, key := range keys[:n] {
				changed, err := t.exec("INSERT INTO set_members (set_id, session_key) SELECT ?, id FROM sessions WHERE id = ? ON CONFLICT DO NOTHING", set, key)
				if err != nil {
					return err
				}
				added += changed
			}
			return nil
		}); err != nil {
			return added, err
		}
		keys = keys[n:]
	}
	return added, nil
}
