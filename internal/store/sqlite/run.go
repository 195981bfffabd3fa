package sqlite

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type runs struct{ s *Store }

const (
	runColumns = `r.id, r.project_id, p.name, r.kind, r.state, r.phase, r.reason, r.sentence, q.spec, r.by_whom, r.retry_of,
	r.epoch, r.revision, r.concurrency, r.stalls, r.partial, r.as_of, r.created_at, r.started_at, r.ended_at, r.heartbeat_at,
	r.progress_at, r.wake_at, r.cancel_requested_at, r.cancel_now, r.pause_requested_at, r.end_requested_at, r.sampled, r.planned,
	r.left_unsettled, r.left_undated, r.left_empty, r.left_late, r.budget, u.spec, r.cancel_requested_by`
	runRest   = " CROSS JOIN run_specs q ON q.run_id = r.id CROSS JOIN projects p ON p.id = r.project_id "
	runSelect = "SELECT " + runColumns + " FROM runs r" + runRest + "LEFT JOIN suite_runs u ON u.run_id = r.id WHERE "
	// runSelectSuite goes through the runs of suites: one suite's are a part of the index suite_runs_newest.
	runSelectSuite = "SELECT " + runColumns + " FROM suite_runs u CROSS JOIN runs r ON r.id = u.run_id" + runRest + "WHERE "
	isActive       = "r.state IN ('queued', 'running', 'paused')" // as the index runs_active has it
)

func scanRun(r row) (assay.Run, error) {
	run := assay.Run{
		ID: assay.RunID(r.int(0)), ProjectID: assay.ProjectID(r.int(1)), Project: r.text(2), Kind: assay.RunKind(r.text(3)),
		State: assay.RunState(r.text(4)), Phase: assay.RunPhase(r.text(5)), Reason: assay.Reason(r.text(6)), Sentence: r.text(7),
		By: r.text(9), RetryOf: assay.RunID(r.int(10)), Epoch: r.int(11), Revision: r.int(12), Concurrency: int(r.int(13)),
		Stalls: int(r.int(14)), Partial: r.bool(15), AsOf: r.time(16), CreatedAt: r.time(17), StartedAt: r.timePtr(18),
		EndedAt: r.timePtr(19), HeartbeatAt: r.timePtr(20), ProgressAt: r.timePtr(21), WakeAt: r.timePtr(22),
		CancelRequestedAt: r.timePtr(23), CancelNow: r.bool(24), PauseRequestedAt: r.timePtr(25), EndRequestedAt: r.timePtr(26),
		Sampled: r.int(27), Planned: r.int(28), Left: assay.Excluded{Unsettled: r.int(29), Undated: r.int(30), Empty: r.int(31), Late: r.int(32)},
		Budget: (*assay.USD)(r.intPtr(33)), CancelRequestedBy: r.text(35),
	}
	if err := json.Unmarshal(r.json(8), &run.Spec); err != nil {
		return run, assay.Errorf(assay.CodeInternal, "read the spec of run %s: %w", run.ID, err)
	}
	if r[34] != nil {
		run.Suite = new(assay.SuiteSpec)
		return run, store.Decode(r.json(34), run.Suite, "the suite of run "+run.ID.String())
	}
	return run, nil
}

// scanRunHead reads what lists have of a run.
func scanRunHead(r row) (assay.Run, error) {
	run, err := scanRun(r)
	return headOf(run), err
}

func headOf(run assay.Run) assay.Run {
	if run.Suite != nil {
		run.Suite = new(run.Suite.Head())
	}
	return run
}

func getRun(ctx context.Context, c *conn, id assay.RunID) (run assay.Run, err error) {
	found, err := c.first(ctx, func(r row) (err error) {
		run, err = scanRun(r)
		return err
	}, runSelect+"r.id = ?", id)
	if err == nil && !found {
		err = notFound("there is no run %s", id).WithHint("`assay runs` lists them")
	}
	return run, err
}

func (r runs) Get(ctx context.Context, id assay.RunID) (run assay.Run, err error) {
	err = r.s.read.do(ctx, func(c *conn) error {
		run, err = getRun(ctx, c, id)
		return err
	})
	return run, err
}

func (r runs) List(ctx context.Context, q store.RunQuery, p store.Page) (list []assay.Run, next string, err error) {
	before := int64(1) << 62
	if _, err := p.After(&before); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	query, args := listRuns(q, before, limit+1)
	list, err = r.list(ctx, scanRunHead, query, args...)
	list, next = store.CutPage(list, limit, func(run assay.Run) any { return int64(run.ID) })
	return list, next, err
}

// listRuns is the query for at most limit runs before one, newest first.
func listRuns(q store.RunQuery, before int64, limit int) (query string, args []any) {
	var where clause
	from, id, project := runSelect, "r.id", "r.project_id"
	if q.Suite != "" {
		from, id, project = runSelectSuite, "u.run_id", "u.project_id"
	}
	where.sql.WriteString(id + " < ?")
	where.args = append(where.args, before)
	if q.Project != 0 {
		where.and(project+" = ?", q.Project)
	}
	if q.Suite != "" {
		where.and("u.suite = ?", q.Suite)
	}
	if q.Schedule != "" {
		where.and("r.schedule = ?", q.Schedule)
	}
	if q.Kind != "" {
		where.and("r.kind = ?", q.Kind)
	}
	if len(q.States) > 0 {
		where.and("r.state IN (SELECT value FROM json_each(?))", toJSON(q.States))
	}
	return from + where.sql.String() + " ORDER BY " + id + " DESC LIMIT ?", append(where.args, limit)
}

func (r runs) Waiting(ctx context.Context, now time.Time) ([]assay.Run, error) {
	return r.list(ctx, scanRun, runSelect+isActive+` AND (r.state <> 'paused' OR r.wake_at <= ?
		OR r.cancel_requested_at IS NOT NULL OR r.end_requested_at IS NOT NULL) ORDER BY r.id`, now)
}

func (r runs) list(ctx context.Context, scan func(row) (assay.Run, error), query string, args ...any) (list []assay.Run, err error) {
	err = r.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			run, err := scan(r)
			list = append(list, run)
			return err
		}, query, args...)
	})
	return list, err
}

func (r runs) Create(ctx context.Context, n store.NewRun) (run assay.Run, replayed bool, err error) {
	err = r.s.write.do(ctx, forAsk, func(t tx) error {
		project, err := getProject(ctx, t.conn, n.Project)
		if err != nil {
			return err
		}
		if n.Idempotency != nil {
			if run, replayed, err = replay(ctx, t.conn, n.Project, *n.Idempotency); err != nil || replayed {
				return err
			}
		}
		if err := checkKeys(ctx, t, project, n); err != nil {
			return err
		}
		id, err := insertRun(ctx, t, n)
		if err != nil {
			return err
		}
		run, err = getRun(ctx, t.conn, id)
		return err
	})
	return run, replayed, err
}

func (r runs) Replay(ctx context.Context, project assay.ProjectID, idem store.Idempotency) (run assay.Run, found bool, err error) {
	err = r.s.read.do(ctx, func(c *conn) error {
		run, found, err = replay(ctx, c, project, idem)
		return err
	})
	return run, found, err
}

func replay(ctx context.Context, c *conn, project assay.ProjectID, idem store.Idempotency) (run assay.Run, found bool, err error) {
	var id assay.RunID
	var body string
	found, err = c.first(ctx, func(r row) error {
		id, body = assay.RunID(r.int(0)), r.text(1)
		return nil
	}, "SELECT run_id, body_hash FROM idempotency WHERE project_id = ? AND route = ? AND key = ?", project, idem.Route, idem.Key)
	if err != nil || !found {
		return run, false, err
	}
	if body != string(idem.BodyHash) {
		return run, false, store.OtherRequest(idem, id)
	}
	run, err = getRun(ctx, c, id)
	return run, err == nil, err
}

func checkKeys(ctx context.Context, t tx, project assay.Project, n store.NewRun) error {
	for _, key := range n.Keys {
		var id assay.RunID
		var state assay.RunState
		held, err := t.first(ctx, func(r row) error {
			id, state = assay.RunID(r.int(0)), assay.RunState(r.text(1))
			return nil
		}, "SELECT r.id, r.state FROM run_keys k JOIN runs r ON r.id = k.run_id WHERE k.project_id = ? AND k.key = ?", n.Project, key)
		if err != nil {
			return err
		}
		if held {
			return store.Held(id, state, project.Name, key)
		}
	}
	return nil
}

func insertRun(ctx context.Context, t tx, n store.NewRun) (assay.RunID, error) {
	begins := n.Begins()
	id, err := t.insert(`INSERT INTO runs (project_id, kind, state, phase, reason, sentence, by_whom, retry_of, epoch, concurrency, budget, as_of,
		created_at, started_at, heartbeat_at, schedule) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''))`,
		n.Project, n.Kind, begins.State, begins.Phase, begins.Reason, n.Sentence, n.By, n.RetryOf, begins.Epoch, n.Concurrency, (*int64)(n.Budget), n.AsOf,
		n.Now, begins.StartedAt, begins.HeartbeatAt, n.Schedule())
	if err != nil {
		return 0, err
	}
	if _, err := t.exec("INSERT INTO run_specs (run_id, spec) VALUES (?, ?)", id, toJSON(n.Spec)); err != nil {
		return 0, err
	}
	if err := insertSuiteRun(t, &n, id); err != nil {
		return 0, err
	}
	for i, j := range n.RunJudges() {
		if _, err := t.exec("INSERT INTO version_keys (project_id, hash) VALUES (?, ?) ON CONFLICT DO NOTHING", n.Project, j.Version); err != nil {
			return 0, err
		}
		if _, err := t.exec("INSERT INTO run_judges (run_id, judge, name, version_key) SELECT ?, ?, ?, id FROM version_keys WHERE project_id = ? AND hash = ?",
			id, i, j.Name, n.Project, j.Version); err != nil {
			return 0, err
		}
	}
	for _, key := range n.Keys {
		if _, err := t.exec("INSERT INTO run_keys (project_id, key, run_id) VALUES (?, ?, ?)", n.Project, key, id); err != nil {
			return 0, err
		}
	}
	if i := n.Idempotency; i != nil {
		_, err = t.exec("INSERT INTO idempotency (project_id, route, key, body_hash, run_id, created_at) VALUES (?, ?, ?, ?, ?, ?)",
			n.Project, i.Route, i.Key, i.BodyHash, id, n.Now)
	}
	return assay.RunID(id), err
}

// stateList is a set of states as one argument for json_each.
func stateList(states []assay.RunState) string {
	var b strings.Builder
	for i, s := range states {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + string(s) + `"`)
	}
	return "[" + b.String() + "]"
}
