package sqlite

import (
	"context"
	"fmt"
)

// checks are the standing checks: each row that one returns is a finding, told by its format.
var checks = [...]struct{ format, query string }{
	{"session %v has %v items in run r%v under one judge version and repeat",
		`SELECT i.session_key, count(*), i.run_id FROM items i GROUP BY i.run_id, i.session_key, i.content_id, i.version_key, i.repeat HAVING count(*) > 1`},
	{"run r%v is %v and still holds the key %v",
		`SELECT r.id, r.state, k.key FROM run_keys k JOIN runs r ON r.id = k.run_id WHERE r.state NOT IN ('queued', 'running', 'paused')`},
	{"the key %v of project %v is held by a run that does not exist%v",
		`SELECT k.key, k.project_id, '' FROM run_keys k LEFT JOIN runs r ON r.id = k.run_id WHERE r.id IS NULL`},
	{"run r%v is grading or has graded with %v items where its plan has %v",
		`SELECT r.id, (SELECT count(*) FROM items i WHERE i.run_id = r.id) AS have, r.planned FROM runs r
		WHERE r.phase IN ('grading', 'finishing') AND have <> r.planned`},
	{"run r%v is %v and still has %v pending items",
		`SELECT r.id, r.state, count(*) FROM runs r JOIN items i ON i.run_id = r.id AND i.state = 'pending'
		WHERE r.state NOT IN ('queued', 'running', 'paused') GROUP BY r.id`},
	{"item %v of run r%v has a state that does not exist: %v",
		`SELECT seq, run_id, state FROM items WHERE state NOT IN ('pending', 'graded', 'errored', 'ungradable', 'cancelled', 'abandoned')`},
	{"item %v of run r%v is graded without a stored verdict%v",
		`SELECT i.seq, i.run_id, '' FROM items i WHERE i.state = 'graded'
		AND NOT EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = i.origin_run AND v.seq = i.origin_seq AND v.unit = '')`},
	{"item %v of run r%v is %v and has a verdict of its own",
		`SELECT i.seq, i.run_id, i.state FROM items i WHERE i.state <> 'graded' AND EXISTS (SELECT 1 FROM verdicts v WHERE v.run_id = i.run_id AND v.seq = i.seq AND v.unit = '')`},
	{"item %v of run r%v is %v without an end",
		`SELECT seq, run_id, state FROM items WHERE state <> 'pending' AND ended_at IS NULL`},
	{"item %v of run r%v is %v and is marked as cut",
		`SELECT seq, run_id, state FROM items WHERE cut AND state <> 'graded'`},
	{"item %v of run r%v adopted a verdict of run r%v and says otherwise whether its transcript was cut",
		`SELECT i.seq, i.run_id, o.run_id FROM items i JOIN items o ON o.run_id = i.origin_run AND o.seq = i.origin_seq
		WHERE i.state = 'graded' AND i.cut <> o.cut`},
	{"an attempt of item %v of run r%v has an amount that cannot be: %v",
		`SELECT seq, run_id, coalesce(cost, reserved) FROM attempts WHERE cost < 0 OR reserved < 0 OR (cost > 0 AND status = 'done' AND call_at IS NULL)`},
	{"run r%v is %v and has %v items where its results have another number",
		`SELECT r.id, r.kind, (SELECT count(*) FROM items i WHERE i.run_id = r.id) AS have FROM runs r WHERE r.kind IN ('suite', 'external') AND have <> r.planned`},
	{"run r%v is %v and has no facts%v",
		`SELECT r.id, r.kind, '' FROM runs r LEFT JOIN suite_runs u ON u.run_id = r.id LEFT JOIN suite_facts f ON f.run_id = r.id
		WHERE r.kind IN ('suite', 'external') AND (u.run_id IS NULL OR f.run_id IS NULL)`},
	{"item %v of run r%v is of no session and is no case%v",
		`SELECT i.seq, i.run_id, '' FROM items i LEFT JOIN cases c ON c.run_id = i.run_id AND c.seq = i.seq WHERE i.session_key = 0 AND c.seq IS NULL`},
	{"case %v of run r%v has no item%v",
		`SELECT c.seq, c.run_id, '' FROM cases c LEFT JOIN items i ON i.run_id = c.run_id AND i.seq = c.seq WHERE i.seq IS NULL`},
	{"session %v of project %v has no present content%v",
		`SELECT s.id, s.project_id, '' FROM sessions s LEFT JOIN contents c ON c.id = s.content_id AND c.session_key = s.id WHERE c.id IS NULL`},
	{"a deletion of project %v was cut: delete any project to finish it%v%v", `SELECT id, '', '' FROM projects WHERE deleting`},
}

// maxFindings bounds what one check tells.
const maxFindings = 20

func (s *Store) Check(ctx context.Context) (findings []string, err error) {
	err = s.read.view(ctx, func(c *conn) error {
		for _, query := range [...]string{"PRAGMA quick_check(20)", "SELECT 'a row of ' || \"table\" || ' names a row of ' || parent || ' that does not exist' FROM pragma_foreign_key_check LIMIT 20"} {
			if err := c.query(ctx, func(r row) error {
				if text := r.text(0); text != "ok" {
					findings = append(findings, text)
				}
				return nil
			}, query); err != nil {
				return err
			}
		}
		for _, check := range checks {
			if err := c.query(ctx, func(r row) error {
				findings = append(findings, fmt.Sprintf(check.format, r[0], r[1], r[2]))
				return nil
			}, check.query+" LIMIT ?", maxFindings); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return findings, err
	}
	return findings, nil
}
