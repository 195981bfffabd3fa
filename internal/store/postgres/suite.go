package postgres

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type suites struct{ *Store }

const suiteColumns = "name, version, definition, source, updated_at"

func suiteInto(s *assay.Suite) []any {
	return []any{&s.Name, textTo(&s.Version), asJSON{&s.Def}, &s.Source, asTime{&s.UpdatedAt}}
}

func (s suites) Apply(ctx context.Context, project assay.ProjectID, list []assay.Suite, now time.Time) (changed []bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t tx) error {
		// Two who apply at once take turns, so that the history tells what happened.
		if _, err := lockProject(ctx, t, project, "FOR NO KEY UPDATE"); err != nil {
			return err
		}
		changed = make([]bool, len(list))
		for i, suite := range list {
			var err error
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
	if _, err := t.first(ctx, "SELECT version, definition, source FROM suites WHERE project_id = $1 AND name = $2",
		[]any{project, suite.Name}, &version, &def, &source); err != nil {
		return false, err
	}
	if version == string(suite.Version) && def == clean(definition) && source == clean(suite.Source) {
		return false, nil
	}
	if _, err := t.exec(ctx, `INSERT INTO suites (project_id, name, version, definition, source, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (project_id, name) DO UPDATE SET version = excluded.version, definition = excluded.definition, source = excluded.source,
		updated_at = excluded.updated_at`, project, suite.Name, suite.Version, definition, suite.Source, now); err != nil {
		return false, err
	}
	if version == string(suite.Version) {
		return true, nil
	}
	_, err = t.exec(ctx, "INSERT INTO suite_changes (project_id, name, version, definition, applied_at) VALUES ($1, $2, $3, $4, $5)",
		project, suite.Name, suite.Version, definition, now)
	return true, err
}

func (s suites) Get(ctx context.Context, project assay.ProjectID, name string) (suite assay.Suite, err error) {
	err = s.read(ctx, func(ctx context.Context, c conn) error {
		suite = assay.Suite{}
		found, err := c.first(ctx, "SELECT "+suiteColumns+" FROM suites WHERE project_id = $1 AND name = $2", []any{project, name}, suiteInto(&suite)...)
		if err == nil && !found {
			err = noSuite(ctx, c, project, name)
		}
		return err
	})
	return suite, err
}

func noSuite(ctx context.Context, c conn, project assay.ProjectID, name string) error {
	known, err := namesOf(ctx, c, "SELECT name FROM suites WHERE project_id = $1 ORDER BY name", project)
	if err != nil {
		return err
	}
	return store.NoSuite(name, known)
}

func namesOf(ctx context.Context, c conn, query string, project assay.ProjectID) ([]string, error) {
	return collect(ctx, c, func(name *string) []any { return []any{name} }, query, project)
}

func (s suites) Delete(ctx context.Context, project assay.ProjectID, name string) error {
	return s.write(ctx, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, "DELETE FROM suites WHERE project_id = $1 AND name = $2", project, name)
		if err == nil && n == 0 {
			err = noSuite(ctx, t.conn, project, name)
		}
		return err
	})
}

func (s suites) List(ctx context.Context, project assay.ProjectID) (list []assay.Suite, err error) {
	err = s.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, suiteInto, "SELECT "+suiteColumns+" FROM suites WHERE project_id = $1 ORDER BY name", project)
		return err
	})
	return list, err
}

func (s suites) History(ctx context.Context, project assay.ProjectID, name string) (list []store.SuiteChange, err error) {
	err = s.read(ctx, func(ctx context.Context, c conn) (err error) {
		into := func(h *store.SuiteChange) []any {
			return []any{textTo(&h.Version), asJSON{&h.Def}, asTime{&h.AppliedAt}}
		}
		list, err = collect(ctx, c, into, `SELECT version, definition, applied_at FROM suite_changes WHERE project_id = $1 AND name = $2
			ORDER BY id DESC`, project, name)
		return err
	})
	return list, err
}

// newestRuns steps from name to name, so that it reads as many rows as there are names, not runs. A suite is
// asked for as a range, as in listRuns.
const newestRuns = `WITH RECURSIVE names (suite) AS ((SELECT min(suite) FROM suite_runs WHERE project_id = $1)
	UNION ALL SELECT (SELECT min(u.suite) FROM suite_runs u WHERE u.project_id = $1 AND u.suite > n.suite) FROM names n WHERE n.suite IS NOT NULL)
	SELECT (SELECT u.run_id FROM suite_runs u WHERE u.project_id = $1 AND u.suite >= n.suite AND u.suite <= n.suite ORDER BY u.suite DESC, u.run_id DESC LIMIT 1)
	FROM names n WHERE n.suite IS NOT NULL`

func (s suites) Newest(ctx context.Context, project assay.ProjectID) (newest map[string]assay.Run, err error) {
	err = s.read(ctx, func(ctx context.Context, c conn) error {
		ids, err := collect(ctx, c, func(id *int64) []any { return []any{id} }, newestRuns, project)
		if err != nil {
			return err
		}
		list, err := collect(ctx, c, runHeadInto, runSelect+" WHERE r.id = ANY($1)", ids)
		if err != nil {
			return err
		}
		newest = make(map[string]assay.Run, len(list))
		for _, run := range list {
			newest[run.Suite.Name] = run
		}
		return nil
	})
	return newest, err
}
