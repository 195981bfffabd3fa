package sqlite

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// edit changes a run's row inside one transaction: f sees the row and says how, and the row comes
// back as it is afterwards.
func (r runs) edit(ctx context.Context, p priority, id assay.RunID, f func(tx, assay.Run) error) (run assay.Run, err error) {
	err = r.s.write.do(ctx, p, func(t tx) error {
		before, err := getRun(ctx, t.conn, id)
		if err != nil {
			return err
		}
		if err := f(t, before); err != nil {
			return err
		}
		run, err = getRun(ctx, t.conn, id)
		return err
	})
	return run, err
}

func (r runs) Ask(ctx context.Context, id assay.RunID, ask store.Ask, by string, now time.Time) (assay.Run, error) {
	return r.edit(ctx, forAsk, id, func(t tx, run assay.Run) (err error) {
		if run.State.Terminal() {
			return nil
		}
		switch ask {
		case store.AskCancel:
			_, err = t.exec("UPDATE runs SET cancel_requested_at = ?, cancel_requested_by = ?, revision = revision + 1 WHERE id = ? AND cancel_requested_at IS NULL", now, by, id)
		case store.AskCancelNow:
			_, err = t.exec(`UPDATE runs SET cancel_requested_by = iif(cancel_requested_at IS NULL, ?, cancel_requested_by),
				cancel_requested_at = coalesce(cancel_requested_at, ?), cancel_now = 1, revision = revision + 1
				WHERE id = ? AND (cancel_requested_at IS NULL OR NOT cancel_now)`, by, now, id)
		case store.AskPause:
			_, err = t.exec("UPDATE runs SET pause_requested_at = ?, wake_at = CASE WHEN state = 'paused' THEN NULL ELSE wake_at END, revision = revision + 1 WHERE id = ? AND pause_requested_at IS NULL", now, id)
		case store.AskEnd:
			_, err = t.exec("UPDATE runs SET end_requested_at = ?, revision = revision + 1 WHERE id = ? AND end_requested_at IS NULL", now, id)
		default:
			err = assay.Errorf(assay.CodeInternal, "ask %d is not known", ask)
		}
		return err
	})
}

func (r runs) SetConcurrency(ctx context.Context, id assay.RunID, n int) (assay.Run, error) {
	return r.edit(ctx, forAsk, id, func(t tx, run assay.Run) error {
		if run.State.Terminal() {
			return store.Refuse(run, "its concurrency cannot change any more")
		}
		_, err := t.exec("UPDATE runs SET concurrency = ?, revision = revision + 1 WHERE id = ?", n, id)
		return err
	})
}

func (r runs) SetBudget(ctx context.Context, id assay.RunID, budget *assay.USD) (assay.Run, error) {
	return r.edit(ctx, forAsk, id, func(t tx, run assay.Run) error {
		if run.State.Terminal() {
			return store.Refuse(run, "its budget cannot change any more")
		}
		_, err := t.exec("UPDATE runs SET budget = ?, revision = revision + 1 WHERE id = ?", (*int64)(budget), id)
		return err
	})
}

func (r runs) Change(ctx context.Context, id assay.RunID, c store.Change) (assay.Run, error) {
	return r.edit(ctx, forAsk, id, func(t tx, run assay.Run) error {
		if err := c.Allows(run); err != nil {
			return err
		}
		var ended *time.Time
		if c.To.Terminal() {
			ended = &c.Now
			if _, err := t.exec("DELETE FROM run_keys WHERE run_id = ?", id); err != nil {
				return err
			}
		}
		if c.ClearWaits {
			if _, err := t.exec("UPDATE items SET not_before = NULL WHERE run_id = ? AND state = 'pending' AND not_before IS NOT NULL", id); err != nil {
				return err
			}
		}
		_, err := t.exec(`UPDATE runs SET state = ?, phase = CASE WHEN ? = '' THEN phase ELSE ? END, reason = ?, sentence = ?,
			partial = partial OR ?, wake_at = ?, pause_requested_at = CASE WHEN ? THEN NULL ELSE pause_requested_at END,
			ended_at = ?, revision = revision + 1 WHERE id = ?`,
			c.To, c.Phase, c.Phase, c.Reason, c.Says(run), c.Partial, c.Wakes(run), c.ClearPause, ended, id)
		return err
	})
}

func (r runs) TakeUp(ctx context.Context, id assay.RunID, epoch int64, dead bool, now time.Time) (assay.Run, error) {
	return r.edit(ctx, forAsk, id, func(t tx, run assay.Run) error {
		if run.Epoch != epoch {
			return assay.ErrLost
		}
		if err := store.RefuseTakeUp(run); err != nil {
			return err
		}
		if err := bury(ctx, t, id, dead); err != nil {
			return err
		}
		_, err := t.exec(`UPDATE runs SET state = 'running', phase = CASE WHEN phase = '' THEN ? ELSE phase END, reason = '', sentence = '',
			epoch = epoch + 1, stalls = stalls + ?, wake_at = NULL, started_at = coalesce(started_at, ?), heartbeat_at = ?,
			revision = revision + 1 WHERE id = ?`, store.FirstPhase(run.Kind), dead, now, now, id)
		return err
	})
}

// bury marks what was in flight when a driver went; blame counts it against the items.
func bury(ctx context.Context, t tx, id assay.RunID, blame bool) error {
	type open struct {
		seq, n int64
		alone  bool
	}
	var list []open
	if err := t.query(ctx, func(r row) error { list = append(list, open{r.int(0), r.int(1), r.bool(2)}); return nil },
		"SELECT seq, n, alone FROM attempts WHERE run_id = ? AND status = 'open'", id); err != nil {
		return err
	}
	for _, o := range list {
		if _, err := t.exec("UPDATE attempts SET status = 'unknown', class = iif(class = ?, class, ?) WHERE run_id = ? AND seq = ? AND n = ?",
			assay.ClassPrompt, assay.ClassUnknown, id, o.seq, o.n); err != nil {
			return err
		}
		if !blame {
			continue
		}
		if _, err := t.exec("UPDATE items SET crashes = crashes + ?, alone = alone + ? WHERE run_id = ? AND seq = ?", !o.alone, o.alone, id, o.seq); err != nil {
			return err
		}
	}
	return nil
}

func (r runs) Beat(ctx context.Context, f store.Fence, now time.Time) (control assay.RunControl, err error) {
	return r.s.beats.beat(ctx, f, now)
}

const controlColumns = "cancel_requested_at IS NOT NULL, cancel_now, pause_requested_at IS NOT NULL, end_requested_at IS NOT NULL, concurrency, revision, budget"

func scanControl(r row) assay.RunControl {
	return assay.RunControl{Cancel: r.bool(0), Now: r.bool(1), Pause: r.bool(2), End: r.bool(3), Concurrency: int(r.int(4)), Revision: r.int(5), Budget: (*assay.USD)(r.intPtr(6))}
}

// beat is the fence of a transaction that says that the driver lives: ErrLost when the claim is gone.
func beat(ctx context.Context, t tx, f store.Fence, now time.Time) (control assay.RunControl, err error) {
	held, err := t.first(ctx, func(r row) error { control = scanControl(r); return nil },
		"UPDATE runs SET heartbeat_at = ?, revision = revision + 1 WHERE id = ? AND epoch = ? AND state IN (SELECT value FROM json_each(?)) RETURNING "+controlColumns,
		now, f.Run, f.Epoch, fenceStates(f))
	if err == nil && !held {
		err = assay.ErrLost
	}
	return control, err
}

func fenceStates(f store.Fence) string {
	if f.States == nil {
		return `["running"]`
	}
	return stateList(f.States)
}

// hold is the fence of every other transaction. BEGIN IMMEDIATE has locked the row with the rest.
func hold(ctx context.Context, c *conn, f store.Fence) (control assay.RunControl, err error) {
	held, err := c.first(ctx, func(r row) error { control = scanControl(r); return nil },
		"SELECT "+controlColumns+" FROM runs WHERE id = ? AND epoch = ? AND state IN (SELECT value FROM json_each(?))", f.Run, f.Epoch, fenceStates(f))
	if err == nil && !held {
		err = assay.ErrLost
	}
	return control, err
}

func (r runs) Control(ctx context.Context, f store.Fence) (control assay.RunControl, err error) {
	err = r.s.read.do(ctx, func(c *conn) error {
		control, err = hold(ctx, c, f)
		return err
	})
	return control, err
}
