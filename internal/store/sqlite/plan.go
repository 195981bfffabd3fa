package sqlite

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type plans struct{ s *Store }

// fenced runs f in one transaction that begins with the fence.
func (s *Store) fenced(ctx context.Context, p priority, fence store.Fence, f func(tx) error) error {
	return s.write.do(ctx, p, func(t tx) error {
		if _, err := hold(ctx, t.conn, fence); err != nil {
			return err
		}
		return f(t)
	})
}

const resetBatch = 5000

func (p plans) Reset(ctx context.Context, f store.Fence) error {
	for n := int64(1); n > 0; {
		if err := p.s.fenced(ctx, forPlan, f, func(t tx) (err error) {
			n, err = t.exec("DELETE FROM items WHERE run_id = ? AND seq IN (SELECT seq FROM items WHERE run_id = ? LIMIT ?)", f.Run, f.Run, resetBatch)
			return err
		}); err != nil {
			return err
		}
	}
	return p.s.fenced(ctx, forPlan, f, func(t tx) error {
		if _, err := t.exec("DELETE FROM strata WHERE run_id = ?", f.Run); err != nil {
			return err
		}
		_, err := t.exec(`UPDATE runs SET sampled = 0, planned = 0, left_unsettled = 0, left_undated = 0, left_empty = 0, left_late = 0,
			revision = revision + 1 WHERE id = ?`, f.Run)
		return err
	})
}

func (p plans) PutStrata(ctx context.Context, f store.Fence, strata []assay.PlannedStratum, sampled int64, left assay.Excluded) error {
	return p.s.fenced(ctx, forPlan, f, func(t tx) error {
		if _, err := t.exec("DELETE FROM strata WHERE run_id = ?", f.Run); err != nil {
			return err
		}
		for _, s := range strata {
			if _, err := t.exec("INSERT INTO strata (run_id, stratum, day, arm, eligible, sampled) VALUES (?, ?, ?, ?, ?, ?)",
				f.Run, s.Index, s.Day, s.Arm, s.Eligible, s.Sampled); err != nil {
				return err
			}
		}
		_, err := t.exec(`UPDATE runs SET sampled = ?, left_unsettled = ?, left_undated = ?, left_empty = ?, left_late = ?, revision = revision + 1
			WHERE id = ?`, sampled, left.Unsettled, left.Undated, left.Empty, left.Late, f.Run)
		return err
	})
}

func (p plans) Strata(ctx context.Context, run assay.RunID) (list []assay.PlannedStratum, err error) {
	err = p.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			list = append(list, assay.PlannedStratum{Index: int(r.int(0)), Stratum: assay.Stratum{Day: r.text(1), Arm: r.text(2)}, Eligible: r.int(3), Sampled: r.int(4)})
			return nil
		}, "SELECT stratum, day, arm, eligible, sampled FROM strata WHERE run_id = ? ORDER BY stratum", run)
	})
	return list, err
}

var insertItems = newMulti(`INSERT INTO items (run_id, seq, content_id, session_key, version_key, judge, repeat, stratum, state, pass,
	origin_run, origin_seq, ended_at, cut) VALUES `, "?1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?", "")

func (p plans) PutItems(ctx context.Context, f store.Fence, list []assay.Item, now time.Time) error {
	return p.s.fenced(ctx, forPlan, f, func(t tx) error {
		versions := map[int]int64{}
		if err := t.query(ctx, func(r row) error { versions[int(r.int(0))] = r.int(1); return nil },
			"SELECT judge, version_key FROM run_judges WHERE run_id = ?", f.Run); err != nil {
			return err
		}
		w := insertItems.on(t, int64(f.Run))
		for i := range list {
			item := &list[i]
			version, ok := versions[item.Judge]
			if !ok {
				return assay.Errorf(assay.CodeInternal, "item %d of run %s names judge %d, which the run does not have", item.Seq, f.Run, item.Judge)
			}
			state, pass, originRun, originSeq, ended := assay.ItemPending, any(nil), any(nil), any(nil), any(nil)
			if item.Origin != nil {
				state, pass, originRun, originSeq, ended = assay.ItemGraded, item.Pass, int64(item.Origin.Run), item.Origin.Seq, now
			}
			if err := w.add(item.Seq, int64(item.Content), int64(item.Session), version, item.Judge, item.Repeat, item.Stratum,
				string(state), pass, originRun, originSeq, ended, item.Cut && item.Origin != nil); err != nil {
				return planned(err, f.Run)
			}
		}
		return planned(w.flush(), f.Run)
	})
}

func planned(err error, run assay.RunID) error {
	if violates(err) {
		return assay.Errorf(assay.CodeInternal, "plan run %s: a sequence number, or a content with its judge and repeat, came twice", run)
	}
	return err
}

func (p plans) Finish(ctx context.Context, f store.Fence, want int64, now time.Time) error {
	return p.s.fenced(ctx, forPlan, f, func(t tx) error {
		var have int64
		if _, err := t.first(ctx, func(r row) error { have = r.int(0); return nil }, "SELECT count(*) FROM items WHERE run_id = ?", f.Run); err != nil {
			return err
		}
		if have != want {
			return assay.Errorf(assay.CodeRefused, "run %s has %d items where its plan asks for %d", f.Run, have, want)
		}
		_, err := t.exec("UPDATE runs SET phase = ?, sentence = '', planned = ?, heartbeat_at = ?, progress_at = ?, revision = revision + 1 WHERE id = ?",
			assay.PhaseGrading, want, now, now, f.Run)
		return err
	})
}

func (p plans) Reusable(ctx context.Context, project assay.ProjectID, version assay.Hash, repeat int, contents []assay.ContentKey, since time.Time) (map[assay.ContentKey]store.Reuse, error) {
	found := map[assay.ContentKey]store.Reuse{}
	if len(contents) == 0 {
		return found, nil
	}
	newest := map[assay.ContentKey]int64{}
	err := p.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			key, graded := assay.ContentKey(r.int(0)), r.int(4)
			reuse := store.Reuse{Origin: assay.Origin{Run: assay.RunID(r.int(1)), Seq: r.int(2)}, Pass: r.boolPtr(3), Cut: r.bool(5)}
			if old, ok := found[key]; !ok || graded > newest[key] || (graded == newest[key] && reuse.Run > old.Run) {
				found[key], newest[key] = reuse, graded
			}
			return nil
		}, `SELECT i.content_id, i.run_id, i.seq, i.pass, i.ended_at, i.cut FROM json_each(?) w
			CROSS JOIN version_keys k ON k.project_id = ? AND k.hash = ?
			CROSS JOIN items i ON i.content_id = w.value AND i.version_key = k.id AND i.repeat = ?
			WHERE i.state = 'graded' AND i.origin_run = i.run_id AND i.origin_seq = i.seq AND i.ended_at >= ?`,
			toJSON(contents), project, version, repeat, since)
	})
	return found, err
}

func (p plans) Retryable(ctx context.Context, run assay.RunID, f func(assay.Item) error) error {
	return p.s.read.view(ctx, func(c *conn) error {
		chain, err := chainOf(ctx, c, run)
		if err != nil {
			return err
		}
		newest, args := newestOf(chain)
		return c.query(ctx, func(r row) error { return f(scanItem(r)) },
			"SELECT "+itemColumns+" FROM items i WHERE "+newest+" AND i.state IN ('errored', 'cancelled', 'abandoned') ORDER BY i.seq, i.run_id DESC", args...)
	})
}

// chainOf is a run and the runs that it retries, newest first.
func chainOf(ctx context.Context, c *conn, run assay.RunID) (chain []assay.RunID, err error) {
	err = c.query(ctx, func(r row) error { chain = append(chain, assay.RunID(r.int(0))); return nil },
		`WITH RECURSIVE chain (id, retry_of) AS (SELECT id, retry_of FROM runs WHERE id = ?
		UNION SELECT r.id, r.retry_of FROM chain c JOIN runs r ON r.id = c.retry_of)
		SELECT id FROM chain ORDER BY id DESC`, run)
	if err == nil && len(chain) == 0 {
		err = notFound("there is no run %s", run).WithHint("`assay runs` lists them")
	}
	return chain, err
}

// newestOf is the condition that items i are the newest of a chain of runs. A retry has a higher
// number than what it retries.
func newestOf(chain []assay.RunID) (string, []any) {
	if len(chain) == 1 {
		return "i.run_id = ?", []any{chain[0]}
	}
	ids := toJSON(chain64(chain))
	return `i.run_id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM json_each(?) later CROSS JOIN items n
		ON n.content_id = i.content_id AND n.version_key = i.version_key AND n.repeat = i.repeat AND n.run_id = later.value AND n.judge = i.judge
		WHERE later.value > i.run_id)`, []any{ids, ids}
}

// chain64 are the bare numbers: a RunID encodes as r17.
func chain64(chain []assay.RunID) []int64 {
	list := make([]int64, len(chain))
	for i, id := range chain {
		list[i] = int64(id)
	}
	return list
}
