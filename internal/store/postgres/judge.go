package postgres

import (
	"context"
	"encoding/json"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type judges struct{ *Store }

const (
	judgeColumns   = "j.name, j.description, j.version, j.settings, j.source, j.updated_at"
	versionColumns = "v.hash, v.kind, v.unit, v.criteria, v.alias, v.canonical, v.created_at"
)

func judgeInto(j *assay.Judge) []any {
	return []any{&j.Name, &j.Description, textTo(&j.Version), asRaw{&j.Settings}, &j.Source, asTime{&j.UpdatedAt}}
}

func versionInto(v *assay.JudgeVersion) []any {
	return []any{textTo(&v.ID), textTo(&v.Kind), textTo(&v.Unit), asJSON{&v.Criteria}, &v.Alias, asRaw{&v.Canonical}, asTime{&v.CreatedAt}}
}

func (j judges) Apply(ctx context.Context, project assay.ProjectID, judge assay.Judge, v assay.JudgeVersion, now time.Time) (changed bool, err error) {
	criteria, err := json.Marshal(v.Criteria)
	if err != nil {
		return false, assay.Errorf(assay.CodeInvalid, "encode the criteria of judge %s: %w", judge.Name, err)
	}
	err = j.write(ctx, func(ctx context.Context, t tx) error {
		// Two who apply at once take turns, so that the history tells what happened.
		if _, err := lockProject(ctx, t, project, "FOR NO KEY UPDATE"); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `INSERT INTO judge_versions (project_id, hash, kind, unit, criteria, alias, canonical, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
			project, v.ID, v.Kind, v.Unit, string(criteria), v.Alias, string(v.Canonical), now); err != nil {
			return err
		}
		var before string
		if _, err := t.first(ctx, "SELECT version FROM judges WHERE project_id = $1 AND name = $2", []any{project, judge.Name}, &before); err != nil {
			return err
		}
		changed = before != string(v.ID)
		if _, err := t.exec(ctx, `INSERT INTO judges (project_id, name, description, version, settings, source, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (project_id, name) DO UPDATE SET
			description = excluded.description, version = excluded.version, settings = excluded.settings,
			source = excluded.source, updated_at = excluded.updated_at`,
			project, judge.Name, judge.Description, v.ID, judge.Settings, judge.Source, now); err != nil || !changed {
			return err
		}
		_, err := t.exec(ctx, "INSERT INTO judge_changes (project_id, name, version, applied_at) VALUES ($1, $2, $3, $4)", project, judge.Name, v.ID, now)
		return err
	})
	return changed, err
}

func (j judges) Get(ctx context.Context, project assay.ProjectID, name string) (judge assay.Judge, v assay.JudgeVersion, err error) {
	err = j.read(ctx, func(ctx context.Context, c conn) error {
		judge, v = assay.Judge{}, assay.JudgeVersion{}
		found, err := c.first(ctx, "SELECT "+judgeColumns+", "+versionColumns+` FROM judges j
			JOIN judge_versions v ON v.project_id = j.project_id AND v.hash = j.version WHERE j.project_id = $1 AND j.name = $2`,
			[]any{project, name}, append(judgeInto(&judge), versionInto(&v)...)...)
		if err == nil && !found {
			err = notFound("there is no judge %s", name).WithHint("`assay judge list` shows them")
		}
		return err
	})
	return judge, v, err
}

func (j judges) List(ctx context.Context, project assay.ProjectID) (list []assay.Judge, err error) {
	err = j.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, judgeInto, "SELECT "+judgeColumns+" FROM judges j WHERE j.project_id = $1 ORDER BY j.name", project)
		return err
	})
	return list, err
}

func (j judges) Version(ctx context.Context, project assay.ProjectID, id assay.Hash) (v assay.JudgeVersion, err error) {
	err = j.read(ctx, func(ctx context.Context, c conn) error {
		v = assay.JudgeVersion{}
		found, err := c.first(ctx, "SELECT "+versionColumns+" FROM judge_versions v WHERE v.project_id = $1 AND v.hash = $2", []any{project, id}, versionInto(&v)...)
		if err == nil && !found {
			err = notFound("there is no judge version %s", id).WithHint("`assay judge list` shows the versions that names mean now")
		}
		return err
	})
	return v, err
}

func (j judges) History(ctx context.Context, project assay.ProjectID, name string) (list []store.JudgeChange, err error) {
	err = j.read(ctx, func(ctx context.Context, c conn) (err error) {
		into := func(h *store.JudgeChange) []any { return []any{textTo(&h.Version), asTime{&h.AppliedAt}} }
		list, err = collect(ctx, c, into, "SELECT version, applied_at FROM judge_changes WHERE project_id = $1 AND name = $2 ORDER BY id DESC", project, name)
		return err
	})
	return list, err
}
