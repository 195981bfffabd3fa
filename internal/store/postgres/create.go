package postgres

import (
	"context"
	"slices"

	"assay/internal/assay"
	"assay/internal/store"
)

// Create writes the idempotency record first: of two equal requests the second waits there for the
// first and then finds its run, rather than being refused for the key that the first holds.
func (r runs) Create(ctx context.Context, n store.NewRun) (run assay.Run, replayed bool, err error) {
	err = r.write(ctx, func(ctx context.Context, t tx) error {
		if _, err := lockProject(ctx, t, n.Project, "FOR KEY SHARE"); err != nil {
			return err
		}
		var id assay.RunID
		if _, err := t.first(ctx, "SELECT nextval(pg_get_serial_sequence('runs', 'id'))", nil, intTo(&id)); err != nil {
			return err
		}
		before, err := remember(ctx, t, n, id)
		if err != nil {
			return err
		}
		if replayed = before != 0; replayed {
			run, err = getRun(ctx, t.conn, before)
			return err
		}
		if err := insertRun(ctx, t, n, id); err != nil {
			return err
		}
		if err := hold(ctx, t, n, id); err != nil {
			return err
		}
		run, err = getRun(ctx, t.conn, id)
		return err
	})
	if err != nil {
		return assay.Run{}, false, err
	}
	return run, replayed, nil
}

// remember stores the idempotency record, or returns the run that it was answered with before.
func remember(ctx context.Context, t tx, n store.NewRun, id assay.RunID) (before assay.RunID, err error) {
	i := n.Idempotency
	if i == nil {
		return 0, nil
	}
	added, err := t.exec(ctx, `INSERT INTO idempotency (project_id, route, key, body_hash, run_id, created_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT DO NOTHING`, n.Project, i.Route, i.Key, i.BodyHash, id, n.Now)
	if err != nil || added == 1 {
		return 0, err
	}
	before, found, err := remembered(ctx, t.conn, n.Project, *i)
	if err == nil && !found {
		err = errAgain
	}
	return before, err
}

func (r runs) Replay(ctx context.Context, project assay.ProjectID, idem store.Idempotency) (run assay.Run, found bool, err error) {
	err = r.read(ctx, func(ctx context.Context, c conn) error {
		var id assay.RunID
		if id, found, err = remembered(ctx, c, project, idem); err != nil || !found {
			return err
		}
		run, err = getRun(ctx, c, id)
		return err
	})
	return run, found && err == nil, err
}

// remembered finds the run that an idempotency key made.
func remembered(ctx context.Context, c conn, project assay.ProjectID, i store.Idempotency) (id assay.RunID, found bool, err error) {
	var hash assay.Hash
	found, err = c.first(ctx, "SELECT body_hash, run_id FROM idempotency WHERE project_id = $1 AND route = $2 AND key = $3",
		[]any{project, i.Route, i.Key}, textTo(&hash), intTo(&id))
	if err == nil && found && hash != i.BodyHash {
		return 0, false, store.OtherRequest(i, id)
	}
	return id, found, err
}

func insertRun(ctx context.Context, t tx, n store.NewRun, id assay.RunID) error {
	begins := n.Begins()
	if _, err := t.exec(ctx, `INSERT INTO runs (id, project_id, kind, state, phase, reason, sentence, by_whom, retry_of, epoch, concurrency, budget, as_of,
		created_at, started_at, heartbeat_at, schedule) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, nullif($17, ''))`,
		id, n.Project, n.Kind, begins.State, begins.Phase, begins.Reason, n.Sentence, n.By, n.RetryOf, begins.Epoch, n.Concurrency, (*int64)(n.Budget), n.AsOf,
		n.Now, begins.StartedAt, begins.HeartbeatAt, n.Schedule()); err != nil {
		return err
	}
	if _, err := t.exec(ctx, "INSERT INTO run_specs (run_id, spec) VALUES ($1, $2)", id, *toJSON(n.Spec)); err != nil {
		return err
	}
	if err := insertSuiteRun(ctx, t, &n, id); err != nil {
		return err
	}
	judges := n.RunJudges()
	names, versions := make([]string, len(judges)), make([]string, len(judges))
	for i, j := range judges {
		names[i], versions[i] = j.Name, string(j.Version)
	}
	if _, err := t.exec(ctx, `INSERT INTO version_keys (project_id, hash) SELECT DISTINCT $1::bigint, h FROM unnest($2::text[]) h ORDER BY h
		ON CONFLICT DO NOTHING`, n.Project, versions); err != nil {
		return err
	}
	_, err := t.exec(ctx, `INSERT INTO run_judges (run_id, judge, name, version_key) SELECT $1, u.no - 1, u.name, k.id
		FROM unnest($3::text[], $4::text[]) WITH ORDINALITY u (name, hash, no) JOIN version_keys k ON k.project_id = $2 AND k.hash = u.hash`,
		id, n.Project, names, versions)
	return err
}

// hold takes the run's keys, in one order for all, and waits for whoever is about to hold one.
func hold(ctx context.Context, t tx, n store.NewRun, id assay.RunID) error {
	keys := slices.Compact(slices.Sorted(slices.Values(n.Keys)))
	for _, key := range keys {
		added, err := t.exec(ctx, "INSERT INTO run_keys (project_id, key, run_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", n.Project, key, id)
		if err != nil {
			return err
		}
		if added == 0 {
			return conflict(ctx, t, n.Project, key)
		}
	}
	return nil
}

func conflict(ctx context.Context, t tx, project assay.ProjectID, key string) error {
	var holder assay.RunID
	var state assay.RunState
	var name string
	found, err := t.first(ctx, `SELECT r.id, r.state, p.name FROM run_keys k JOIN runs r ON r.id = k.run_id JOIN projects p ON p.id = k.project_id
		WHERE k.project_id = $1 AND k.key = $2`, []any{project, key}, intTo(&holder), textTo(&state), &name)
	if err != nil {
		return err
	}
	if !found {
		return errAgain // it ended between the two statements
	}
	return store.Held(holder, state, name, key)
}
