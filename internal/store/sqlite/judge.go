package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type judges struct{ s *Store }

const (
	judgeColumns   = "j.name, j.description, j.version, j.settings, j.source, j.updated_at"
	versionColumns = "v.hash, v.kind, v.unit, v.criteria, v.alias, v.canonical, v.created_at"
)

func scanJudge(r row) assay.Judge {
	return assay.Judge{Name: r.text(0), Description: r.text(1), Version: assay.Hash(r.text(2)), Settings: r.json(3), Source: r.text(4), UpdatedAt: r.time(5)}
}

func scanVersion(r row) (assay.JudgeVersion, error) {
	v := assay.JudgeVersion{
		ID: assay.Hash(r.text(0)), Kind: assay.JudgeKind(r.text(1)), Unit: assay.UnitKind(r.text(2)),
		Alias: r.bool(4), Canonical: r.json(5), CreatedAt: r.time(6),
	}
	if err := json.Unmarshal(r.json(3), &v.Criteria); err != nil {
		return v, assay.Errorf(assay.CodeInternal, "read the criteria of judge version %s: %w", v.ID, err)
	}
	return v, nil
}

func (j judges) Apply(ctx context.Context, project assay.ProjectID, judge assay.Judge, v assay.JudgeVersion, now time.Time) (changed bool, err error) {
	err = j.s.write.do(ctx, forAsk, func(t tx) error {
		if _, err := getProject(ctx, t.conn, project); err != nil {
			return err
		}
		criteria, err := json.Marshal(v.Criteria)
		if err != nil {
			return assay.Errorf(assay.CodeInvalid, "encode the criteria of judge %s: %w", judge.Name, err)
		}
		if _, err := t.exec(`INSERT INTO judge_versions (project_id, hash, kind, unit, criteria, alias, canonical, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			project, v.ID, v.Kind, v.Unit, string(criteria), v.Alias, string(v.Canonical), now); err != nil {
			return err
		}
		before := ""
		if _, err := t.first(ctx, func(r row) error { before = r.text(0); return nil },
			"SELECT version FROM judges WHERE project_id = ? AND name = ?", project, judge.Name); err != nil {
			return err
		}
		changed = before != string(v.ID)
		if _, err := t.exec(`INSERT INTO judges (project_id, name, description, version, settings, source, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project_id, name) DO UPDATE SET
			description = excluded.description, version = excluded.version, settings = excluded.settings,
			source = excluded.source, updated_at = excluded.updated_at`,
			project, judge.Name, judge.Description, v.ID, judge.Settings, judge.Source, now); err != nil || !changed {
			return err
		}
		_, err = t.exec("INSERT INTO judge_changes (project_id, name, version, applied_at) VALUES (?, ?, ?, ?)", project, judge.Name, v.ID, now)
		return err
	})
	return changed, err
}

func (j judges) Get(ctx context.Context, project assay.ProjectID, name string) (judge assay.Judge, v assay.JudgeVersion, err error) {
	err = j.s.read.do(ctx, func(c *conn) error {
		found, err := c.first(ctx, func(r row) (err error) {
			judge = scanJudge(r)
			v, err = scanVersion(r[6:])
			return err
		}, "SELECT "+judgeColumns+", "+versionColumns+` FROM judges j JOIN judge_versions v ON v.project_id = j.project_id AND v.hash = j.version
			WHERE j.project_id = ? AND j.name = ?`, project, name)
		if err == nil && !found {
			err = notFound("there is no judge %s", name).WithHint("`assay judge list` shows them")
		}
		return err
	})
	return judge, v, err
}

func (j judges) List(ctx context.Context, project assay.ProjectID) (list []assay.Judge, err error) {
	err = j.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error { list = append(list, scanJudge(r)); return nil },
			"SELECT "+judgeColumns+" FROM judges j WHERE j.project_id = ? ORDER BY j.name", project)
	})
	return list, err
}

func (j judges) Version(ctx context.Context, project assay.ProjectID, id assay.Hash) (v assay.JudgeVersion, err error) {
	err = j.s.read.do(ctx, func(c *conn) error {
		found, err := c.first(ctx, func(r row) (err error) {
			v, err = scanVersion(r)
			return err
		}, "SELECT "+versionColumns+" FROM judge_versions v WHERE v.project_id = ? AND v.hash = ?", project, id)
		if err == nil && !found {
			err = notFound("there is no judge version %s", id).WithHint("`assay judge list` shows the versions that names mean now")
		}
		return err
	})
	return v, err
}

func (j judges) History(ctx context.Context, project assay.ProjectID, name string) (list []store.JudgeChange, err error) {
	err = j.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			list = append(list, store.JudgeChange{Version: assay.Hash(r.text(0)), AppliedAt: r.time(1)})
			return nil
		}, "SELECT version, applied_at FROM judge_changes WHERE project_id = ? AND name = ? ORDER BY id DESC", project, name)
	})
	return list, err
}
