package grading

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
)

// run is one run while it is driven at one epoch.
type run struct {
	assay.Run
	g      *Grader
	fence  store.Fence
	judges []judge.Judge
	kinds  []assay.JudgeKind // by judge
	units  []assay.UnitKind  // likewise
}

// Drive carries a grade or single run on. See engine.Driver.
func (g *Grader) Drive(ctx context.Context, taken assay.Run) error {
	r := &run{Run: taken, g: g, fence: store.Fence{Run: taken.ID, Epoch: taken.Epoch}}
	defer r.closeJudges()
	err := r.drive(ctx)
	if errors.Is(err, assay.ErrLost) {
		return assay.ErrLost
	}
	return err
}

func (r *run) drive(ctx context.Context) error {
	done, err := r.prepare(ctx)
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(err, assay.ErrLost):
		return r.leaveQueued() // a stop is no death: it must not count towards crash_loop
	case done || err != nil:
		return err
	}
	l, err := newLoop(ctx, r)
	if err != nil {
		return err
	}
	return l.carry()
}

// prepare does what comes before the first call. done says that the run has left running.
func (r *run) prepare(ctx context.Context) (done bool, err error) {
	if done, err := r.begin(ctx); done || err != nil {
		return done, err
	}
	if r.Phase != assay.PhaseGrading && r.Phase != assay.PhaseFinishing {
		if done, err := r.planOrLeave(ctx); done || err != nil {
			return done, err
		}
	}
	if err := r.buildJudges(ctx); err != nil {
		return true, r.fail(ctx, assay.ReasonJudgeUnusable, err)
	}
	return false, nil
}

// begin ends what must not run again: items that killed their process when they ran alone, and a
// run that only ever crashes.
func (r *run) begin(ctx context.Context) (done bool, err error) {
	if ctx.Err() != nil {
		return true, r.leaveQueued()
	}
	quarantined, near, err := r.quarantine(ctx)
	if err != nil {
		return false, err
	}
	most := assay.MaxStalls
	if near {
		most = assay.MaxStallsNear
	}
	if quarantined == 0 && r.Stalls >= most {
		return true, r.fail(ctx, assay.ReasonCrashLoop,
			fmt.Errorf("its process died %d times without one item ending in between", r.Stalls))
	}
	return false, nil
}

const quarantineSentence = "quarantined: the process died each time that this item ran, also alone"

// quarantine ends the items that killed their process too often. near says that the next death may show
// another one (assay.MaxStallsNear).
func (r *run) quarantine(ctx context.Context) (n int, near bool, err error) {
	var end []store.EndItem
	for after := int64(0); r.Stalls > 0; {
		items, err := r.g.o.Store.Items().Pending(ctx, r.ID, after, page)
		if err != nil || len(items) == 0 {
			if err != nil {
				return 0, false, err
			}
			break
		}
		for _, it := range items {
			near = near || it.Alone == assay.MaxAloneCrashes-1
			if it.Alone >= assay.MaxAloneCrashes {
				end = append(end, store.EndItem{Seq: it.Seq, State: assay.ItemErrored, Class: assay.ClassJudgeError, Error: quarantineSentence})
			}
		}
		after = items[len(items)-1].Seq
	}
	if len(end) == 0 {
		return 0, near, nil
	}
	_, err = r.g.o.Store.Items().Commit(ctx, r.fence, store.Batch{End: end, Now: r.g.o.Now()})
	return len(end), near, err
}

// planOrLeave plans, and turns what stopped the planning into the run's next state.
func (r *run) planOrLeave(ctx context.Context) (done bool, err error) {
	err = r.plan(ctx)
	switch {
	case err == nil:
		return false, nil
	case errors.Is(err, errAsked):
		control, err := r.g.o.Store.Runs().Control(ctx, r.fence)
		if err != nil {
			return true, err
		}
		if done, err := r.carryOut(ctx, control); done || err != nil {
			return done, err
		}
		return r.planOrLeave(ctx) // the ask was taken back
	case ctx.Err() != nil:
		return true, r.leaveQueued()
	case errors.Is(err, assay.ErrLost), assay.CodeOf(err) == assay.CodeUnavailable:
		return true, err
	case assay.CodeOf(err) == assay.CodeRefused:
		return true, r.fail(ctx, assay.ReasonPlanIncomplete, err)
	default:
		return true, r.fail(ctx, assay.ReasonPlanFailed, err)
	}
}

func (r *run) buildJudges(ctx context.Context) error {
	for _, j := range r.Spec.Judges {
		v, err := r.g.o.Store.Judges().Version(ctx, r.ProjectID, j.Version)
		if err != nil {
			return fmt.Errorf("judge %s: %w", j.Name, err)
		}
		built, err := r.g.o.Build(v, j.Settings)
		if err != nil {
			return fmt.Errorf("judge %s: %w", j.Name, err)
		}
		r.judges = append(r.judges, judge.Safe(built))
		r.kinds, r.units = append(r.kinds, v.Kind), append(r.units, v.Unit)
	}
	return nil
}

func (r *run) closeJudges() {
	for _, j := range r.judges {
		if err := j.Close(); err != nil {
			r.g.o.Log.Warn("close judge", "run", r.ID.String(), "error", err)
		}
	}
}

func (r *run) phase(ctx context.Context, p assay.RunPhase, sentence string) (assay.Run, error) {
	return r.g.o.Store.Runs().Change(ctx, r.ID, store.Change{
		From: []assay.RunState{assay.RunRunning}, To: assay.RunRunning, Epoch: &r.Epoch, Phase: p, Sentence: sentence, Now: r.g.o.Now(),
	})
}

// move ends the driving by a row of the machine. A run that changed hands is lost.
func (r *run) move(ctx context.Context, e engine.Event, c store.Change) error {
	c.Epoch, c.Now = &r.Epoch, r.g.o.Now()
	_, err := engine.Move(ctx, r.g.o.Store.Runs(), r.ID, e, c)
	return err
}

// fail ends the run as failed, or as cancelled when a cancel was asked for first.
func (r *run) fail(ctx context.Context, why assay.Reason, cause error) error {
	if errors.Is(cause, assay.ErrLost) || assay.CodeOf(cause) == assay.CodeUnavailable {
		return cause
	}
	err := r.endRest(ctx, assay.ItemAbandoned)
	if err == nil {
		err = r.move(ctx, engine.EventFail, store.Change{Reason: why, Sentence: cause.Error()})
	}
	return r.cancelIfRefused(ctx, err)
}

// carryOut does what was asked of a run of which nothing is in flight. done is false when nothing was
// asked, or what was asked for was taken back.
func (r *run) carryOut(ctx context.Context, asked assay.RunControl) (done bool, err error) {
	switch {
	case asked.Cancel:
		return true, r.cancel(ctx)
	case asked.End:
		if err = r.endRest(ctx, assay.ItemAbandoned); err == nil {
			err = r.move(ctx, engine.EventEnd, store.Change{Reason: assay.ReasonEnded, Sentence: engine.EndSentence, Partial: true})
		}
		return true, r.cancelIfRefused(ctx, err)
	case asked.Pause:
		err = r.move(ctx, engine.EventPause, store.Change{Reason: assay.ReasonAsked, Sentence: "somebody asked for it; `assay resume` goes on", IfAsked: true})
		if assay.CodeOf(err) != assay.CodeRefused {
			return true, err
		}
		if asked, err = r.g.o.Store.Runs().Control(ctx, r.fence); err != nil || !asked.Cancel {
			return false, err
		}
		return true, r.cancel(ctx)
	}
	return false, nil
}

func (r *run) cancel(ctx context.Context) error {
	if err := r.endRest(ctx, assay.ItemCancelled); err != nil {
		return err
	}
	return r.move(ctx, engine.EventCancel, store.Change{Reason: assay.ReasonAsked, Sentence: engine.CancelSentence})
}

func (r *run) endRest(ctx context.Context, to assay.ItemState) error {
	return engine.EndRest(ctx, r.g.o.Store, r.fence, to, r.g.o.Now)
}

// leaveQueued is what a graceful stop does: the next owner goes on at once and without a grace.
func (r *run) leaveQueued() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := r.move(ctx, engine.EventStop, store.Change{Reason: assay.ReasonStopped, Sentence: "its process stopped: waits for a driver"})
	if assay.CodeOf(err) == assay.CodeRefused {
		return assay.ErrLost
	}
	return err
}
