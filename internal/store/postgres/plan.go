package postgres

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type plans struct{ *Store }

const resetBatch = 5000

func (p plans) Reset(ctx context.Context, f store.Fence) error {
	for n := int64(1); n > 0; {
		if err := p.fenced(ctx, f, toRead, func(ctx context.Context, t tx, _ assay.RunControl) (err error) {
			n, err = t.exec(ctx, "DELETE FROM items WHERE ctid = ANY(ARRAY(SELECT ctid FROM items WHERE run_id = $1 LIMIT $2))", f.Run, resetBatch)
			return err
		}); err != nil {
			return err
		}
	}
	return p.fenced(ctx, f, toWrite, func(ctx context.Context, t tx, _ assay.RunControl) error {
		if _, err := t.exec(ctx, "DELETE FROM strata WHERE run_id = $1", f.Run); err != nil {
			return err
		}
		_, err := t.exec(ctx, `UPDATE runs SET revision = revision + 1, planned = 0, sampled = 0, left_unsettled = 0, left_undated = 0, left_empty = 0,
			left_late = 0 WHERE id = $1`, f.Run)
		return err
	})
}

func (p plans) PutStrata(ctx context.Context, f store.Fence, strata []assay.PlannedStratum, sampled int64, left assay.Excluded) error {
	n := len(strata)
	index := column(strata, n, func(s assay.PlannedStratum) int64 { return int64(s.Index) })
	days := column(strata, n, func(s assay.PlannedStratum) string { return s.Day })
	arms := column(strata, n, func(s assay.PlannedStratum) string { return s.Arm })
	eligible := column(strata, n, func(s assay.PlannedStratum) int64 { return s.Eligible })
	drawn := column(strata, n, func(s assay.PlannedStratum) int64 { return s.Sampled })
	return p.fenced(ctx, f, toWrite, func(ctx context.Context, t tx, _ assay.RunControl) error {
		if _, err := t.exec(ctx, "DELETE FROM strata WHERE run_id = $1", f.Run); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `INSERT INTO strata (run_id, stratum, day, arm, eligible, sampled)
			SELECT $1, u.* FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[]) u`,
			f.Run, index, days, arms, eligible, drawn); err != nil {
			return err
		}
		_, err := t.exec(ctx, `UPDATE runs SET revision = revision + 1, sampled = $2, left_unsettled = $3, left_undated = $4, left_empty = $5,
			left_late = $6 WHERE id = $1`, f.Run, sampled, left.Unsettled, left.Undated, left.Empty, left.Late)
		return err
	})
}

func (p plans) PutItems(ctx context.Context, f store.Fence, items []assay.Item, now time.Time) error {
	n := len(items)
	ints := func(f func(assay.Item) int64) []int64 { return column(items, n, f) }
	args := []any{
		int64(f.Run), now.UnixMicro(),
		ints(func(i assay.Item) int64 { return i.Seq }),
		ints(func(i assay.Item) int64 { return int64(i.Content) }),
		ints(func(i assay.Item) int64 { return int64(i.Session) }),
		ints(func(i assay.Item) int64 { return int64(i.Judge) }),
		ints(func(i assay.Item) int64 { return int64(i.Repeat) }),
		ints(func(i assay.Item) int64 { return int64(i.Stratum) }),
		column(items, n, func(i assay.Item) *bool { return i.Pass }),
		column(items, n, func(i assay.Item) *int64 { return originOf(i, func(o *assay.Origin) int64 { return int64(o.Run) }) }),
		column(items, n, func(i assay.Item) *int64 { return originOf(i, func(o *assay.Origin) int64 { return o.Seq }) }),
		column(items, n, func(i assay.Item) bool { return i.Cut && i.Origin != nil }),
	}
	return p.fenced(ctx, f, toRead, func(ctx context.Context, t tx, _ assay.RunControl) error {
		added, err := t.exec(ctx, `INSERT INTO items (run_id, seq, content_id, session_key, version_key, judge, repeat, stratum, state, pass,
			origin_run, origin_seq, ended_at, cut)
			SELECT $1, u.seq, u.content_id, u.session_key, j.version_key, u.judge, u.repeat, u.stratum,
			CASE WHEN u.origin_run IS NULL THEN 'pending' ELSE 'graded' END, CASE WHEN u.origin_run IS NOT NULL THEN u.pass END,
			u.origin_run, u.origin_seq, CASE WHEN u.origin_run IS NOT NULL THEN $2::bigint END, u.cut
			FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bool[], $10::bigint[], $11::bigint[], $12::bool[])
			u (seq, content_id, session_key, judge, repeat, stratum, pass, origin_run, origin_seq, cut)
			JOIN run_judges j ON j.run_id = $1 AND j.judge = u.judge`, args...)
		if violates(err, "") {
			return assay.Errorf(assay.CodeInternal, "plan run %s: a sequence number, or a content with its judge and repeat, came twice", f.Run)
		}
		if err == nil && added != int64(n) {
			err = assay.Errorf(assay.CodeInternal, "plan run %s: %d of %d items name a judge that the run does not have", f.Run, int64(n)-added, n)
		}
		return err
	})
}

func originOf(i assay.Item, f func(*assay.Origin) int64) *int64 {
	if i.Origin == nil {
		return nil
	}
	n := f(i.Origin)
	return &n
}

func (p plans) Finish(ctx context.Context, f store.Fence, want int64, now time.Time) error {
	return p.fenced(ctx, f, toWrite, func(ctx context.Context, t tx, _ assay.RunControl) error {
		var have int64
		if _, err := t.first(ctx, "SELECT count(*) FROM items WHERE run_id = $1", []any{f.Run}, &have); err != nil {
			return err
		}
		if have != want {
			return assay.Errorf(assay.CodeRefused, "run %s has %d items where its plan asks for %d", f.Run, have, want).
				WithHint("this is a fault of the program; start a new run and report it")
		}
		_, err := t.exec(ctx, "UPDATE runs SET revision = revision + 1, phase = 'grading', sentence = '', planned = $2, heartbeat_at = $3, progress_at = $3 WHERE id = $1",
			f.Run, want, now)
		return err
	})
}

func (p plans) Strata(ctx context.Context, run assay.RunID) (list []assay.PlannedStratum, err error) {
	err = p.read(ctx, func(ctx context.Context, c conn) (err error) {
		into := func(s *assay.PlannedStratum) []any {
			return []any{intTo(&s.Index), &s.Day, &s.Arm, &s.Eligible, &s.Sampled}
		}
		list, err = collect(ctx, c, into, "SELECT stratum, day, arm, eligible, sampled FROM strata WHERE run_id = $1 ORDER BY stratum", run)
		return err
	})
	return list, err
}

func (p plans) Reusable(ctx context.Context, project assay.ProjectID, version assay.Hash, repeat int, contents []assay.ContentKey, since time.Time) (found map[assay.ContentKey]store.Reuse, err error) {
	err = p.read(ctx, func(ctx context.Context, c conn) error {
		found = map[assay.ContentKey]store.Reuse{}
		var content assay.ContentKey
		var r store.Reuse
		return c.each(ctx, func() error { found[content] = r; r.Pass = nil; return nil },
			`SELECT DISTINCT ON (i.content_id) i.content_id, i.run_id, i.seq, i.pass, i.cut FROM version_keys k
			JOIN unnest($4::bigint[]) u ON true JOIN items i ON i.content_id = u AND i.version_key = k.id AND i.repeat = $3
			WHERE k.project_id = $1 AND k.hash = $2 AND i.state = 'graded' AND i.origin_run = i.run_id AND i.origin_seq = i.seq AND i.ended_at >= $5
			ORDER BY i.content_id, i.ended_at DESC, i.run_id DESC, i.seq DESC`,
			[]any{project, version, repeat, int64s(contents), since}, intTo(&content), intTo(&r.Run), &r.Seq, &r.Pass, &r.Cut)
	})
	return found, err
}

// chainSQL lists a run and the runs that it retries, newest first.
const chainSQL = `WITH RECURSIVE chain (id, retry_of) AS (SELECT id, retry_of FROM runs WHERE id = $1
	UNION SELECT r.id, r.retry_of FROM chain c JOIN runs r ON r.id = c.retry_of) SELECT id FROM chain ORDER BY id DESC`

func (p plans) Retryable(ctx context.Context, run assay.RunID, f func(assay.Item) error) error {
	return p.snapshot(ctx, func(c conn) error {
		chain, err := collect(ctx, c, func(id *assay.RunID) []any { return []any{intTo(id)} }, chainSQL, run)
		if err != nil {
			return err
		}
		if len(chain) == 0 {
			return noRun(run)
		}
		w := newestOf(chain)
		w.and("i.state IN ('errored', 'cancelled', 'abandoned')")
		var i assay.Item
		return c.each(ctx, func() error {
			item := i
			i = assay.Item{}
			return callers(f(item))
		}, "SELECT "+itemColumns+", '', '', "+opened+" FROM items i"+w.sql.String()+" ORDER BY i.seq, i.run_id DESC", w.values(), itemInto(&i)...)
	})
}
