package sqlite

import (
	"context"

	"assay/internal/assay"
	"assay/internal/store"
)

// Typical goes from the newest run back until it has seen enough.
func (s spending) Typical(ctx context.Context, project assay.ProjectID, version assay.Hash) (t store.Typical, err error) {
	type part struct{ run, judge int64 }
	var parts []part
	var micros, output, known float64
	err = s.s.read.view(ctx, func(c *conn) error {
		if err := c.query(ctx, func(r row) error { parts = append(parts, part{r.int(0), r.int(1)}); return nil },
			`SELECT r.id, j.judge FROM version_keys k CROSS JOIN runs r ON r.project_id = k.project_id
			CROSS JOIN run_judges j ON j.run_id = r.id AND j.version_key = k.id
			WHERE k.project_id = ? AND k.hash = ? ORDER BY r.id DESC, j.judge`, project, version); err != nil {
			return err
		}
		for _, p := range parts {
			if t.N >= store.TypicalAttempts {
				break
			}
			if err := c.query(ctx, func(r row) error {
				t.N++
				micros += r.float(0)
				if r.bool(1) {
					known++
					output += r.float(2)
				}
				return nil
			}, `SELECT a.ended_at - a.call_at, a.usage_known, a.output FROM attempts a CROSS JOIN items i ON i.run_id = a.run_id AND i.seq = a.seq
				WHERE a.run_id = ? AND i.judge = ? AND `+answeredCall+" ORDER BY a.seq DESC, a.n DESC LIMIT ?", p.run, p.judge, store.TypicalAttempts-t.N); err != nil {
				return err
			}
		}
		return nil
	})
	if t.N > 0 {
		t.Seconds = micros / float64(t.N) / 1e6
	}
	if known > 0 {
		t.Output = output / known
	}
	return t, err
}

// answeredCall is the condition that an attempt brought an answer.
const answeredCall = "a.status = 'done' AND a.class = '' AND a.call_at IS NOT NULL AND a.ended_at IS NOT NULL"
