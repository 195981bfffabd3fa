package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"assay/internal/assay"
	"assay/internal/store"
)

// Preview says what Grade would do; it writes nothing.
func (e *Engine) Preview(ctx context.Context, p assay.Project, q GradeRequest) (Preview, error) {
	return e.planner.Preview(ctx, p, q, e.now())
}

// CheckGrade says what Grade would refuse of a request at any time; it writes nothing.
func (e *Engine) CheckGrade(ctx context.Context, p assay.Project, q GradeRequest) error {
	return e.planner.Check(ctx, p, q, e.now())
}

// Grade accepts a run. A held key is CodeConflict, which names the run, except for a single run: the
// second of two equal ones joins the first, or takes its place where that one is paused, since whoever
// asks again may have mended what it waits for. replayed says that the idempotency key was known.
func (e *Engine) Grade(ctx context.Context, p assay.Project, q GradeRequest, idem *store.Idempotency) (run assay.Run, replayed bool, err error) {
	if run, replayed, err = e.replay(ctx, p.ID, idem); err != nil || replayed {
		return run, replayed, err
	}
	n, err := e.planner.Resolve(ctx, p, q, e.now())
	if err != nil {
		return run, false, err
	}
	n.Spec.Schedule = q.Schedule
	run, replayed, err = e.accept(ctx, n, idem)
	holder := holderOf(err)
	if n.Kind != assay.RunSingle || holder == 0 {
		return run, replayed, err
	}
	run, err = e.store.Runs().Get(ctx, holder)
	if err != nil || run.State != assay.RunPaused {
		return run, false, err
	}
	if _, err := e.cancel(ctx, holder, store.AskCancel, "", ReplacedSentence); err != nil {
		return run, false, err
	}
	return e.accept(ctx, n, idem)
}

// Retry accepts a new run over the errored, cancelled and abandoned items of a terminal one. Without a
// budget in q it gets what the old run's budget left.
func (e *Engine) Retry(ctx context.Context, id assay.RunID, q RetryRequest, idem *store.Idempotency) (run assay.Run, replayed bool, err error) {
	if q.Budget != nil {
		if err := q.Budget.Validate(); err != nil {
			return run, false, err
		}
	}
	old, err := e.store.Runs().Get(ctx, id)
	if err != nil {
		return run, false, err
	}
	if run, replayed, err = e.replay(ctx, old.ProjectID, idem); err != nil || replayed {
		return run, replayed, err
	}
	if !old.State.Terminal() {
		return run, false, assay.Errorf(assay.CodeRefused, "run %s is %s: only a run that has ended can be retried", id, old.State).
			WithHint("wait for it (`assay watch %s`), or end it with `assay cancel %s`", id, id)
	}
	if err := refuseHarness(old, "retried"); err != nil {
		return run, false, err
	}
	n, err := e.planner.Retry(ctx, old, q.By, e.now())
	if err != nil {
		return run, false, err
	}
	if q.Budget != nil {
		n.Budget = q.Budget
	}
	n.Spec.Unpriced, n.Spec.Schedule = n.Spec.Unpriced || q.Unpriced, "" // a person retries
	return e.accept(ctx, n, idem)
}

// replay looks for the first answer before the request is read again: what it names may be gone or
// different by now, and a repeat is answered all the same.
func (e *Engine) replay(ctx context.Context, p assay.ProjectID, idem *store.Idempotency) (run assay.Run, found bool, err error) {
	if idem == nil {
		return run, false, nil
	}
	return e.store.Runs().Replay(ctx, p, *idem)
}

func (e *Engine) accept(ctx context.Context, n store.NewRun, idem *store.Idempotency) (assay.Run, bool, error) {
	n.Idempotency = idem
	run, replayed, err := e.store.Runs().Create(ctx, n)
	if err != nil {
		return run, replayed, explainConflict(err)
	}
	e.wake()
	return run, replayed, nil
}

// explainConflict says how to get the key free: a paused run holds it until somebody acts.
func explainConflict(err error) error {
	held, ok := errors.AsType[*assay.Error](err)
	if !ok || held.Code != assay.CodeConflict || held.Details["run"] == "" {
		return err
	}
	run, state := held.Details["run"], assay.RunState(held.Details["state"])
	if strings.HasPrefix(held.Details["key"], assay.KeySuite("")) {
		return held.WithHint("follow it with `assay logs %s -f`, or stop it with `assay cancel %s`", run, run)
	}
	if state == assay.RunPaused {
		return held.WithHint("go on with `assay resume %s`, keep what it has with `assay end %s`, or drop it with `assay cancel %s`", run, run, run)
	}
	return held.WithHint("follow it with `assay watch %s`, or stop it with `assay cancel %s`", run, run)
}

func holderOf(err error) assay.RunID {
	held, ok := errors.AsType[*assay.Error](err)
	if !ok || held.Code != assay.CodeConflict {
		return 0
	}
	id, _ := assay.ParseRunID(held.Details["run"])
	return id
}

// Cancel asks a run to stop: no new call starts later than 1 s after it returns; calls in flight
// finish and are kept, or are cut with now. A terminal run is returned unchanged.
func (e *Engine) Cancel(ctx context.Context, id assay.RunID, now bool) (assay.Run, error) {
	return e.CancelBy(ctx, id, "", now)
}

// CancelBy is Cancel with who asks, which the first one of a run keeps.
func (e *Engine) CancelBy(ctx context.Context, id assay.RunID, by string, now bool) (assay.Run, error) {
	ask := store.AskCancel
	if now {
		ask = store.AskCancelNow
	}
	return e.cancel(ctx, id, ask, by, "")
}

// cancel takes sentence for a run that nobody drives; an empty one is its kind's.
func (e *Engine) cancel(ctx context.Context, id assay.RunID, ask store.Ask, by, sentence string) (assay.Run, error) {
	run, err := e.store.Runs().Ask(ctx, id, ask, by, e.now())
	if err != nil {
		return run, err
	}
	if sentence == "" {
		sentence = cancelSentence(run)
	}
	if run.State == assay.RunQueued || run.State == assay.RunPaused {
		run, err = finishCancel(ctx, e.store, run, sentence, e.now)
	}
	e.wake()
	return run, err
}

// Pause asks a queued or running run to pause once nothing is in flight.
func (e *Engine) Pause(ctx context.Context, id assay.RunID) (assay.Run, error) {
	return e.ask(ctx, id, store.AskPause, "paused")
}

// Resume queues a paused run, or takes back a pause that has not happened yet.
func (e *Engine) Resume(ctx context.Context, id assay.RunID) (assay.Run, error) {
	run, err := e.store.Runs().Get(ctx, id)
	if err != nil {
		return run, err
	}
	if err := refuseHarness(run, "resumed"); err != nil {
		return run, err
	}
	change := store.Change{Reason: assay.ReasonResumed, Sentence: "resumed: waits for a driver", ClearPause: true, Now: e.now()}
	switch {
	case run.Cancelling():
		return run, refused(run, "resumed: it is being cancelled")
	case run.State == assay.RunPaused:
		change.ClearWaits = true // else a run that waits for hours would only pause again
		run, err = Move(ctx, e.store.Runs(), id, EventResume, change)
	case !run.State.Terminal() && run.PauseRequestedAt != nil:
		change.From, change.To = []assay.RunState{run.State}, run.State
		change.Reason, change.Sentence = run.Reason, run.Sentence
		run, err = e.store.Runs().Change(ctx, id, change)
	case run.State == assay.RunQueued:
		// Already waiting for a driver: the wake-up below is all that it needs.
	default:
		return run, refused(run, "resumed")
	}
	e.wake()
	return run, err
}

// End asks a run to complete with what it has: calls in flight finish, the rest is abandoned.
func (e *Engine) End(ctx context.Context, id assay.RunID) (assay.Run, error) {
	run, err := e.ask(ctx, id, store.AskEnd, "ended early")
	if err == nil && run.State == assay.RunPaused {
		run, err = FinishEnd(ctx, e.store, run, e.now)
	}
	return run, err
}

// SetConcurrency changes the limit of a run that is not terminal, while it runs too.
func (e *Engine) SetConcurrency(ctx context.Context, id assay.RunID, n int) (assay.Run, error) {
	if err := assay.ValidConcurrency(n); err != nil {
		return assay.Run{}, err
	}
	run, err := e.grades(ctx, id, "given another concurrency")
	if err != nil {
		return run, err
	}
	run, err = e.store.Runs().SetConcurrency(ctx, id, n)
	e.wake()
	return run, err
}

// SetBudget changes the budget of a run that is not terminal, while it runs too; nil removes it. A run
// that paused because its budget was reached stays paused until it is resumed.
func (e *Engine) SetBudget(ctx context.Context, id assay.RunID, budget *assay.USD) (assay.Run, error) {
	if budget != nil {
		if err := budget.Validate(); err != nil {
			return assay.Run{}, err
		}
	}
	run, err := e.grades(ctx, id, "given a budget")
	if err != nil {
		return run, err
	}
	run, err = e.store.Runs().SetBudget(ctx, id, budget)
	e.wake()
	return run, err
}

// grades finds a run that grades; a harness cannot be what.
func (e *Engine) grades(ctx context.Context, id assay.RunID, what string) (assay.Run, error) {
	run, err := e.store.Runs().Get(ctx, id)
	if err == nil {
		err = refuseHarness(run, what)
	}
	return run, err
}

func (e *Engine) ask(ctx context.Context, id assay.RunID, ask store.Ask, what string) (assay.Run, error) {
	run, err := e.grades(ctx, id, what)
	if err != nil {
		return run, err
	}
	run, err = e.store.Runs().Ask(ctx, id, ask, "", e.now())
	if err != nil {
		return run, err
	}
	if run.State.Terminal() {
		return run, refused(run, what)
	}
	e.wake()
	return run, nil
}

func refused(run assay.Run, what string) error {
	err := assay.Errorf(assay.CodeRefused, "run %s is %s and cannot be %s", run.ID, run.State, what).
		With("run", run.ID.String()).With("state", string(run.State))
	if run.State.Terminal() {
		return err.WithHint("it has ended; `assay retry %s` grades what has no verdict in a new run", run.ID)
	}
	return err.WithHint("%s", fmt.Sprintf("`assay runs show %s` tells more", run.ID))
}
