package postgres

import (
	"context"

	"assay/internal/assay"
	"assay/internal/store"
)

// Typical goes from the newest run back until it has seen enough.
func (s spending) Typical(ctx context.Context, project assay.ProjectID, version assay.Hash) (t store.Typical, err error) {
	type part struct {
		run   assay.RunID
		judge int
	}
	err = s.read(ctx, func(ctx context.Context, c conn) error {
		t = store.Typical{}
		var micros, output, known float64
		parts, err := collect(ctx, c, func(p *part) []any { return []any{intTo(&p.run), intTo(&p.judge)} },
			`SELECT r.id, j.judge FROM version_keys k JOIN runs r ON r.project_id = k.project_id
			JOIN run_judges j ON j.run_id = r.id AND j.version_key = k.id
			WHERE k.project_id = $1 AND k.hash = $2 ORDER BY r.id DESC, j.judge`, project, version)
		for _, p := range parts {
			if err != nil || t.N >= store.TypicalAttempts {
				break
			}
			var took, tokens int64
			var told bool
			err = c.each(ctx, func() error {
				t.N++
				micros += float64(took)
				if told {
					known++
					output += float64(tokens)
				}
				return nil
			}, `SELECT a.ended_at - a.call_at, a.usage_known, a.output FROM attempts a JOIN items i ON i.run_id = a.run_id AND i.seq = a.seq
				WHERE a.run_id = $1 AND i.judge = $2 AND a.status = 'done' AND a.class = '' AND a.call_at IS NOT NULL AND a.ended_at IS NOT NULL
				ORDER BY a.seq DESC, a.n DESC LIMIT $3`, []any{p.run, p.judge, store.TypicalAttempts - t.N}, &took, &told, &tokens)
		}
		if t.N > 0 {
			t.Seconds = micros / float64(t.N) / 1e6
		}
		if known > 0 {
			t.Output = output / known
		}
		return err
	})
	return t, err
}
