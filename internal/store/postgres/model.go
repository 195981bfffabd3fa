package postgres

import (
	"context"
	"time"

	"assay/internal/assay"
)

type models struct{ *Store }

func (m models) List(ctx context.Context) (list []assay.Model, err error) {
	err = m.read(ctx, func(ctx context.Context, c conn) (err error) {
		into := func(m *assay.Model) []any {
			return []any{&m.Endpoint, &m.Model, asJSON{&m.Settings}, asTime{&m.UpdatedAt}}
		}
		list, err = collect(ctx, c, into, "SELECT endpoint, model, settings, updated_at FROM models ORDER BY endpoint, model")
		return err
	})
	return list, err
}

func (m models) Put(ctx context.Context, key assay.ModelKey, s assay.ModelSettings, now time.Time) error {
	return m.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `INSERT INTO models (endpoint, model, settings, updated_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (endpoint, model) DO UPDATE SET settings = excluded.settings, updated_at = excluded.updated_at`, key.Endpoint, key.Model, *toJSON(s), now)
		return err
	})
}

func (m models) Delete(ctx context.Context, key assay.ModelKey) error {
	return m.write(ctx, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, "DELETE FROM models WHERE endpoint = $1 AND model = $2", key.Endpoint, key.Model)
		if err == nil && n == 0 {
			err = notFound("nothing is set for %s", key).WithHint("`assay models` lists what is")
		}
		return err
	})
}
