package postgres

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type sets struct{ *Store }

const setSelect = "SELECT id, name, created_at, (SELECT count(*) FROM set_members m WHERE m.set_id = sets.id) FROM sets WHERE project_id = $1"

func setInto(s *store.Set) []any { return []any{&s.ID, &s.Name, asTime{&s.CreatedAt}, &s.Members} }

func (s sets) Create(ctx context.Context, project assay.ProjectID, name string, now time.Time) (set store.Set, err error) {
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := lockProject(ctx, t, project, "FOR KEY SHARE"); err != nil {
			return err
		}
		set = store.Set{}
		found, err := t.first(ctx, `INSERT INTO sets (project_id, name, created_at) VALUES ($1, $2, $3)
			ON CONFLICT (project_id, name) DO NOTHING RETURNING id, name, created_at, 0::bigint`, []any{project, name, now}, setInto(&set)...)
		if err == nil && !found {
			err = assay.Errorf(assay.CodeConflict, "set %s exists already", name).WithHint("add to it with `assay set add %s`", name)
		}
		return err
	})
	return set, err
}

func (s sets) Get(ctx context.Context, project assay.ProjectID, name string) (set store.Set, err error) {
	err = s.read(ctx, func(ctx context.Context, c conn) error {
		set = store.Set{}
		found, err := c.first(ctx, setSelect+" AND name = $2", []any{project, name}, setInto(&set)...)
		if err == nil && !found {
			err = notFound("there is no set %s", name).WithHint("`assay set list` shows them")
		}
		return err
	})
	return set, err
}

func (s sets) List(ctx context.Context, project assay.ProjectID) (list []store.Set, err error) {
	err = s.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, setInto, setSelect+" ORDER BY name", project)
		return err
	})
	return list, err
}

const addBatch = 5000

// Add takes several transactions when there are many keys; adding again finishes what was cut.
func (s sets) Add(ctx context.Context, set int64, keys []assay.SessionKey) (added int64, err error) {
	for len(keys) > 0 {
		batch := int64s(keys[:min(addBatch, len(keys))])
		keys = keys[len(batch):]
		var n int64
		if err := s.write(ctx, func(ctx context.Context, t tx) error {
			found, err := t.first(ctx, "SELECT id FROM sets WHERE id = $1 FOR KEY SHARE", []any{set}, new(int64))
			if err == nil && !found {
				err = notFound("there is no set with number %d", set).WithHint("`assay set list` shows them")
			}
			if err != nil {
				return err
			}
			n, err = t.exec(ctx, `INSERT INTO set_members (set_id, session_key) SELECT $1, s.id FROM unnest($2::bigint[]) k JOIN sessions s ON s.id = k
				ORDER BY s.id ON CONFLICT DO NOTHING`, set, batch)
			return err
		}); err != nil {
			return added, err
		}
		added += n
	}
	return added, nil
}

func int64s[T ~int64](in []T) []int64 {
	out := make([]int64, len(in))
	for i, v := range in {
		out[i] = int64(v)
	}
	return out
}
