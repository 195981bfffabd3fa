package engine

import (
	"context"
	"errors"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// Move changes a run's state along the machine. The store refuses (CodeRefused) when the run is not
// in a state that the event starts from.
func Move(ctx context.Context, runs store.Runs, id assay.RunID, e Event, c store.Change) (assay.Run, error) {
	c.From, c.To = From(e)
	return runs.Change(ctx, id, c)
}

// restBatch bounds one call that ends items; each passes over those that ended before.
const restBatch = 10_000

// EndRest ends every pending item of a run as to, in batches.
func EndRest(ctx context.Context, s store.Store, f store.Fence, to assay.ItemState, now func() time.Time) error {
	for {
		n, err := s.Items().EndRest(ctx, f, to, restBatch, now())
		if err != nil || n == 0 {
			return err
		}
	}
}

// FinishCancel carries out a cancel on a run that nobody drives: its items end, then the run.
// A run that changed hands meanwhile is left to whoever has it now.
func FinishCancel(ctx context.Context, s store.Store, run assay.Run, now func() time.Time) (assay.Run, error) {
	return finishCancel(ctx, s, run, cancelSentence(run), now)
}

func finishCancel(ctx context.Context, s store.Store, run assay.Run, sentence string, now func() time.Time) (assay.Run, error) {
	return finish(ctx, s, run, assay.ItemCancelled, EventCancel, store.Change{Reason: assay.ReasonAsked, Sentence: sentence}, now)
}

// FinishEnd carries out an end on a paused run.
func FinishEnd(ctx context.Context, s store.Store, run assay.Run, now func() time.Time) (assay.Run, error) {
	return finish(ctx, s, run, assay.ItemAbandoned, EventEnd, store.Change{
		Reason: assay.ReasonEnded, Sentence: EndSentence, Partial: true,
	}, now)
}

// FinishFail ends a run that its driver cannot carry on. A cancel that was asked for beats it.
func FinishFail(ctx context.Context, s store.Store, run assay.Run, why assay.Reason, sentence string, now func() time.Time) (assay.Run, error) {
	moved := run
	if !run.Cancelling() {
		var err error
		moved, err = finish(ctx, s, run, assay.ItemAbandoned, EventFail, store.Change{Reason: why, Sentence: sentence}, now)
		if err != nil || moved.Epoch != run.Epoch || !moved.Cancelling() {
			return moved, err
		}
	}
	return FinishCancel(ctx, s, moved, now)
}

func cancelSentence(run assay.Run) string {
	switch {
	case harnessed(run) && run.Reason == assay.ReasonLostRetried:
		return "cancelled before it was started again"
	case harnessed(run):
		return "cancelled before it was started"
	}
	return CancelSentence
}

const (
	CancelSentence   = "cancelled: the items that had no verdict yet are cancelled; `assay retry` grades them in a new run"
	ReplacedSentence = "cancelled: somebody asked the same again while it was paused, and a newer run took its place"
	EndSentence      = "ended early: the items that had no verdict yet are abandoned and the result is partial"
)

func finish(ctx context.Context, s store.Store, run assay.Run, to assay.ItemState, e Event, c store.Change, now func() time.Time) (assay.Run, error) {
	f := store.Fence{Run: run.ID, Epoch: run.Epoch, States: []assay.RunState{run.State}}
	err := EndRest(ctx, s, f, to, now)
	if err == nil {
		c.Epoch, c.Now = &run.Epoch, now()
		var moved assay.Run
		if moved, err = Move(ctx, s.Runs(), run.ID, e, c); err == nil {
			return moved, nil
		}
	}
	if errors.Is(err, assay.ErrLost) || assay.CodeOf(err) == assay.CodeRefused {
		return s.Runs().Get(ctx, run.ID)
	}
	return run, err
}
