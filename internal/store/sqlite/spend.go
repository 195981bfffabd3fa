package sqlite

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type spending struct{ s *Store }

// charged is the condition that an attempt's call left or may have left: assay.Attempt.MayHaveLeft.
const charged = "(call_at IS NOT NULL OR status <> 'done' AND class <> 'prompt_only')"

// unmetered is the condition that nobody knows what tokens one that is charged used: assay.Attempt.Unmetered.
const unmetered = "(seen <> '' AND NOT usage_known AND http_status < 400)"

// slack is more than the clocks of two drivers of a run differ by: a late attempt may have been opened
// after its run ended by the clock of another.
const slack = 24 * time.Hour

// active is the condition that runs r of a project can have attempts in a window.
func active(project assay.ProjectID, from, to *time.Time) *clause {
	c := new(clause)
	c.sql.WriteString("r.project_id = ?")
	c.args = append(c.args, project)
	if from != nil {
		c.and("(r.ended_at IS NULL OR r.ended_at >= ?)", from.Add(-slack))
	}
	if to != nil {
		c.and("r.started_at < ?", to.Add(slack))
	}
	return c
}

func (s spending) Charged(ctx context.Context, project assay.ProjectID, from, to time.Time) (sum assay.USD, unpriced int64, err error) {
	where := active(project, &from, &to)
	where.and("a.opened_at >= ?", from)
	where.and("a.opened_at < ?", to)
	err = s.s.read.do(ctx, func(c *conn) error {
		_, err := c.first(ctx, func(r row) error { sum, unpriced = r.usd(0), r.int(2); return nil },
			`SELECT sum(coalesce(a.cost, a.reserved) / 1000000000), sum(coalesce(a.cost, a.reserved) % 1000000000), sum(a.cost IS NULL AND a.reserved IS NULL)
			FROM runs r CROSS JOIN attempts a ON a.run_id = r.id WHERE `+where.sql.String()+" AND "+charged, where.args...)
		return err
	})
	return sum, unpriced, err
}

// Lines reads run by run, each along its primary key, and sums as it reads: to group in SQL all rows
// would be sorted first.
func (s spending) Lines(ctx context.Context, q store.SpendQuery) (list []assay.SpendLine, err error) {
	sum := store.NewSpendSum(q.Zone)
	judges := map[assay.RunID][]assay.RunJudge{}
	err = s.s.read.view(ctx, func(c *conn) error {
		where := active(q.Project, q.From, q.To)
		if q.Run != 0 {
			where.and("r.id = ?", q.Run)
		}
		var runs []assay.RunID
		if err := c.query(ctx, func(r row) error {
			id := assay.RunID(r.int(0))
			if len(judges[id]) == 0 {
				runs = append(runs, id)
			}
			judges[id] = append(judges[id], assay.RunJudge{Name: r.text(1), Version: assay.Hash(r.text(2))})
			return nil
		}, `SELECT r.id, j.name, k.hash FROM runs r CROSS JOIN run_judges j ON j.run_id = r.id CROSS JOIN version_keys k ON k.id = j.version_key
			WHERE `+where.sql.String()+" ORDER BY r.id, j.judge", where.args...); err != nil {
			return err
		}
		for _, id := range runs {
			if err := addRun(ctx, c, sum, id, len(judges[id]), q); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sum.Lines(func(run assay.RunID, judge int) assay.RunJudge { return judges[run][judge] }), nil
}

// addRun adds the attempts of one run. Where it has one judge its items are not asked.
func addRun(ctx context.Context, c *conn, sum *store.SpendSum, run assay.RunID, judges int, q store.SpendQuery) error {
	judge := "0"
	if judges > 1 {
		judge = "(SELECT i.judge FROM items i WHERE i.run_id = a.run_id AND i.seq = a.seq)"
	}
	var where clause
	where.sql.WriteString("a.run_id = ? AND " + charged)
	where.args = append(where.args, run)
	if q.From != nil {
		where.and("a.opened_at >= ?", q.From)
	}
	if q.To != nil {
		where.and("a.opened_at < ?", q.To)
	}
	return c.query(ctx, func(r row) error {
		spend := assay.Spend{Attempts: 1, Usage: assay.Usage{Known: r.bool(5), Input: r.int(6), Cached: r.int(7), CacheWrite: r.int(8), Output: r.int(9), Reasoning: r.int(10)}}
		if assay.AttemptStatus(r.text(2)) == assay.AttemptUnknown {
			spend.Unknown = 1
		}
		if r.bool(3) {
			spend.Late = 1
		}
		switch {
		case r[11] != nil:
			spend.Cost = assay.USD(r.int(11))
		case r[12] != nil:
			spend.Held, spend.HeldN = assay.USD(r.int(12)), 1
		default:
			spend.Unpriced = 1
		}
		spend.Unmetered = r.int(13)
		sum.Add(r.int(0), run, int(r.int(1)), r.text(4), spend)
		return nil
	}, "SELECT a.opened_at, "+judge+`, a.status, a.late, a.model, a.usage_known, a.input, a.cached, a.cache_write, a.output, a.reasoning, a.cost, a.reserved, `+unmetered+`
		FROM attempts a WHERE `+where.sql.String(), where.args...)
}
