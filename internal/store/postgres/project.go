package postgres

import (
	"context"
	"fmt"
	"time"

	"assay/internal/assay"
)

type projects struct{ *Store }

const projectColumns = "id, name, settings, rekeying, created_at"

func projectInto(p *assay.Project) []any {
	return []any{intTo(&p.ID), &p.Name, asJSON{&p.Settings}, &p.Rekeying, asTime{&p.CreatedAt}}
}

func (p projects) Create(ctx context.Context, name string, s assay.Settings, now time.Time) (project assay.Project, err error) {
	err = p.write(ctx, func(ctx context.Context, t tx) error {
		project = assay.Project{}
		found, err := t.first(ctx, "INSERT INTO projects (name, settings, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING RETURNING "+projectColumns,
			[]any{name, *toJSON(s), now}, projectInto(&project)...)
		if err == nil && !found {
			err = assay.Errorf(assay.CodeConflict, "project %s exists already", name).WithHint("choose another name")
		}
		return err
	})
	return project, err
}

func (p projects) Get(ctx context.Context, name string) (project assay.Project, err error) {
	err = p.read(ctx, func(ctx context.Context, c conn) error {
		project = assay.Project{}
		found, err := c.first(ctx, "SELECT "+projectColumns+" FROM projects WHERE name = $1 AND NOT deleting", []any{name}, projectInto(&project)...)
		if err == nil && !found {
			err = notFound("there is no project %s", name).WithHint("`assay project list` shows them")
		}
		return err
	})
	return project, err
}

func (p projects) List(ctx context.Context) (list []assay.Project, err error) {
	err = p.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, projectInto, "SELECT "+projectColumns+" FROM projects WHERE NOT deleting ORDER BY name")
		return err
	})
	return list, err
}

func (p projects) Update(ctx context.Context, id assay.ProjectID, s assay.Settings, rekey bool) (project assay.Project, err error) {
	err = p.write(ctx, func(ctx context.Context, t tx) error {
		project = assay.Project{}
		found, err := t.first(ctx, "UPDATE projects SET settings = $2, rekeying = rekeying OR $3 WHERE id = $1 AND NOT deleting RETURNING "+projectColumns,
			[]any{id, *toJSON(s), rekey}, projectInto(&project)...)
		if err == nil && !found {
			err = noProject(id)
		}
		return err
	})
	return project, err
}

func (p projects) Rekeyed(ctx context.Context, id assay.ProjectID, s assay.Settings) (done bool, err error) {
	err = p.write(ctx, func(ctx context.Context, t tx) error {
		done = false
		project, err := lockProject(ctx, t, id, "FOR NO KEY UPDATE")
		if err != nil || project.Settings != s {
			return err
		}
		done = true
		_, err = t.exec(ctx, "UPDATE projects SET rekeying = false WHERE id = $1", id)
		return err
	})
	return done, err
}

// lockProject reads a project and keeps it from being changed, or with FOR KEY SHARE from being
// deleted, until the transaction ends.
func lockProject(ctx context.Context, t tx, id assay.ProjectID, how string) (project assay.Project, err error) {
	found, err := t.first(ctx, "SELECT "+projectColumns+" FROM projects WHERE id = $1 AND NOT deleting "+how, []any{id}, projectInto(&project)...)
	if err == nil && !found {
		err = noProject(id)
	}
	return project, err
}

func noProject(id assay.ProjectID) error {
	return notFound("there is no project with number %d", id).WithHint("it was deleted; `assay project list` shows those that exist")
}

// Delete hides the project first, in the transaction that finds no active run, and then removes its
// rows in batches. A deletion that was cut is finished by the next one of any project.
func (p projects) Delete(ctx context.Context, id assay.ProjectID, leaving func(context.Context, assay.ProjectID) error) error {
	if err := p.write(ctx, func(ctx context.Context, t tx) error { return hide(ctx, t, id) }); err != nil {
		return err
	}
	var ids []assay.ProjectID
	if err := p.read(ctx, func(ctx context.Context, c conn) (err error) {
		ids, err = collect(ctx, c, func(id *assay.ProjectID) []any { return []any{intTo(id)} }, "SELECT id FROM projects WHERE deleting ORDER BY id")
		return err
	}); err != nil {
		return err
	}
	for _, id := range ids {
		if leaving != nil {
			if err := leaving(ctx, id); err != nil {
				return err
			}
		}
		if err := p.empty(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func hide(ctx context.Context, t tx, id assay.ProjectID) error {
	project, err := lockProject(ctx, t, id, "FOR UPDATE") // waits for a run that is being accepted
	if err != nil {
		return err
	}
	var run assay.RunID
	var state string
	active, err := t.first(ctx, "SELECT id, state FROM runs WHERE state IN ('queued', 'running', 'paused') AND project_id = $1 ORDER BY id LIMIT 1",
		[]any{id}, intTo(&run), &state)
	if err != nil {
		return err
	}
	if active {
		return assay.Errorf(assay.CodeRefused, "project %s has an active run: %s is %s", project.Name, run, state).
			WithHint("end it first: `assay cancel %s`", run).With("run", run.String()).With("state", state)
	}
	_, err = t.exec(ctx, "UPDATE projects SET deleting = true, name = $2 WHERE id = $1", id, fmt.Sprintf("deleted %d", id))
	return err
}

// deletions empty a project, children first: a table and where its rows of project $1 are found.
var deletions = [...]struct{ table, rows string }{
	{"labels", "labels x WHERE x.project_id = $1"},
	{"draw_members", "draws d JOIN draw_members x ON x.draw_id = d.id WHERE d.project_id = $1"},
	{"draws", "draws x WHERE x.project_id = $1"},
	{"set_members", "sets s JOIN set_members x ON x.set_id = s.id WHERE s.project_id = $1"},
	{"sets", "sets x WHERE x.project_id = $1"},
	{"verdicts", "runs r JOIN verdicts x ON x.run_id = r.id WHERE r.project_id = $1"},
	{"attempts", "runs r JOIN attempts x ON x.run_id = r.id WHERE r.project_id = $1"},
	{"items", "runs r JOIN items x ON x.run_id = r.id WHERE r.project_id = $1"},
	{"cases", "runs r JOIN cases x ON x.run_id = r.id WHERE r.project_id = $1"},
	{"points", "runs r JOIN points x ON x.run_id = r.id WHERE r.project_id = $1"},
	{"extracts", "runs r JOIN extracts x ON x.run_id = r.id WHERE r.project_id = $1"},
	{"strata", "runs r JOIN strata x ON x.run_id = r.id WHERE r.project_id = $1"},
	{"run_judges", "runs r JOIN run_judges x ON x.run_id = r.id WHERE r.project_id = $1"},
	{"run_specs", "runs r JOIN run_specs x ON x.run_id = r.id WHERE r.project_id = $1"},
	{"suite_facts", "runs r JOIN suite_facts x ON x.run_id = r.id WHERE r.project_id = $1"},
	{"suite_runs", "runs r JOIN suite_runs x ON x.run_id = r.id WHERE r.project_id = $1"},
	{"run_keys", "run_keys x WHERE x.project_id = $1"},
	{"idempotency", "idempotency x WHERE x.project_id = $1"},
	{"runs", "runs x WHERE x.project_id = $1"},
	{"version_keys", "version_keys x WHERE x.project_id = $1"},
	{"suite_changes", "suite_changes x WHERE x.project_id = $1"},
	{"suites", "suites x WHERE x.project_id = $1"},
	{"schedules", "schedules x WHERE x.project_id = $1"},
	{"judge_changes", "judge_changes x WHERE x.project_id = $1"},
	{"judges", "judges x WHERE x.project_id = $1"},
	{"judge_versions", "judge_versions x WHERE x.project_id = $1"},
	{"bodies", "sessions s JOIN contents c ON c.session_key = s.id JOIN bodies x ON x.content_id = c.id WHERE s.project_id = $1"},
	{"contents", "sessions s JOIN contents x ON x.session_key = s.id WHERE s.project_id = $1"},
	{"sessions", "sessions x WHERE x.project_id = $1"},
	{"seen", "seen x WHERE x.project_id = $1"},
	{"rejects", "imports i JOIN rejects x ON x.import_id = i.id WHERE i.project_id = $1"},
	{"imports", "imports x WHERE x.project_id = $1"},
	{"projects", "projects x WHERE x.id = $1"},
}

const deleteBatch = 1000

func (p projects) empty(ctx context.Context, id assay.ProjectID) error {
	for _, d := range deletions {
		sql := "DELETE FROM " + d.table + " WHERE ctid = ANY(ARRAY(SELECT x.ctid FROM " + d.rows + " LIMIT $2))"
		for n := int64(1); n > 0; {
			if err := p.write(ctx, func(ctx context.Context, t tx) (err error) {
				n, err = t.exec(ctx, sql, id, deleteBatch)
				return err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}
