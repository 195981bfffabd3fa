package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"assay/internal/assay"
)

type projects struct{ s *Store }

const projectColumns = "id, name, settings, rekeying, created_at"

func scanProject(r row) (assay.Project, error) {
	p := assay.Project{ID: assay.ProjectID(r.int(0)), Name: r.text(1), Rekeying: r.bool(3), CreatedAt: r.time(4)}
	if err := json.Unmarshal(r.json(2), &p.Settings); err != nil {
		return p, assay.Errorf(assay.CodeInternal, "read the settings of project %s: %w", p.Name, err)
	}
	return p, nil
}

func (p projects) Create(ctx context.Context, name string, s assay.Settings, now time.Time) (project assay.Project, err error) {
	err = p.s.write.do(ctx, forAsk, func(t tx) error {
		id, err := t.insert("INSERT INTO projects (name, settings, created_at) VALUES (?, ?, ?)", name, toJSON(s), now)
		if violates(err) {
			return assay.Errorf(assay.CodeConflict, "project %s exists already", name).WithHint("choose another name")
		}
		if err != nil {
			return err
		}
		project, err = getProject(ctx, t.conn, assay.ProjectID(id))
		return err
	})
	return project, err
}

func (p projects) Get(ctx context.Context, name string) (project assay.Project, err error) {
	err = p.s.read.do(ctx, func(c *conn) error {
		found, err := c.first(ctx, func(r row) (err error) {
			project, err = scanProject(r)
			return err
		}, "SELECT "+projectColumns+" FROM projects WHERE name = ? AND NOT deleting", name)
		if err == nil && !found {
			err = notFound("there is no project %s", name).WithHint("`assay project list` shows them")
		}
		return err
	})
	return project, err
}

func (p projects) List(ctx context.Context) (list []assay.Project, err error) {
	err = p.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			project, err := scanProject(r)
			list = append(list, project)
			return err
		}, "SELECT "+projectColumns+" FROM projects WHERE NOT deleting ORDER BY name")
	})
	return list, err
}

func (p projects) Update(ctx context.Context, id assay.ProjectID, s assay.Settings, rekey bool) (project assay.Project, err error) {
	err = p.s.write.do(ctx, forAsk, func(t tx) error {
		if _, err := t.exec("UPDATE projects SET settings = ?, rekeying = rekeying OR ? WHERE id = ? AND NOT deleting", toJSON(s), rekey, id); err != nil {
			return err
		}
		project, err = getProject(ctx, t.conn, id)
		return err
	})
	return project, err
}

func (p projects) Rekeyed(ctx context.Context, id assay.ProjectID, s assay.Settings) (done bool, err error) {
	err = p.s.write.do(ctx, forAsk, func(t tx) error {
		project, err := getProject(ctx, t.conn, id)
		if err != nil || toJSON(project.Settings) != toJSON(s) {
			return err
		}
		done = true
		_, err = t.exec("UPDATE projects SET rekeying = 0 WHERE id = ?", id)
		return err
	})
	return done, err
}

func getProject(ctx context.Context, c *conn, id assay.ProjectID) (project assay.Project, err error) {
	found, err := c.first(ctx, func(r row) (err error) {
		project, err = scanProject(r)
		return err
	}, "SELECT "+projectColumns+" FROM projects WHERE id = ? AND NOT deleting", id)
	if err == nil && !found {
		err = notFound("there is no project with number %d", id).WithHint("it was deleted; `assay project list` shows those that exist")
	}
	return project, err
}

// Delete hides the project first, in the transaction that finds no active run, and then removes its
// rows in batches. A deletion that was cut is finished by the next one of any project.
func (p projects) Delete(ctx context.Context, id assay.ProjectID, leaving func(context.Context, assay.ProjectID) error) error {
	err := p.s.write.do(ctx, forAsk, func(t tx) error {
		project, err := getProject(ctx, t.conn, id)
		if err != nil {
			return err
		}
		var run assay.RunID
		var state string
		if _, err := t.first(ctx, func(r row) error {
			run, state = assay.RunID(r.int(0)), r.text(1)
			return nil
		}, "SELECT id, state FROM runs WHERE state IN ('queued', 'running', 'paused') AND project_id = ?", id); err != nil {
			return err
		}
		if run != 0 {
			return assay.Errorf(assay.CodeRefused, "project %s has an active run: %s is %s", project.Name, run, state).
				WithHint("end it first: `assay cancel %s`", run).With("run", run.String()).With("state", state)
		}
		_, err = t.exec("UPDATE projects SET deleting = 1, name = ? WHERE id = ?", fmt.Sprintf("deleted %d", id), id)
		return err
	})
	if err != nil {
		return err
	}
	var ids []assay.ProjectID
	if err := p.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			ids = append(ids, assay.ProjectID(r.int(0)))
			return nil
		}, "SELECT id FROM projects WHERE deleting")
	}); err != nil {
		return err
	}
	for _, id := range ids {
		if leaving != nil {
			if err := leaving(ctx, id); err != nil {
				return err
			}
		}
		if err := p.remove(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// deletions remove a project, children first; each takes the project and the size of a batch. The
// sessions are gone by then.
var deletions = [...]string{
	"DELETE FROM labels WHERE id IN (SELECT id FROM labels WHERE project_id = ? LIMIT ?)",
	"DELETE FROM draw_members WHERE (draw_id, no) IN (SELECT m.draw_id, m.no FROM draws d JOIN draw_members m ON m.draw_id = d.id WHERE d.project_id = ? LIMIT ?)",
	"DELETE FROM draws WHERE id IN (SELECT id FROM draws WHERE project_id = ? LIMIT ?)",
	"DELETE FROM set_members WHERE (set_id, session_key) IN (SELECT m.set_id, m.session_key FROM sets s JOIN set_members m ON m.set_id = s.id WHERE s.project_id = ? LIMIT ?)",
	"DELETE FROM sets WHERE id IN (SELECT id FROM sets WHERE project_id = ? LIMIT ?)",
	"DELETE FROM verdicts WHERE (run_id, seq) IN (SELECT v.run_id, v.seq FROM runs r JOIN verdicts v ON v.run_id = r.id WHERE r.project_id = ? LIMIT ?)",
	"DELETE FROM attempts WHERE (run_id, seq) IN (SELECT a.run_id, a.seq FROM runs r JOIN attempts a ON a.run_id = r.id WHERE r.project_id = ? LIMIT ?)",
	"DELETE FROM items WHERE (run_id, seq) IN (SELECT i.run_id, i.seq FROM runs r JOIN items i ON i.run_id = r.id WHERE r.project_id = ? LIMIT ?)",
	"DELETE FROM cases WHERE (run_id, seq) IN (SELECT c.run_id, c.seq FROM runs r JOIN cases c ON c.run_id = r.id WHERE r.project_id = ? LIMIT ?)",
	"DELETE FROM points WHERE (run_id, name, n) IN (SELECT p.run_id, p.name, p.n FROM runs r JOIN points p ON p.run_id = r.id WHERE r.project_id = ? LIMIT ?)",
	"DELETE FROM extracts WHERE (run_id, judge) IN (SELECT e.run_id, e.judge FROM runs r JOIN extracts e ON e.run_id = r.id WHERE r.project_id = ? LIMIT ?)",
	"DELETE FROM strata WHERE (run_id, stratum) IN (SELECT s.run_id, s.stratum FROM runs r JOIN strata s ON s.run_id = r.id WHERE r.project_id = ? LIMIT ?)",
	"DELETE FROM run_judges WHERE (run_id, judge) IN (SELECT j.run_id, j.judge FROM runs r JOIN run_judges j ON j.run_id = r.id WHERE r.project_id = ? LIMIT ?)",
	"DELETE FROM run_specs WHERE run_id IN (SELECT p.run_id FROM runs r JOIN run_specs p ON p.run_id = r.id WHERE r.project_id = ? LIMIT ?)",
	"DELETE FROM suite_facts WHERE run_id IN (SELECT f.run_id FROM runs r JOIN suite_facts f ON f.run_id = r.id WHERE r.project_id = ? LIMIT ?)",
	"DELETE FROM suite_runs WHERE run_id IN (SELECT u.run_id FROM runs r JOIN suite_runs u ON u.run_id = r.id WHERE r.project_id = ? LIMIT ?)",
	"DELETE FROM run_keys WHERE (project_id, key) IN (SELECT project_id, key FROM run_keys WHERE project_id = ? LIMIT ?)",
	"DELETE FROM idempotency WHERE (project_id, route, key) IN (SELECT project_id, route, key FROM idempotency WHERE project_id = ? LIMIT ?)",
	"DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE project_id = ? LIMIT ?)",
	"DELETE FROM version_keys WHERE id IN (SELECT id FROM version_keys WHERE project_id = ? LIMIT ?)",
	"DELETE FROM suite_changes WHERE id IN (SELECT id FROM suite_changes WHERE project_id = ? LIMIT ?)",
	"DELETE FROM suites WHERE (project_id, name) IN (SELECT project_id, name FROM suites WHERE project_id = ? LIMIT ?)",
	"DELETE FROM schedules WHERE id IN (SELECT id FROM schedules WHERE project_id = ? LIMIT ?)",
	"DELETE FROM judge_changes WHERE id IN (SELECT id FROM judge_changes WHERE project_id = ? LIMIT ?)",
	"DELETE FROM judges WHERE (project_id, name) IN (SELECT project_id, name FROM judges WHERE project_id = ? LIMIT ?)",
	"DELETE FROM judge_versions WHERE (project_id, hash) IN (SELECT project_id, hash FROM judge_versions WHERE project_id = ? LIMIT ?)",
	"DELETE FROM seen WHERE id IN (SELECT id FROM seen WHERE project_id = ? LIMIT ?)",
	"DELETE FROM rejects WHERE (import_id, no) IN (SELECT r.import_id, r.no FROM imports i JOIN rejects r ON r.import_id = i.id WHERE i.project_id = ? LIMIT ?)",
	"DELETE FROM imports WHERE id IN (SELECT id FROM imports WHERE project_id = ? LIMIT ?)",
	"DELETE FROM projects WHERE id IN (SELECT id FROM projects WHERE id = ? LIMIT ?)",
}

const deleteBatch = 1000

func (p projects) remove(ctx context.Context, id assay.ProjectID) error {
	if err := p.inBatches(ctx, func(t tx) (int64, error) { return removeSessions(ctx, t, id) }); err != nil {
		return err
	}
	for _, query := range deletions {
		if err := p.inBatches(ctx, func(t tx) (int64, error) { return t.exec(query, id, deleteBatch) }); err != nil {
			return err
		}
	}
	return nil
}

// inBatches repeats f, a transaction each time, until it finds nothing more to do.
func (p projects) inBatches(ctx context.Context, f func(tx) (int64, error)) error {
	for n := int64(1); n > 0; {
		if err := p.s.write.do(ctx, forImport, func(t tx) (err error) {
			n, err = f(t)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// removeSessions removes some sessions with all that hangs on them.
func removeSessions(ctx context.Context, t tx, project assay.ProjectID) (int64, error) {
	var keys []int64
	if err := t.query(ctx, func(r row) error { keys = append(keys, r.int(0)); return nil },
		"SELECT id FROM sessions WHERE project_id = ? LIMIT ?", project, deleteBatch/2); err != nil {
		return 0, err
	}
	for _, key := range keys {
		for _, query := range [...]string{
			"DELETE FROM labels WHERE content_id IN (SELECT id FROM contents WHERE session_key = ?)",
			"DELETE FROM bodies WHERE content_id IN (SELECT id FROM contents WHERE session_key = ?)",
			"DELETE FROM contents WHERE session_key = ?",
			"DELETE FROM sessions WHERE id = ?",
		} {
			if _, err := t.exec(query, key); err != nil {
				return 0, err
			}
		}
	}
	return int64(len(keys)), nil
}
