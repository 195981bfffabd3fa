package postgres

import (
	"context"

	"assay/internal/assay"
	"assay/internal/store"
)

// newestOf is the condition that items i are the newest of a chain of runs. A retry has a higher
// number than what it retries.
func newestOf(chain []assay.RunID) *clause {
	if len(chain) == 1 {
		return where("i.run_id = ?", chain[0])
	}
	w := where("i.run_id = ANY(?)", int64s(chain))
	w.and(`NOT EXISTS (SELECT 1 FROM items n WHERE n.content_id = i.content_id AND n.version_key = i.version_key AND n.repeat = i.repeat
		AND n.run_id = ANY(?) AND n.judge = i.judge AND n.run_id > i.run_id)`, int64s(chain))
	return w
}

// tallied is the condition that items i are counted.
func tallied(chain []assay.RunID, through int64) *clause {
	w := newestOf(chain)
	if through > 0 {
		w.and("i.seq <= ?", through)
	}
	return w
}

func (v verdicts) Tally(ctx context.Context, chain []assay.RunID, through int64) (list []store.Tally, err error) {
	if len(chain) == 0 {
		return nil, nil
	}
	w := tallied(chain, through)
	err = v.read(ctx, func(ctx context.Context, c conn) (err error) {
		into := func(t *store.Tally) []any {
			return []any{intTo(&t.Stratum), intTo(&t.Judge), intTo(&t.Repeat), textTo(&t.State), textTo(&t.Class), &t.Pass, &t.Reused, &t.Cut, &t.N}
		}
		list, err = collect(ctx, c, into, `SELECT i.stratum, i.judge, i.repeat, i.state, i.class, i.pass, i.state = 'graded' AND i.origin_run <> i.run_id, i.cut, count(*)
			FROM items i`+w.sql.String()+" GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6 NULLS FIRST, 7, 8", w.values()...)
		return err
	})
	return list, err
}

func (v verdicts) TallyFindings(ctx context.Context, chain []assay.RunID, through int64) (list []store.FindingTally, err error) {
	if len(chain) == 0 {
		return nil, nil
	}
	w := tallied(chain, through)
	w.and("i.repeat = 0 AND i.state = 'graded' AND v.criterion <> ''")
	err = v.read(ctx, func(ctx context.Context, c conn) (err error) {
		into := func(t *store.FindingTally) []any {
			return []any{intTo(&t.Stratum), intTo(&t.Judge), &t.Criterion, &t.Applies, &t.Abstained, &t.Value, &t.N}
		}
		list, err = collect(ctx, c, into, `SELECT i.stratum, i.judge, v.criterion, v.applies, v.abstained, coalesce(v.value, ''), count(*)
			FROM items i JOIN verdicts v ON v.run_id = i.origin_run AND v.seq = i.origin_seq AND v.unit = ''`+w.sql.String()+
			" GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6", w.values()...)
		return err
	})
	return list, err
}

func (v verdicts) Regraded(ctx context.Context, chain []assay.RunID, through int64, f func(*store.Regraded) error) error {
	if len(chain) == 0 {
		return nil
	}
	w := tallied(chain, through)
	w.and("i.state = 'graded'")
	g := store.GatherRegraded(func(r *store.Regraded) error { return callers(f(r)) })
	return v.snapshot(ctx, func(c conn) error {
		var r store.RegradedRow
		into := []any{intTo(&r.Content), intTo(&r.Judge), intTo(&r.Repeat), intTo(&r.Stratum), &r.Pass, &r.Criterion, &r.Applies, &r.Abstained, &r.Value}
		err := c.each(ctx, func() error {
			row := r
			r = store.RegradedRow{}
			return g.Add(row)
		}, `SELECT i.content_id, i.judge, i.repeat, i.stratum, i.pass, coalesce(v.criterion, ''), coalesce(v.applies, false), coalesce(v.abstained, false), coalesce(v.value, '')
			FROM items i LEFT JOIN verdicts v ON v.run_id = i.origin_run AND v.seq = i.origin_seq AND v.unit = '' AND v.criterion <> ''`+w.sql.String()+
			" ORDER BY i.content_id, i.judge, i.repeat, v.no", w.values(), into...)
		if err != nil {
			return err
		}
		return g.End()
	})
}
