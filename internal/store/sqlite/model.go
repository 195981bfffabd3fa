package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"assay/internal/assay"
)

type models struct{ s *Store }

func (m models) List(ctx context.Context) (list []assay.Model, err error) {
	err = m.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			model := assay.Model{ModelKey: assay.ModelKey{Endpoint: r.text(0), Model: r.text(1)}, UpdatedAt: r.time(3)}
			list = append(list, model)
			if err := json.Unmarshal(r.json(2), &list[len(list)-1].Settings); err != nil {
				return assay.Errorf(assay.CodeInternal, "read the settings of %s: %w", model.ModelKey, err)
			}
			return nil
		}, "SELECT endpoint, model, settings, updated_at FROM models ORDER BY endpoint, model")
	})
	return list, err
}

func (m models) Put(ctx context.Context, key assay.ModelKey, s assay.ModelSettings, now time.Time) error {
	return m.s.write.do(ctx, forAsk, func(t tx) error {
		_, err := t.exec(`INSERT INTO models (endpoint, model, settings, updated_at) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET settings = excluded.settings, updated_at = excluded.updated_at`, key.Endpoint, key.Model, toJSON(s), now)
		return err
	})
}

func (m models) Delete(ctx context.Context, key assay.ModelKey) error {
	return m.s.write.do(ctx, forAsk, func(t tx) error {
		n, err := t.exec("DELETE FROM models WHERE endpoint = ? AND model = ?", key.Endpoint, key.Model)
		if err == nil && n == 0 {
			err = notFound("nothing is set for %s", key).WithHint("`assay models` lists what is")
		}
		return err
	})
}
