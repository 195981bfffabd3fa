package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"assay/internal/assay"
	"assay/internal/store"
)

type runs struct{ *Store }

const (
	runColumns = `r.id, r.project_id, p.name, r.kind, r.state, r.phase, r.reason, r.sentence, s.spec, r.by_whom, r.retry_of, r.epoch,
	r.revision, r.concurrency, r.stalls, r.partial, r.as_of, r.created_at, r.started_at, r.ended_at, r.heartbeat_at, r.progress_at, r.wake_at,
	r.cancel_requested_at, r.cancel_now, r.pause_requested_at, r.end_requested_at, r.sampled, r.planned, r.left_unsettled, r.left_undated, r.left_empty,
	r.left_late, r.budget, u.spec, r.cancel_requested_by`
	runFrom        = " FROM runs r JOIN projects p ON p.id = r.project_id JOIN run_specs s ON s.run_id = r.id "
	runSelect      = "SELECT " + runColumns + runFrom + "LEFT JOIN suite_runs u ON u.run_id = r.id"
	runSelectSuite = "SELECT " + runColumns + runFrom + "JOIN suite_runs u ON u.run_id = r.id"
)

func runInto(r *assay.Run) []any { return runParts(r, asSuite{to: &r.Suite}) }

// runHeadInto reads what lists have of a run.
func runHeadInto(r *assay.Run) []any { return runParts(r, asSuite{to: &r.Suite, head: true}) }

func runParts(r *assay.Run, suite asSuite) []any {
	return []any{intTo(&r.ID), intTo(&r.ProjectID), &r.Project, textTo(&r.Kind), textTo(&r.State), textTo(&r.Phase), textTo(&r.Reason),
		&r.Sentence, asJSON{&r.Spec}, &r.By, intTo(&r.RetryOf), &r.Epoch, &r.Revision, intTo(&r.Concurrency), intTo(&r.Stalls), &r.Partial,
		asTime{&r.AsOf}, asTime{&r.CreatedAt}, asTimePtr{&r.StartedAt}, asTimePtr{&r.EndedAt}, asTimePtr{&r.HeartbeatAt},
		asTimePtr{&r.ProgressAt}, asTimePtr{&r.WakeAt}, asTimePtr{&r.CancelRequestedAt}, &r.CancelNow, asTimePtr{&r.PauseRequestedAt},
		asTimePtr{&r.EndRequestedAt}, &r.Sampled, &r.Planned, &r.Left.Unsettled, &r.Left.Undated, &r.Left.Empty, &r.Left.Late, asUSDPtr{&r.Budget}, suite, &r.CancelRequestedBy}
}

// asSuite reads what was asked of a suite; NULL is a run of none.
type asSuite struct {
	to   **assay.SuiteSpec
	head bool
}

func (d asSuite) ScanText(v pgtype.Text) error {
	*d.to = nil
	if !v.Valid {
		return nil
	}
	var spec assay.SuiteSpec
	err := store.Decode([]byte(v.String), &spec, "the suite of a run")
	if d.head {
		spec = spec.Head()
	}
	*d.to = &spec
	return err
}

func (r runs) Get(ctx context.Context, id assay.RunID) (run assay.Run, err error) {
	err = r.read(ctx, func(ctx context.Context, c conn) (err error) {
		run, err = getRun(ctx, c, id)
		return err
	})
	return run, err
}

func getRun(ctx context.Context, c conn, id assay.RunID) (run assay.Run, err error) {
	found, err := c.first(ctx, runSelect+" WHERE r.id = $1", []any{id}, runInto(&run)...)
	if err == nil && !found {
		err = noRun(id)
	}
	return run, err
}

// lockRun reads a run and keeps everything that would change it, fences too, waiting until the
// transaction ends.
func lockRun(ctx context.Context, t tx, id assay.RunID) (run assay.Run, err error) {
	found, err := t.first(ctx, "SELECT id FROM runs WHERE id = $1 FOR UPDATE", []any{id}, intTo(&run.ID))
	if err == nil && !found {
		err = noRun(id)
	}
	if err != nil {
		return run, err
	}
	return getRun(ctx, t.conn, id) // a statement of its own, which sees what the lock waited for
}

func noRun(id assay.RunID) error {
	return notFound("there is no run %s", id).WithHint("`assay runs` lists them")
}

func (r runs) List(ctx context.Context, q store.RunQuery, p store.Page) (list []assay.Run, next string, err error) {
	before := int64(1) << 62
	if _, err := p.After(&before); err != nil {
		return nil, "", err
	}
	limit := p.Rows()
	query, args := listRuns(q, before, limit+1)
	err = r.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, runHeadInto, query, args...)
		return err
	})
	list, next = store.CutPage(list, limit, func(r assay.Run) any { return int64(r.ID) })
	return list, next, err
}

// listRuns is the query for at most limit runs before one, newest first. A suite's or schedule's are a range
// of an index, and asked for as one: planned for a name that is not known yet, equality and the order of
// numbers would be taken for a walk through all runs. So would a limit that is not known yet for much.
func listRuns(q store.RunQuery, before int64, limit int) (query string, args []any) {
	from, order, w := runSelect, "r.id DESC", (*clause)(nil)
	within := func(table, column, id, name string) {
		w = where(table+".project_id = ?", q.Project)
		w.and("("+column+", "+id+") < (?, ?)", name, before)
		w.and(column+" >= ?", name)
		order = column + " DESC, " + id + " DESC"
	}
	equal := func(column, value string) {
		if value != "" {
			w.and(column+" = ?", value)
		}
	}
	switch {
	case q.Project == 0:
		w = where("r.id < ?", before)
		equal("u.suite", q.Suite)
		equal("r.schedule", q.Schedule)
	case q.Suite != "":
		from = runSelectSuite
		within("u", "u.suite", "u.run_id", q.Suite)
		equal("r.schedule", q.Schedule)
	case q.Schedule != "":
		within("r", "r.schedule", "r.id", q.Schedule)
	default:
		w = where("r.id < ?", before)
		w.and("r.project_id = ?", q.Project)
	}
	equal("r.kind", string(q.Kind))
	if len(q.States) > 0 {
		w.and("r.state = ANY(?)", texts(q.States))
	}
	return from + w.sql.String() + " ORDER BY " + order + " LIMIT " + strconv.Itoa(limit), w.values()
}

func (r runs) Waiting(ctx context.Context, now time.Time) (list []assay.Run, err error) {
	err = r.read(ctx, func(ctx context.Context, c conn) (err error) {
		list, err = collect(ctx, c, runInto, runSelect+` WHERE r.state IN ('queued', 'running', 'paused')
			AND (r.state <> 'paused' OR r.wake_at <= $1 OR r.cancel_requested_at IS NOT NULL OR r.end_requested_at IS NOT NULL) ORDER BY r.id`, now)
		return err
	})
	return list, err
}

func (r runs) Ask(ctx context.Context, id assay.RunID, ask store.Ask, by string, now time.Time) (run assay.Run, err error) {
	var set, unless string
	switch ask {
	case store.AskCancel:
		set, unless = "cancel_requested_at = $2, cancel_requested_by = $3", "cancel_requested_at IS NOT NULL"
	case store.AskCancelNow:
		set, unless = "cancel_requested_at = coalesce(cancel_requested_at, $2), cancel_now = true, cancel_requested_by = CASE WHEN cancel_requested_at IS NULL THEN $3 ELSE cancel_requested_by END", "cancel_requested_at IS NOT NULL AND cancel_now"
	case store.AskPause:
		set, unless = "pause_requested_at = $2, wake_at = CASE WHEN state = 'paused' THEN NULL ELSE wake_at END", "pause_requested_at IS NOT NULL"
	case store.AskEnd:
		set, unless = "end_requested_at = $2", "end_requested_at IS NOT NULL"
	default:
		return run, assay.Errorf(assay.CodeInternal, "ask %d is not known", ask)
	}
	return r.alter(ctx, id, func(ctx context.Context, t tx, run assay.Run) (bool, error) {
		if run.State.Terminal() {
			return false, nil
		}
		args := []any{id, now}
		if ask == store.AskCancel || ask == store.AskCancelNow {
			args = append(args, by)
		}
		n, err := t.exec(ctx, "UPDATE runs SET revision = revision + 1, "+set+" WHERE id = $1 AND NOT ("+unless+")", args...)
		return n > 0, err
	})
}

func (r runs) SetConcurrency(ctx context.Context, id assay.RunID, n int) (assay.Run, error) {
	return r.alter(ctx, id, func(ctx context.Context, t tx, run assay.Run) (bool, error) {
		if run.State.Terminal() {
			return false, store.Refuse(run, "its concurrency cannot change")
		}
		_, err := t.exec(ctx, "UPDATE runs SET revision = revision + 1, concurrency = $2 WHERE id = $1", id, n)
		return true, err
	})
}

func (r runs) SetBudget(ctx context.Context, id assay.RunID, budget *assay.USD) (assay.Run, error) {
	return r.alter(ctx, id, func(ctx context.Context, t tx, run assay.Run) (bool, error) {
		if run.State.Terminal() {
			return false, store.Refuse(run, "its budget cannot change")
		}
		_, err := t.exec(ctx, "UPDATE runs SET revision = revision + 1, budget = $2 WHERE id = $1", id, (*int64)(budget))
		return true, err
	})
}

// alter locks a run, lets f change its row, and returns the run as it is then.
func (r runs) alter(ctx context.Context, id assay.RunID, f func(context.Context, tx, assay.Run) (changed bool, err error)) (run assay.Run, err error) {
	err = r.write(ctx, func(ctx context.Context, t tx) error {
		var changed bool
		if run, err = lockRun(ctx, t, id); err == nil {
			changed, err = f(ctx, t, run)
		}
		if err == nil && changed {
			run, err = getRun(ctx, t.conn, id)
		}
		return err
	})
	return run, err
}

func (r runs) Change(ctx context.Context, id assay.RunID, c store.Change) (assay.Run, error) {
	return r.alter(ctx, id, func(ctx context.Context, t tx, run assay.Run) (bool, error) {
		if err := c.Allows(run); err != nil {
			return false, err
		}
		var ended *time.Time
		if c.To.Terminal() {
			ended = &c.Now
			if _, err := t.exec(ctx, "DELETE FROM run_keys WHERE run_id = $1", id); err != nil {
				return false, err
			}
		}
		if c.ClearWaits {
			if _, err := t.exec(ctx, "UPDATE items SET not_before = NULL WHERE run_id = $1 AND state = 'pending' AND not_before IS NOT NULL", id); err != nil {
				return false, err
			}
		}
		_, err := t.exec(ctx, `UPDATE runs SET revision = revision + 1, state = $2, phase = CASE WHEN $3 = '' THEN phase ELSE $3 END,
			reason = $4, sentence = $5, partial = partial OR $6, wake_at = $7,
			pause_requested_at = CASE WHEN $8 THEN NULL ELSE pause_requested_at END, ended_at = $9 WHERE id = $1`,
			id, c.To, c.Phase, c.Reason, c.Says(run), c.Partial, c.Wakes(run), c.ClearPause, ended)
		return true, err
	})
}

func (r runs) TakeUp(ctx context.Context, id assay.RunID, epoch int64, dead bool, now time.Time) (assay.Run, error) {
	return r.alter(ctx, id, func(ctx context.Context, t tx, run assay.Run) (bool, error) {
		if run.Epoch != epoch {
			return false, lost(id, epoch)
		}
		if err := store.RefuseTakeUp(run); err != nil {
			return false, err
		}
		if _, err := t.exec(ctx, `UPDATE runs SET revision = revision + 1, epoch = epoch + 1, state = 'running', reason = '', sentence = '',
			phase = CASE WHEN phase = '' THEN $4 ELSE phase END, wake_at = NULL, started_at = coalesce(started_at, $2),
			heartbeat_at = $2, stalls = stalls + CASE WHEN $3 THEN 1 ELSE 0 END WHERE id = $1`, id, now, dead, store.FirstPhase(run.Kind)); err != nil {
			return false, err
		}
		_, err := t.exec(ctx, `WITH cut AS (UPDATE attempts SET status = 'unknown', class = CASE WHEN class = 'prompt_only' THEN class ELSE 'unknown' END
			WHERE run_id = $1 AND status = 'open' RETURNING seq, alone)
			UPDATE items i SET crashes = i.crashes + CASE WHEN cut.alone THEN 0 ELSE 1 END, alone = i.alone + CASE WHEN cut.alone THEN 1 ELSE 0 END
			FROM cut WHERE i.run_id = $1 AND i.seq = cut.seq AND $2`, id, dead)
		return true, err
	})
}

const beatSQL = `UPDATE runs SET heartbeat_at = $2, revision = revision + 1 WHERE id = $1`

func (r runs) Beat(ctx context.Context, f store.Fence, now time.Time) (control assay.RunControl, err error) {
	err = r.fenced(ctx, f, toWrite, func(ctx context.Context, t tx, c assay.RunControl) error {
		control = c
		control.Revision++
		_, err := t.exec(ctx, beatSQL, f.Run, now)
		return err
	})
	return control, err
}

func (r runs) Control(ctx context.Context, f store.Fence) (c assay.RunControl, err error) {
	err = r.read(ctx, func(ctx context.Context, q conn) error {
		found, err := q.first(ctx, fenceSQL, []any{f.Run, f.Epoch, states(f)}, controlInto(&c)...)
		if err == nil && !found {
			err = lost(f.Run, f.Epoch)
		}
		return err
	})
	return c, err
}
