package sqlite

import (
	"context"

	"assay/internal/assay"
	"assay/internal/store"
)

// tallied is the condition that items i are counted.
func tallied(chain []assay.RunID, through int64) (string, []any) {
	where, args := newestOf(chain)
	if through > 0 {
		where, args = where+" AND i.seq <= ?", append(args, through)
	}
	return where, args
}

func (v verdicts) Tally(ctx context.Context, chain []assay.RunID, through int64) (list []store.Tally, err error) {
	if len(chain) == 0 {
		return nil, nil
	}
	where, args := tallied(chain, through)
	err = v.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			list = append(list, store.Tally{
				Stratum: int(r.int(0)), Judge: int(r.int(1)), State: assay.ItemState(r.text(2)), Class: assay.Class(r.text(3)),
				Pass: r.boolPtr(4), Reused: r.bool(5), N: r.int(6),
			})
			return nil
		}, `SELECT i.stratum, i.judge, i.state, i.class, i.pass, i.state = 'graded' AND i.origin_run <> i.run_id, count(*)
			FROM items i WHERE `+where+" GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6", args...)
	})
	return list, err
}

func (v verdicts) TallyFindings(ctx context.Context, chain []assay.RunID, through int64) (list []store.FindingTally, err error) {
	if len(chain) == 0 {
		return nil, nil
	}
	where, args := tallied(chain, through)
	err = v.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			list = append(list, store.FindingTally{
				Stratum: int(r.int(0)), Judge: int(r.int(1)), Criterion: r.text(2), Applies: r.bool(3), Abstained: r.bool(4),
				Value: r.text(5), N: r.int(6),
			})
			return nil
		}, `SELECT i.stratum, i.judge, v.criterion, v.applies, v.abstained, coalesce(v.value, ''), count(*)
			FROM items i CROSS JOIN verdicts v ON v.run_id = i.origin_run AND v.seq = i.origin_seq
			WHERE `+where+" AND i.state = 'graded' AND v.criterion <> '' GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6", args...)
	})
	return list, err
}
