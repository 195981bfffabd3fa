package sqlite

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type suites struct{ s *Store }

const suiteColumns = "name, version, definition, source, updated_at"

func scanSuite(r row) (assay.Suite, error) {
	s := assay.Suite{Name: r.text(0), Version: assay.Hash(r.text(1)), Source: r.text(3), UpdatedAt: r.time(4)}
	return s, store.Decode(r.json(2), &s.Def, "the definition of suite "+s.Name)
}

func (s suites) Apply(ctx context.Context, project assay.ProjectID, list []assay.Suite, now time.Time) (changed []bool, err error) {
	err = s.s.write.do(ctx, forAsk, func(t tx) error {
		if _, err := getProject(ctx, t.conn, project); err != nil {
			return err
		}
		changed = make([]bool, len(list))
		for i, suite := range list {
			if changed[i], err = applySuite(ctx, t, project, suite, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

func applySuite(ctx context.Context, t tx, project assay.ProjectID, suite assay.Suite, now time.Time) (changed bool, err error) {
	definition, err := store.Encode(suite.Def, "the definition of suite "+suite.Name)
	if err != nil {
		return false, err
	}
	var version, def, source string
	if _, err := t.first(ctx, func(r row) error { version, def, source = r.text(0), r.text(1), r.text(2); return nil },
		"SELECT version, definition, source FROM suites WHERE project_id = ? AND name = ?", project, suite.Name); err != nil {
		return false, err
	}
	if version == string(suite.Version) && def == clean(definition) && source == clean(suite.Source) {
		return false, nil
	}
	if _, err := t.exec(`INSERT INTO suites (project_id, name, version, definition, source, updated_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (project_id, name) DO UPDATE SET version = excluded.version, definition = excluded.definition, source = excluded.source,
		updated_at = excluded.updated_at`, project, suite.Name, suite.Version, definition, suite.Source, now); err != nil {
		return false, err
	}
	if version == string(suite.Version) {
		return true, nil
	}
	_, err = t.exec("INSERT INTO suite_changes (project_id, name, version, definition, applied_at) VALUES (?, ?, ?, ?, ?)",
		project, suite.Name, suite.Version, definition, now)
	return true, err
}

func (s suites) Get(ctx context.Context, project assay.ProjectID, name string) (suite assay.Suite, err error) {
	err = s.s.read.do(ctx, func(c *conn) error {
		found, err := c.first(ctx, func(r row) (err error) {
			suite, err = scanSuite(r)
			return err
		}, "SELECT "+suiteColumns+" FROM suites WHERE project_id = ? AND name = ?", project, name)
		if err == nil && !found {
			err = noSuite(ctx, c, project, name)
		}
		return err
	})
	return suite, err
}

func noSuite(ctx context.Context, c *conn, project assay.ProjectID, name string) error {
	known, err := namesOf(ctx, c, "SELECT name FROM suites WHERE project_id = ? ORDER BY name", project)
	if err != nil {
		return err
	}
	return store.NoSuite(name, known)
}

func namesOf(ctx context.Context, c *conn, query string, project assay.ProjectID) (names []string, err error) {
	err = c.query(ctx, func(r row) error { names = append(names, r.text(0)); return nil }, query, project)
	return names, err
}

func (s suites) Delete(ctx context.Context, project assay.ProjectID, name string) error {
	return s.s.write.do(ctx, forAsk, func(t tx) error {
		n, err := t.exec("DELETE FROM suites WHERE project_id = ? AND name = ?", project, name)
		if err == nil && n == 0 {
			err = noSuite(ctx, t.conn, project, name)
		}
		return err
	})
}

func (s suites) List(ctx context.Context, project assay.ProjectID) (list []assay.Suite, err error) {
	err = s.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			suite, err := scanSuite(r)
			list = append(list, suite)
			return err
		}, "SELECT "+suiteColumns+" FROM suites WHERE project_id = ? ORDER BY name", project)
	})
	return list, err
}

func (s suites) History(ctx context.Context, project assay.ProjectID, name string) (list []store.SuiteChange, err error) {
	err = s.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			change := store.SuiteChange{Version: assay.Hash(r.text(0)), AppliedAt: r.time(2)}
			err := store.Decode(r.json(1), &change.Def, "a definition of suite "+name)
			list = append(list, change)
			return err
		}, "SELECT version, definition, applied_at FROM suite_changes WHERE project_id = ? AND name = ? ORDER BY id DESC", project, name)
	})
	return list, err
}

// newestRuns steps from name to name, so that it reads as many rows as there are names, not runs.
const newestRuns = `WITH RECURSIVE names (suite) AS (SELECT min(suite) FROM suite_runs WHERE project_id = ?1
	UNION ALL SELECT (SELECT min(u.suite) FROM suite_runs u WHERE u.project_id = ?1 AND u.suite > n.suite) FROM names n WHERE n.suite IS NOT NULL)
	SELECT (SELECT max(u.run_id) FROM suite_runs u WHERE u.project_id = ?1 AND u.suite = n.suite) FROM names n WHERE n.suite IS NOT NULL`

func (s suites) Newest(ctx context.Context, project assay.ProjectID) (map[string]assay.Run, error) {
	newest := map[string]assay.Run{}
	err := s.s.read.view(ctx, func(c *conn) error {
		var ids []int64
		if err := c.query(ctx, func(r row) error { ids = append(ids, r.int(0)); return nil }, newestRuns, project); err != nil {
			return err
		}
		for _, id := range ids {
			run, err := getRun(ctx, c, assay.RunID(id))
			if err != nil {
				return err
			}
			newest[run.Suite.Name] = headOf(run)
		}
		return nil
	})
	return newest, err
}
