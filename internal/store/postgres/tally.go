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
			return []any{intTo(&t.Stratum), intTo(&t.Judge), textTo(&t.State), textTo(&t.Class), &t.Pass, &t.Reused, &t.Cut, &t.N}
		}
		list, err = collect(ctx, c, into, `SELECT i.stratum, i.judge, i.state, i.class, i.pass, i.state = 'graded' AND i.origin_run <> i.run_id, i.cut, count(*)
			FROM items i`+w.sql.String()+" GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5 NULLS FIRST, 6, 7", w.values()...)
		return err
	})
	return list, err
}

func (v verdicts) TallyFindings(ctx context.Context, chain []assay.RunID, through int64) (list []store.FindingTally, err error) {
	if len(chain) == 0 {
		return nil, nil
	}
	w := tallied(chain, through)
	w.and("i.state = 'graded' AND v.criterion <> ''")
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
