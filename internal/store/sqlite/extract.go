package sqlite

import (
	"context"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type extracts struct{ s *Store }

// Extracts are kept forms of ended runs, and the rows that they are made of.
func (s *Store) Extracts() store.Extracts { return extracts{s} }

// firstOf is the condition that items i are what an extract is made of.
func firstOf(chain []assay.RunID, judge int, through int64) (string, []any) {
	where, args := tallied(chain, through)
	return where + " AND i.judge = ? AND i.repeat = 0", append(args, judge)
}

// itemTexts is an item in one text, which costs a third of what as many columns cost. Texts hold no NUL.
const itemTexts = `concat_ws(char(0), i.run_id, i.seq, i.content_id, i.session_key, i.stratum, i.state, i.class, coalesce(i.pass, ''),
	coalesce(i.state = 'graded' AND i.origin_run <> i.run_id, 0), i.cut,
	coalesce(s.user_id, ''), coalesce(s.case_key, ''), coalesce(s.agent_version, ''), coalesce(s.source, ''), `

func (e extracts) Items(ctx context.Context, chain []assay.RunID, judge int, through int64, f func(*store.ExtractItem) error) error {
	if len(chain) == 0 {
		return nil
	}
	where, args := firstOf(chain, judge, through)
	root, from := "i.seq)", "items i"
	if len(chain) > 1 {
		root = "coalesce(o.seq, i.seq))"
		from = "items i LEFT JOIN items o ON o.content_id = i.content_id AND o.version_key = i.version_key AND o.repeat = 0 AND o.run_id = ? AND o.judge = i.judge"
		args = append([]any{chain[len(chain)-1]}, args...)
	}
	var out store.ExtractItem
	return e.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			if err := parseItem(r.text(0), &out); err != nil {
				return err
			}
			return f(&out)
		}, "SELECT "+itemTexts+root+" FROM "+from+" LEFT JOIN sessions s ON s.id = i.session_key WHERE "+where, args...)
	})
}

// parseItem reads what itemTexts wrote.
func parseItem(text string, out *store.ExtractItem) error {
	var f [15]string
	n := 0
	for rest, more := text, true; more && n < len(f); n++ {
		f[n], rest, more = strings.Cut(rest, "\x00")
	}
	if n < len(f) {
		return assay.Errorf(assay.CodeInternal, "read item %s of run r%s for an extract", f[1], f[0]).WithHint("`assay doctor` checks the database")
	}
	*out = store.ExtractItem{
		Run: assay.RunID(number(f[0])), Seq: int64(number(f[1])), Content: assay.ContentKey(number(f[2])), Session: assay.SessionKey(number(f[3])),
		Stratum: number(f[4]), State: assay.ItemState(f[5]), Class: assay.Class(f[6]), Reused: f[8] == "1", Cut: f[9] == "1",
		User: f[10], Case: f[11], AgentVersion: f[12], Source: f[13], RootSeq: int64(number(f[14])),
	}
	if f[7] != "" {
		pass := f[7] == "1"
		out.Pass = &pass
	}
	return nil
}

func (e extracts) Findings(ctx context.Context, chain []assay.RunID, judge int, through int64, f func(*store.ExtractFinding) error) error {
	if len(chain) == 0 {
		return nil
	}
	where, args := firstOf(chain, judge, through)
	var out store.ExtractFinding
	return e.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			parseFinding(r.text(0), &out)
			return f(&out)
		}, `SELECT concat_ws(char(0), i.content_id, v.criterion, v.applies, v.abstained,
			coalesce(v.evidence NOT IN ('null', '[]'), 0), coalesce(instr(v.evidence, '"verified":false') > 0, 0), coalesce(v.value, ''), v.reason)
			FROM items i CROSS JOIN verdicts v ON v.run_id = i.origin_run AND v.seq = i.origin_seq AND v.unit = ''
			WHERE `+where+" AND i.state = 'graded' AND v.criterion <> ''", args...)
	})
}

// parseFinding reads a finding in one text. The reason is all of the rest.
func parseFinding(text string, out *store.ExtractFinding) {
	var f [7]string
	rest := text
	for i := range f {
		f[i], rest, _ = strings.Cut(rest, "\x00")
	}
	*out = store.ExtractFinding{
		Content: assay.ContentKey(number(f[0])), Criterion: f[1], Applies: f[2] == "1", Abstained: f[3] == "1",
		Quoted: f[4] == "1", Unverified: f[5] == "1", Value: f[6], Reason: rest,
	}
}

func (e extracts) Calls(ctx context.Context, chain []assay.RunID, judge int, f func(*store.ExtractCall) error) error {
	if len(chain) == 0 {
		return nil
	}
	var out store.ExtractCall
	return e.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			out = store.ExtractCall{N: int(r.int(0)), Wait: time.Duration(r.int(1)), Delay: micros(r.int(2)), Call: micros(r.int(3)), Class: assay.Class(r.text(4))}
			return f(&out)
		}, `SELECT a.n, a.wait, a.call_at - a.opened_at, a.ended_at - a.call_at, a.class
			FROM json_each(?) r CROSS JOIN attempts a ON a.run_id = r.value CROSS JOIN items i ON i.run_id = a.run_id AND i.seq = a.seq AND i.judge = ?
			WHERE a.status = 'done' AND a.call_at IS NOT NULL AND a.ended_at IS NOT NULL`, toJSON(chain64(chain)), judge)
	})
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

func (e extracts) Get(ctx context.Context, run assay.RunID, judge, format int) (kept []byte, found bool, err error) {
	err = e.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			kept, found = r.blob(0), true
			return nil
		}, "SELECT kept FROM extracts WHERE run_id = ? AND judge = ? AND format = ?", run, judge, format)
	})
	return kept, found, err
}

func (e extracts) Keep(ctx context.Context, run assay.RunID, judge, format int, kept []byte, now time.Time) error {
	return e.s.write.do(ctx, forPlan, func(t tx) error {
		_, err := t.exec(`INSERT INTO extracts (run_id, judge, format, made_at, kept)
			SELECT id, ?, ?, ?, ? FROM runs WHERE id = ? AND state IN ('completed', 'failed', 'cancelled', 'lost')
			ON CONFLICT (run_id, judge) DO UPDATE SET format = excluded.format, made_at = excluded.made_at, kept = excluded.kept`,
			judge, format, now, kept, run)
		return err
	})
}

func (e extracts) Said(ctx context.Context, items []assay.Origin) (map[assay.Origin][]store.ExtractFinding, error) {
	said := make(map[assay.Origin][]store.ExtractFinding, len(items))
	err := e.s.read.do(ctx, func(c *conn) error {
		for _, it := range items {
			if err := c.query(ctx, func(r row) error {
				said[it] = append(said[it], store.ExtractFinding{
					Content: assay.ContentKey(r.int(0)), Criterion: r.text(1), Applies: r.bool(2), Abstained: r.bool(3), Value: r.text(4), Reason: r.text(5),
				})
				return nil
			}, `SELECT i.content_id, v.criterion, v.applies, v.abstained, v.value, v.reason
				FROM items i CROSS JOIN verdicts v ON v.run_id = i.origin_run AND v.seq = i.origin_seq AND v.unit = ''
				WHERE i.run_id = ? AND i.seq = ? AND i.state = 'graded' AND v.criterion <> '' ORDER BY v.no`, it.Run, it.Seq); err != nil {
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
	err := e.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			names[assay.ContentKey(r.int(0))] = store.ExtractName{UserID: r.text(1), SessionID: r.text(2), ContentHash: assay.Hash(r.text(3))}
			return nil
		}, `SELECT c.id, s.user_id, s.session_id, c.hash FROM json_each(?) w CROSS JOIN contents c ON c.id = w.value
			CROSS JOIN sessions s ON s.id = c.session_key`, toJSON(contents))
	})
	return names, err
}

// forgetExtracts drops what was kept of a run whose attempts change although it ended, and of those that retry it:
// retries have higher numbers, and what is dropped needlessly is made anew.
func forgetExtracts(t tx, run assay.RunID) error {
	_, err := t.exec("DELETE FROM extracts WHERE run_id >= ?", run)
	return err
}
