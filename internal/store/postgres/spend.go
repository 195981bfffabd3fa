package postgres

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type spending struct{ *Store }

const (
	// charged is the condition that an attempt's call left or may have left: assay.Attempt.MayHaveLeft.
	charged = "(call_at IS NOT NULL OR status <> 'done' AND class <> 'prompt_only')"

	// unmetered is the condition that nobody knows what tokens one that is charged used: assay.Attempt.Unmetered.
	unmetered = "seen <> '' AND NOT usage_known AND http_status < 400"

	// Sums are numeric, which nothing overflows.
	spendColumns = `count(*), count(*) FILTER (WHERE status = 'unknown'), count(*) FILTER (WHERE late), coalesce(bool_or(usage_known), false),
	coalesce(sum(input), 0)::bigint, coalesce(sum(cached), 0)::bigint, coalesce(sum(cache_write), 0)::bigint, coalesce(sum(output), 0)::bigint,
	coalesce(sum(reasoning), 0)::bigint, least(coalesce(sum(cost), 0), 9223372036854775807)::bigint,
	least(coalesce(sum(reserved) FILTER (WHERE cost IS NULL), 0), 9223372036854775807)::bigint, count(reserved) FILTER (WHERE cost IS NULL),
	count(*) FILTER (WHERE cost IS NULL AND reserved IS NULL), count(*) FILTER (WHERE ` + unmetered + `)`
)

func spendInto(s *assay.Spend) []any {
	return []any{&s.Attempts, &s.Unknown, &s.Late, &s.Usage.Known, &s.Usage.Input, &s.Usage.Cached, &s.Usage.CacheWrite, &s.Usage.Output,
		&s.Usage.Reasoning, intTo(&s.Cost), intTo(&s.Held), &s.HeldN, &s.Unpriced, &s.Unmetered}
}

// slack is more than the clocks of two drivers of a run differ by: a late attempt may have been opened
// after its run ended by the clock of another.
const slack = 24 * time.Hour

// active is the condition that runs r of a project can have attempts in a window, and in that attempts a
// were opened in it.
func active(project assay.ProjectID, from, to *time.Time) (w *clause, in string) {
	w, in = where("r.project_id = ?", project), charged
	if from != nil {
		w.and("(r.ended_at IS NULL OR r.ended_at >= ?)", from.Add(-slack))
		in += " AND a.opened_at >= " + w.next()
		w.args = append(w.args, from)
	}
	if to != nil {
		w.and("r.started_at < ?", to.Add(slack))
		in += " AND a.opened_at < " + w.next()
		w.args = append(w.args, to)
	}
	return w, in
}

// Charged sums each run apart, as Lines does, so that whatever the planner believes of the tables, runs
// come first and their attempts are read along the primary key.
func (s spending) Charged(ctx context.Context, project assay.ProjectID, from, to time.Time) (sum assay.USD, unpriced int64, err error) {
	w, in := active(project, &from, &to)
	err = s.read(ctx, func(ctx context.Context, c conn) error {
		_, err := c.first(ctx, `SELECT least(coalesce(sum(x.charged), 0), 9223372036854775807)::bigint, coalesce(sum(x.unpriced), 0)::bigint FROM runs r
			CROSS JOIN LATERAL (SELECT sum(coalesce(cost, reserved)) AS charged, count(*) FILTER (WHERE cost IS NULL AND reserved IS NULL) AS unpriced
			FROM attempts a WHERE a.run_id = r.id AND `+in+") x"+w.sql.String(), w.values(), intTo(&sum), &unpriced)
		return err
	})
	return sum, unpriced, err
}

func (s spending) Lines(ctx context.Context, q store.SpendQuery) (list []assay.SpendLine, err error) {
	w, in := active(q.Project, q.From, q.To)
	if q.Run != 0 {
		w.and("r.id = ?", q.Run)
	}
	sum := store.NewSpendSum(q.Zone)
	judges := map[assay.RunID]map[int]assay.RunJudge{}
	err = s.snapshot(ctx, func(c conn) error {
		var run assay.RunID
		var no int
		var judge assay.RunJudge
		var opened int64
		var model string
		var spend assay.Spend
		if err := c.each(ctx, func() error {
			if judges[run] == nil {
				judges[run] = map[int]assay.RunJudge{}
			}
			judges[run][no] = judge
			return nil
		}, `SELECT j.run_id, j.judge, j.name, k.hash FROM runs r JOIN run_judges j ON j.run_id = r.id JOIN version_keys k ON k.id = j.version_key
			WHERE r.project_id = $1 AND ($2 = 0 OR r.id = $2)`, []any{q.Project, q.Run}, intTo(&run), intTo(&no), &judge.Name, textTo(&judge.Version)); err != nil {
			return err
		}
		return c.each(ctx, func() error {
			sum.Add(opened, run, no, model, spend)
			return nil
		}, `SELECT r.id, x.* FROM runs r CROSS JOIN LATERAL (SELECT a.opened_at / `+w.next()+` * `+w.next()+`,
			(SELECT i.judge FROM items i WHERE i.run_id = a.run_id AND i.seq = a.seq), a.model, `+spendColumns+`
			FROM attempts a WHERE a.run_id = r.id AND `+in+" GROUP BY 1, 2, 3) x"+w.sql.String(), w.values(store.QuarterHour),
			append([]any{intTo(&run), &opened, intTo(&no), &model}, spendInto(&spend)...)...)
	})
	if err != nil {
		return nil, err
	}
	return sum.Lines(func(run assay.RunID, judge int) assay.RunJudge { return judges[run][judge] }), nil
}
