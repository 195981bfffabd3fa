package sqlite

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type harnesses struct{ s *Store }

// insertSuiteRun stores what a run has beside its row when it is of a suite, and completes n.
func insertSuiteRun(t tx, n *store.NewRun, id int64) error {
	if n.Suite == nil {
		return nil
	}
	accepted := store.AcceptedSuite(*n.Suite)
	n.Suite = &accepted
	spec, err := store.Encode(accepted, "what was asked of suite "+accepted.Name)
	if err != nil {
		return err
	}
	if _, err := t.exec("INSERT INTO suite_runs (run_id, project_id, suite, spec) VALUES (?, ?, ?, ?)", id, n.Project, accepted.Name, spec); err != nil {
		return err
	}
	_, err = t.exec("INSERT INTO suite_facts (run_id, facts) VALUES (?, ?)", id, toJSON(assay.Harness{}))
	return err
}

func getFacts(ctx context.Context, c *conn, run assay.RunID) (facts assay.Harness, err error) {
	found, err := c.first(ctx, func(r row) error { return store.Decode(r.json(0), &facts, "the facts of run "+run.String()) },
		"SELECT facts FROM suite_facts WHERE run_id = ?", run)
	if err == nil && !found {
		err = noFacts(run)
	}
	return facts, err
}

func noFacts(run assay.RunID) error {
	return notFound("run %s has no harness: it is of no suite, or it does not exist", run).WithHint("`assay runs` lists the runs with their kinds")
}

func (h harnesses) Facts(ctx context.Context, run assay.RunID) (facts assay.Harness, err error) {
	err = h.s.read.do(ctx, func(c *conn) error {
		facts, err = getFacts(ctx, c, run)
		return err
	})
	return facts, err
}

func (h harnesses) FactsOf(ctx context.Context, runs []assay.RunID) (map[assay.RunID]assay.Harness, error) {
	all := make(map[assay.RunID]assay.Harness, len(runs))
	if len(runs) == 0 {
		return all, nil
	}
	err := h.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			id := assay.RunID(r.int(0))
			var facts assay.Harness
			err := store.Decode(r.json(1), &facts, "the facts of run "+id.String())
			all[id] = facts.Head()
			return err
		}, "SELECT f.run_id, f.facts FROM json_each(?) w CROSS JOIN suite_facts f ON f.run_id = w.value", toJSON(chain64(runs)))
	})
	return all, err
}

// setFacts stores encoded facts.
func setFacts(t tx, run assay.RunID, facts string) error {
	n, err := t.exec("UPDATE suite_facts SET facts = ? WHERE run_id = ?", facts, run)
	if err == nil && n == 0 {
		err = noFacts(run)
	}
	return err
}

// advance says that a run's harness got on.
func advance(t tx, run assay.RunID, now time.Time) error {
	_, err := t.exec("UPDATE runs SET progress_at = ?, stalls = 0 WHERE id = ?", now, run)
	return err
}

func (h harnesses) Put(ctx context.Context, f store.Fence, facts assay.Harness, advanced bool, now time.Time) (control assay.RunControl, err error) {
	text, err := store.EncodeFacts(f.Run, facts)
	if err != nil {
		return control, err
	}
	err = h.s.write.do(ctx, forBeat, func(t tx) error {
		if control, err = beat(ctx, t, f, now); err != nil {
			return err
		}
		if err := setFacts(t, f.Run, text); err != nil || !advanced {
			return err
		}
		return advance(t, f.Run, now)
	})
	if err != nil {
		return assay.RunControl{}, err
	}
	return control, nil
}

func (h harnesses) Report(ctx context.Context, id assay.RunID, now time.Time, change func(facts *assay.Harness, ended bool) (advanced bool, err error)) (assay.Run, error) {
	return runs{h.s}.edit(ctx, forBeat, id, func(t tx, run assay.Run) error {
		if err := store.RefuseReport(run); err != nil {
			return err
		}
		facts, err := getFacts(ctx, t.conn, id)
		if err != nil {
			return err
		}
		ended := run.State.Terminal()
		advanced, err := change(&facts, ended)
		if err != nil {
			return err
		}
		text, err := store.EncodeFacts(id, facts)
		if err != nil {
			return err
		}
		if err := setFacts(t, id, text); err != nil || ended {
			return err
		}
		// Reports come in any order: the newest counts.
		if _, err := t.exec("UPDATE runs SET heartbeat_at = max(coalesce(heartbeat_at, 0), ?), revision = revision + 1 WHERE id = ?", now, id); err != nil || !advanced {
			return err
		}
		return advance(t, id, now)
	})
}

func (h harnesses) AddPoints(ctx context.Context, run assay.RunID, points []store.Point) error {
	if err := store.CheckPoints(run, points); err != nil || len(points) == 0 {
		return err
	}
	return h.s.write.do(ctx, forCommit, func(t tx) error {
		found, err := t.first(ctx, func(row) error { return nil }, "SELECT 1 FROM runs WHERE id = ?", run)
		if err == nil && !found {
			err = notFound("there is no run %s", run).WithHint("`assay runs` lists them")
		}
		if err != nil {
			return err
		}
		w := insertPoints.on(t, int64(run))
		for _, p := range points {
			if err := w.add(p.Name, p.N, p.Value, p.At); err != nil {
				return err
			}
		}
		return w.flush()
	})
}

var insertPoints = newMulti("INSERT INTO points (run_id, name, n, value, at) VALUES ", "?1, ?, ?, ?, ?", " ON CONFLICT DO NOTHING")

func (h harnesses) Points(ctx context.Context, run assay.RunID, name string, limit int) (list []store.Point, err error) {
	err = h.s.read.do(ctx, func(c *conn) error {
		return c.query(ctx, func(r row) error {
			list = append(list, store.Point{N: r.int(0), Metric: assay.Metric{Name: name, Value: r.float(1), At: r.time(2)}})
			return nil
		}, "SELECT n, value, at FROM (SELECT n, value, at FROM points WHERE run_id = ? AND name = ? ORDER BY n DESC LIMIT ?) ORDER BY n", run, name, max(0, limit))
	})
	return list, err
}
