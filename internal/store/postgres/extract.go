package postgres

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type extracts struct{ *Store }

// Extracts are kept forms of ended runs, and the rows that they are made of.
func (s *Store) Extracts() store.Extracts { return extracts{s} }

// firstOf is the condition that items i are what an extract is made of.
func firstOf(chain []assay.RunID, judge int, through int64) *clause {
	w := tallied(chain, through)
	w.and("i.repeat = 0 AND i.judge = ?", judge)
	return w
}

func (e extracts) Items(ctx context.Context, chain []assay.RunID, judge int, through int64, f func(*store.ExtractItem) error) error {
	if len(chain) == 0 {
		return nil
	}
	w := firstOf(chain, judge, through)
	root := w.next()
	return e.snapshot(ctx, func(c conn) error {
		var it store.ExtractItem
		into := []any{
			intTo(&it.Run), &it.Seq, intTo(&it.Content), intTo(&it.Session), intTo(&it.Stratum), textTo(&it.State), textTo(&it.Class), &it.Pass, &it.Reused, &it.Cut,
			&it.User, &it.Case, &it.AgentVersion, &it.Source, &it.RootSeq,
		}
		return c.each(ctx, func() error {
			row := it
			return callers(f(&row))
		}, `SELECT i.run_id, i.seq, i.content_id, i.session_key, i.stratum, i.state, i.class, i.pass, coalesce(i.state = 'graded' AND i.origin_run <> i.run_id, false), i.cut,
			coalesce(s.user_id, ''), coalesce(s.case_key, ''), coalesce(s.agent_version, ''), coalesce(s.source, ''), coalesce(o.seq, i.seq)
			FROM items i LEFT JOIN items o ON i.run_id <> `+root+` AND o.content_id = i.content_id AND o.version_key = i.version_key AND o.repeat = 0
				AND o.run_id = `+root+` AND o.judge = i.judge
			LEFT JOIN sessions s ON s.id = i.session_key`+w.sql.String(), w.values(int64(chain[len(chain)-1])), into...)
	})
}

func (e extracts) Findings(ctx context.Context, chain []assay.RunID, judge int, through int64, f func(*store.ExtractFinding) error) error {
	if len(chain) == 0 {
		return nil
	}
	w := firstOf(chain, judge, through)
	w.and("i.state = 'graded' AND v.criterion <> ''")
	return e.snapshot(ctx, func(c conn) error {
		var v store.ExtractFinding
		into := []any{intTo(&v.Content), &v.Criterion, &v.Applies, &v.Abstained, &v.Value, &v.Reason, &v.Quoted, &v.Unverified}
		return c.each(ctx, func() error {
			row := v
			return callers(f(&row))
		}, `SELECT i.content_id, v.criterion, v.applies, v.abstained, coalesce(v.value, ''), v.reason,
			coalesce(v.evidence NOT IN ('null', '[]'), false), coalesce(position('"verified":false' in v.evidence) > 0, false)
			FROM items i JOIN verdicts v ON v.run_id = i.origin_run AND v.seq = i.origin_seq AND v.unit = ''`+w.sql.String(), w.values(), into...)
	})
}

func (e extracts) Calls(ctx context.Context, chain []assay.RunID, judge int, f func(*store.ExtractCall) error) error {
	if len(chain) == 0 {
		return nil
	}
	return e.snapshot(ctx, func(c conn) error {
		var a store.ExtractCall
		var delay, call int64
		into := []any{intTo(&a.N), intTo(&a.Wait), &delay, &call, textTo(&a.Class)}
		return c.each(ctx, func() error {
			row := a
			row.Delay, row.Call = time.Duration(delay)*time.Microsecond, time.Duration(call)*time.Microsecond
			return callers(f(&row))
		}, `SELECT a.n, a.wait, a.call_at - a.opened_at, a.ended_at - a.call_at, a.class
			FROM attempts a JOIN items i ON i.run_id = a.run_id AND i.seq = a.seq AND i.judge = $2
			WHERE a.run_id = ANY($1) AND a.status = 'done' AND a.call_at IS NOT NULL AND a.ended_at IS NOT NULL`, []any{int64s(chain), judge}, into...)
	})
}

func (e extracts) Get(ctx context.Context, run assay.RunID, judge, format int) (kept []byte, found bool, err error) {
	err = e.read(ctx, func(ctx context.Context, c conn) error {
		kept, found = nil, false
		return c.each(ctx, func() error { found = true; return nil },
			"SELECT kept FROM extracts WHERE run_id = $1 AND judge = $2 AND format = $3", []any{run, judge, format}, &kept)
	})
	return kept, found, err
}

func (e extracts) Keep(ctx context.Context, run assay.RunID, judge, format int, kept []byte, now time.Time) error {
	return e.write(ctx, func(ctx context.Context, t tx) error {
		_, err := t.exec(ctx, `INSERT INTO extracts (run_id, judge, format, made_at, kept)
			SELECT id, $2, $3, $4, $5 FROM runs WHERE id = $1 AND state IN ('completed', 'failed', 'cancelled', 'lost')
			ON CONFLICT (run_id, judge) DO UPDATE SET format = excluded.format, made_at = excluded.made_at, kept = excluded.kept`,
			run, judge, format, now, kept)
		return err
	})
}

func (e extracts) Said(ctx context.Context, items []assay.Origin) (map[assay.Origin][]store.ExtractFinding, error) {
	said := make(map[assay.Origin][]store.ExtractFinding, len(items))
	err := e.read(ctx, func(ctx context.Context, c conn) error {
		clear(said)
		for _, it := range items {
			var v store.ExtractFinding
			if err := c.each(ctx, func() error { said[it] = append(said[it], v); return nil },
				`SELECT i.content_id, v.criterion, v.applies, v.abstained, coalesce(v.value, ''), v.reason
				FROM items i JOIN verdicts v ON v.run_id = i.origin_run AND v.seq = i.origin_seq AND v.unit = ''
				WHERE i.run_id = $1 AND i.seq = $2 AND i.state = 'graded' AND v.criterion <> '' ORDER BY v.no`,
				[]any{it.Run, it.Seq}, intTo(&v.Content), &v.Criterion, &v.Applies, &v.Abstained, &v.Value, &v.Reason); err != nil {
				return err
			}
		}
		return nil
	})
	return said, err
}

func (e extracts) Names(ctx context.Context, contents []assay.ContentKey) (map[assay.ContentKey]store.ExtractName, error) {
	names := make(map[assay.ContentKey]store.ExtractName, len(contents))
	if len(contents) == 0 {
		return names, nil
	}
	keys := make([]int64, len(contents))
	for i, k := range contents {
		keys[i] = int64(k)
	}
	err := e.read(ctx, func(ctx context.Context, c conn) error {
		var key assay.ContentKey
		var n store.ExtractName
		return c.each(ctx, func() error { names[key] = n; return nil },
			"SELECT c.id, s.user_id, s.session_id, c.hash FROM contents c JOIN sessions s ON s.id = c.session_key WHERE c.id = ANY($1)",
			[]any{keys}, intTo(&key), &n.UserID, &n.SessionID, textTo(&n.ContentHash))
	})
	return names, err
}

// forgetExtracts drops what was kept of a run whose attempts change although it ended, and of those that retry it:
// retries have higher numbers, and what is dropped needlessly is made anew.
func forgetExtracts(ctx context.Context, t tx, run assay.RunID) error {
	_, err := t.exec(ctx, "DELETE FROM extracts WHERE run_id >= $1", run)
	return err
}
