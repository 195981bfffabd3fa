package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/internal/assay"
	"assay/internal/store"
)

type harnesses struct{ *Store }

// insertSuiteRun stores what a run has beside its row when it is of a suite, and completes n.
func insertSuiteRun(ctx context.Context, t tx, n *store.NewRun, id assay.RunID) error {
	if n.Suite == nil {
		return nil
	}
	accepted := store.AcceptedSuite(*n.Suite)
	n.Suite = &accepted
	spec, err := store.Encode(accepted, "what was asked of suite "+accepted.Name)
	if err != nil {
		return err
	}
	if _, err := t.exec(ctx, "INSERT INTO suite_runs (run_id, project_id, suite, spec) VALUES ($1, $2, $3, $4)", id, n.Project, accepted.Name, spec); err != nil {
		return err
	}
	_, err = t.exec(ctx, "INSERT INTO suite_facts (run_id, facts) VALUES ($1, $2)", id, *toJSON(assay.Harness{}))
	return err
}

func getFacts(ctx context.Context, c conn, run assay.RunID) (facts assay.Harness, err error) {
	found, err := c.first(ctx, "SELECT facts FROM suite_facts WHERE run_id = $1", []any{run}, asJSON{&facts})
	if err == nil && !found {
		err = noFacts(run)
	}
	return facts, err
}

func noFacts(run assay.RunID) error {
	return notFound("run %s has no harness: it is of no suite, or it does not exist", run).WithHint("`assay runs` lists the runs with their kinds")
}

func (h harnesses) Facts(ctx context.Context, run assay.RunID) (facts assay.Harness, err error) {
	err = h.read(ctx, func(ctx context.Context, c conn) (err error) {
		facts, err = getFacts(ctx, c, run)
		return err
	})
	return facts, err
}

func (h harnesses) FactsOf(ctx context.Context, runs []assay.RunID) (all map[assay.RunID]assay.Harness, err error) {
	err = h.read(ctx, func(ctx context.Context, c conn) error {
		all = make(map[assay.RunID]assay.Harness, len(runs))
		var id assay.RunID
		var facts assay.Harness
		return c.each(ctx, func() error {
			all[id] = facts.Head()
			facts = assay.Harness{}
			return nil
		}, "SELECT run_id, facts FROM suite_facts WHERE run_id = ANY($1)", []any{int64s(runs)}, intTo(&id), asJSON{&facts})
	})
	return all, err
}

// setFacts stores encoded facts.
func setFacts(ctx context.Context, t tx, run assay.RunID, facts string) error {
	n, err := t.exec(ctx, "UPDATE suite_facts SET facts = $2 WHERE run_id = $1", run, facts)
	if err == nil && n == 0 {
		err = noFacts(run)
	}
	return err
}

// advanceSQL is a heartbeat of a harness that, where $3, got on.
const advanceSQL = `UPDATE runs SET heartbeat_at = $2, revision = revision + 1, progress_at = CASE WHEN $3 THEN $2 ELSE progress_at END,
	stalls = CASE WHEN $3 THEN 0 ELSE stalls END WHERE id = $1`

func (h harnesses) Put(ctx context.Context, f store.Fence, facts assay.Harness, advanced bool, now time.Time) (control assay.RunControl, err error) {
	text, err := store.EncodeFacts(f.Run, facts)
	if err != nil {
		return control, err
	}
	err = h.fenced(ctx, f, toWrite, func(ctx context.Context, t tx, c assay.RunControl) error {
		control = c
		control.Revision++
		if err := setFacts(ctx, t, f.Run, text); err != nil {
			return err
		}
		q := &pgx.Batch{}
		q.Queue(advanceSQL, int64(f.Run), now.UnixMicro(), advanced)
		return t.finish(ctx, q)
	})
	if err != nil {
		return assay.RunControl{}, err
	}
	return control, nil
}

func (h harnesses) Report(ctx context.Context, id assay.RunID, now time.Time, change func(facts *assay.Harness, ended bool) (advanced bool, err error)) (assay.Run, error) {
	return runs{h.Store}.alter(ctx, id, func(ctx context.Context, t tx, run assay.Run) (bool, error) {
		if err := store.RefuseReport(run); err != nil {
			return false, err
		}
		facts, err := getFacts(ctx, t.conn, id)
		if err != nil {
			return false, err
		}
		ended := run.State.Terminal()
		advanced, err := change(&facts, ended)
		if err != nil {
			return false, callers(err)
		}
		text, err := store.EncodeFacts(id, facts)
		if err != nil {
			return false, err
		}
		if err := setFacts(ctx, t, id, text); err != nil || ended {
			return false, err
		}
		if run.HeartbeatAt != nil && run.HeartbeatAt.After(now) { // reports come in any order: the newest counts
			now = *run.HeartbeatAt
		}
		_, err = t.exec(ctx, advanceSQL, id, now, advanced)
		return true, err
	})
}

func (h harnesses) AddPoints(ctx context.Context, run assay.RunID, points []store.Point) error {
	if err := store.CheckPoints(run, points); err != nil || len(points) == 0 {
		return err
	}
	n := len(points)
	names := column(points, n, func(p store.Point) string { return clean(p.Name) })
	numbers := column(points, n, func(p store.Point) int64 { return p.N })
	reported := column(points, n, func(p store.Point) float64 { return p.Value })
	times := column(points, n, func(p store.Point) int64 { return p.At.UnixMicro() })
	return h.write(ctx, func(ctx context.Context, t tx) error {
		var one int64
		found, err := t.first(ctx, "SELECT 1 FROM runs WHERE id = $1 FOR KEY SHARE", []any{run}, &one)
		if err == nil && !found {
			err = noRun(run)
		}
		if err != nil {
			return err
		}
		// In the order of the index, so that two that add the same wait for each other in one order.
		_, err = t.exec(ctx, `INSERT INTO points (run_id, name, n, value, at) SELECT DISTINCT ON (u.name, u.n) $1::bigint, u.name, u.n, u.value, u.at
			FROM unnest($2::text[], $3::bigint[], $4::float8[], $5::bigint[]) WITH ORDINALITY u (name, n, value, at, place)
			ORDER BY u.name, u.n, u.place ON CONFLICT DO NOTHING`, run, names, numbers, reported, times)
		return err
	})
}

func (h harnesses) Points(ctx context.Context, run assay.RunID, name string, limit int) (list []store.Point, err error) {
	err = h.read(ctx, func(ctx context.Context, c conn) (err error) {
		into := func(p *store.Point) []any { return []any{&p.N, &p.Name, &p.Value, asTime{&p.At}} }
		list, err = collect(ctx, c, into, `SELECT n, name, value, at FROM (SELECT n, name, value, at FROM points WHERE run_id = $1 AND name = $2
			ORDER BY n DESC LIMIT $3) newest ORDER BY n`, run, name, max(0, limit))
		return err
	})
	return list, err
}
