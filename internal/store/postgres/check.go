package postgres

import (
	"context"
	"fmt"
)

// checks are the standing checks: each row that one returns is a finding, told by its format.
var checks = [...]struct{ format, query string }{
	{"session %s has %s items in run r%s under one judge version and repeat",
		`SELECT i.session_key, count(*), i.run_id FROM items i GROUP BY i.run_id, i.session_key, i.content_id, i.version_key, i.repeat HAVING count(*) > 1`},
	{"run r%s is %s and still holds the key %s",
		`SELECT r.id, r.state, k.key FROM run_keys k JOIN runs r ON r.id = k.run_id WHERE r.state NOT IN ('queued', 'running', 'paused')`},
	{"the key %s of project %s is held by a run that does not exist%s",
		`SELECT k.key, k.project_id, '' FROM run_keys k LEFT JOIN runs r ON r.id = k.run_id WHERE r.id IS NULL`},
	{"run r%s is grading or has graded with %s items where its plan has %s",
		`SELECT * FROM (SELECT r.id, (SELECT count(*) FROM items i WHERE i.run_id = r.id) AS have, r.planned FROM runs r
		WHERE r.phase IN ('grading', 'finishing')) x WHERE have <> planned`},
	{"run r%s is %s and still has %s pending items",
		`SELECT r.id, r.state, count(*) FROM runs r JOIN items i ON i.run_id = r.id AND i.state = 'pending'
		WHERE r.state NOT IN ('queued', 'running', 'paused') GROUP BY r.id`},
	{"item %s of run r%s has a state that does not exist: %s",
		`SELECT seq, run_id, state FROM items WHERE state NOT IN ('pending', 'graded', 'errored', 'ungradable', 'cancelled', 'abandoned')`},
	{"item %s of run r%s is graded without a stored verdict%s",
		`SELECT i.seq, i.run_id, '' FROM items i WHERE i.state = 'graded'
		AND NOT EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = i.origin_run AND v.seq = i.origin_seq AND v.unit = '')`},
	{"item %s of run r%s is %s and has a verdict of its own",
		`SELECT i.seq, i.run_id, i.state FROM items i WHERE i.state <> 'graded' AND EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = i.run_id AND v.seq = i.seq AND v.unit = '')`},
	{"item %s of run r%s is %s without an end",
		`SELECT seq, run_id, state FROM items WHERE state <> 'pending' AND ended_at IS NULL`},
	{"item %s of run r%s is %s and is marked as cut",
		`SELECT seq, run_id, state FROM items WHERE cut AND state <> 'graded'`},
	{"item %s of run r%s adopted a verdict of run r%s and says otherwise whether its transcript was cut",
		`SELECT i.seq, i.run_id, o.run_id FROM items i JOIN items o ON o.run_id = i.origin_run AND o.seq = i.origin_seq
		WHERE i.state = 'graded' AND i.cut <> o.cut`},
	{"an attempt of item %s of run r%s has an amount that cannot be: %s",
		`SELECT seq, run_id, coalesce(cost, reserved) FROM attempts WHERE cost < 0 OR reserved < 0 OR (cost > 0 AND status = 'done' AND call_at IS NULL)`},
	{"run r%s is %s and has %s items where its results have another number",
		`SELECT id, kind, have FROM (SELECT r.id, r.kind, (SELECT count(*) FROM items i WHERE i.run_id = r.id) AS have, r.planned FROM runs r
		WHERE r.kind IN ('suite', 'external')) x WHERE have <> planned`},
	{"run r%s is %s and has no facts%s",
		`SELECT r.id, r.kind, '' FROM runs r LEFT JOIN suite_runs u ON u.run_id = r.id LEFT JOIN suite_facts f ON f.run_id = r.id
		WHERE r.kind IN ('suite', 'external') AND (u.run_id IS NULL OR f.run_id IS NULL)`},
	{"item %s of run r%s is of no session and is no case%s",
		`SELECT i.seq, i.run_id, '' FROM items i LEFT JOIN cases c ON c.run_id = i.run_id AND c.seq = i.seq WHERE i.session_key = 0 AND c.seq IS NULL`},
	{"case %s of run r%s has no item%s",
		`SELECT c.seq, c.run_id, '' FROM cases c LEFT JOIN items i ON i.run_id = c.run_id AND i.seq = c.seq WHERE i.seq IS NULL`},
	{"session %s of project %s has no present content%s",
		`SELECT s.id, s.project_id, '' FROM sessions s LEFT JOIN contents c ON c.id = s.content_id AND c.session_key = s.id WHERE c.id IS NULL`},
	{"a deletion of project %s was cut: delete any project to finish it%s%s", `SELECT id, '', '' FROM projects WHERE deleting`},
	{"index %s of table %s is not valid%s", `SELECT indexrelid::regclass, indrelid::regclass, '' FROM pg_index
		WHERE NOT indisvalid AND indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace)`},
}

// maxFindings bounds what one check tells.
const maxFindings = 20

// Check reads whole tables, so it plans for that.
func (s *Store) Check(ctx context.Context) (findings []string, err error) {
	err = s.snapshot(ctx, func(c conn) error {
		if _, err := c.Exec(ctx, "SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on"); err != nil {
			return err
		}
		for _, check := range checks {
			var a, b, d string
			if err := c.each(ctx, func() error {
				findings = append(findings, fmt.Sprintf(check.format, a, b, d))
				return nil
			}, "SELECT a::text, b::text, c::text FROM ("+check.query+") x (a, b, c) LIMIT $1", []any{maxFindings}, &a, &b, &d); err != nil {
				return err
			}
		}
		return nil
	})
	return findings, err
}
