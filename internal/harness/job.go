package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/harness/shim"
	"assay/internal/logs"
	"assay/internal/store"
)

// How often things are looked at.
const (
	startingEvery = 5 * time.Millisecond   // a shim that has not said yet how its launch went
	controlEvery  = 250 * time.Millisecond // what people ask
	factsEvery    = time.Second            // stored without any change: the heartbeat
)

// limits are how long is waited for shims.
type limits struct {
	start   time.Duration // to say how its launch went
	silence time.Duration // it speaks once a second: then it is called again
	stuck   time.Duration // of silence: it does not do its work, and is ended
	ends    time.Duration // to end what does not want to end
	notice  time.Duration // until a shim notices that its server, which is stopped, listens no more
}

func defaultLimits() limits {
	return limits{start: 30 * time.Second, silence: 10 * time.Second, stuck: 2 * time.Minute, ends: 10 * time.Second, notice: 20 * time.Second}
}

// job is one run while this process drives it.
type job struct {
	d       *Driver
	run     assay.Run
	fence   store.Fence
	facts   assay.Harness
	control assay.RunControl
	mask    *logs.Masker // of the launch's secrets, once they were read

	spoke    time.Time     // when the shim said something last, or when it was expected to speak
	pause    time.Duration // before the next look at a shim that does not answer
	seen     int64         // number of the newest event that the facts hold
	stored   time.Time
	advanced bool // output or a report came since then
	urgent   bool // something changed that people wait for
}

func (j *job) dir() string { return launchDir(j.d.o.Dir, j.run.ID, j.facts.Launch) }

func (j *job) def() *assay.SuiteDefinition { return j.run.Suite.Def }

// drive goes from what the launch's folder says to what comes next, until the run has left running.
func (j *job) drive(ctx context.Context) (err error) {
	if j.facts, err = j.d.o.Store.Harnesses().Facts(ctx, j.run.ID); err != nil {
		return err
	}
	j.facts.Launch = max(1, j.facts.Launch)
	if j.control, err = j.d.o.Store.Runs().Control(ctx, j.fence); err != nil {
		return err
	}
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		standing, err := shim.Look(j.dir())
		if err != nil && j.facts.Where == "" { // nobody has launched it: launching tells what is wrong there
			standing, err = shim.Unlaunched, nil
		}
		if err != nil {
			done, err = j.unreachable(ctx, err.Error())
		} else {
			done, err = j.step(ctx, standing)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step does what a standing asks for.
func (j *job) step(ctx context.Context, standing shim.Standing) (done bool, err error) {
	if standing == shim.Alive || standing == shim.Finished {
		if why := shim.Understood(j.dir()); why != nil {
			return j.foreign(ctx, standing, why)
		}
	}
	switch standing {
	case shim.Unlaunched:
		if j.elsewhere() {
			return j.unreachable(ctx, fmt.Sprintf("it was launched on %s and its folder %s is not there", j.facts.Where, j.dir()))
		}
		return j.launch(ctx)
	case shim.Starting:
		return false, j.starting(ctx)
	case shim.Alive:
		return false, j.follow(ctx)
	case shim.Finished:
		return true, j.finish(ctx)
	}
	return true, j.dead(ctx)
}

// elsewhere says that this launch may have been made although this data folder knows nothing of it: by
// another machine, or by a process of this one that has another data folder. A launch begins with its
// folder, so that it is not there then.
func (j *job) elsewhere() bool {
	if j.facts.Where == "" {
		return false
	}
	_, err := os.Stat(j.dir())
	return j.facts.Where != j.d.o.Where || j.facts.LaunchedAt != nil || err != nil
}

// unreachable waits until a harness whose folder cannot be read is surely gone: its shim ends it when no
// server comes for the orphan grace. done is false when the folder can be read again.
func (j *job) unreachable(ctx context.Context, why string) (done bool, err error) {
	j.d.o.Log.Warn("reach harness", "run", j.run.ID.String(), "why", why)
	alone := j.def().OrphanGrace.Duration() + j.def().Grace.Duration() + j.d.limits.ends + j.d.limits.notice
	limit := time.NewTimer(alone)
	defer limit.Stop()
	sentence := fmt.Sprintf("%s: if it lives, it is ended at the latest %s after its server was", why, alone)
	if err := j.enter(ctx, assay.PhaseExecuting, sentence); err != nil {
		return false, err
	}
	tick := time.NewTicker(controlEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-limit.C:
			return true, j.lost(ctx, assay.ReasonOrphaned, why)
		case <-tick.C:
			if s, err := shim.Look(j.dir()); err == nil && s != shim.Unlaunched {
				return false, nil
			}
			if err := j.keep(ctx); err != nil {
				return false, err
			}
		}
	}
}

// starting waits until the shim has said how its launch went. One that does not is ended.
func (j *job) starting(ctx context.Context) error {
	if err := j.enter(ctx, assay.PhaseStarting, "its harness is being started"); err != nil {
		return err
	}
	look := time.NewTicker(startingEvery)
	defer look.Stop()
	ask := time.NewTicker(controlEvery)
	defer ask.Stop()
	limit := time.NewTimer(j.d.limits.start)
	defer limit.Stop()
	for {
		if s, err := shim.Look(j.dir()); err != nil || s != shim.Starting {
			return nil // drive looks again
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return j.kill(fmt.Sprintf("it did not start its harness within %s", j.d.limits.start))
		case <-look.C:
		case <-ask.C:
			if err := j.keep(ctx); err != nil {
				return err
			}
		}
	}
}

// kill ends a shim that does not do its work, with its harness: drive then finds it dead.
func (j *job) kill(why string) error {
	j.d.o.Log.Warn("kill shim", "run", j.run.ID.String(), "why", why)
	left, err := shim.Kill(j.dir(), j.d.limits.ends)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("kill the shim: the kernel does not let go of processes %v", left)
	}
	return err
}

// enter stores a phase of the running run.
func (j *job) enter(ctx context.Context, p assay.RunPhase, sentence string) error {
	if j.run.Phase == p && j.run.Sentence == sentence {
		return nil
	}
	run, err := j.d.o.Store.Runs().Change(ctx, j.run.ID, store.Change{
		From: []assay.RunState{assay.RunRunning}, To: assay.RunRunning, Epoch: &j.fence.Epoch, Phase: p, Sentence: sentence, Now: j.d.o.Now(),
	})
	if err == nil {
		j.run = run
	}
	return j.held(err)
}

// move changes the run's state under this driver's epoch. A cancel that was asked for meanwhile beats what
// else would become of it.
func (j *job) move(ctx context.Context, e engine.Event, c store.Change) error {
	c.Epoch, c.Now = &j.fence.Epoch, j.d.o.Now()
	_, err := engine.Move(ctx, j.d.o.Store.Runs(), j.run.ID, e, c)
	if assay.CodeOf(err) != assay.CodeRefused || e == engine.EventCancel {
		return j.held(err)
	}
	run, reading := j.d.o.Store.Runs().Get(ctx, j.run.ID)
	if reading != nil {
		return reading
	}
	if !run.Cancelling() || run.Epoch != j.fence.Epoch {
		return j.held(err)
	}
	return j.cancelled(ctx, c.Sentence)
}

// held makes an error of a run that is not this driver's any more ErrLost.
func (j *job) held(err error) error {
	if assay.CodeOf(err) == assay.CodeRefused && err != nil {
		return fmt.Errorf("%w: %w", assay.ErrLost, err)
	}
	return err
}

// put stores the facts with the heartbeat and hears what people ask.
func (j *job) put(ctx context.Context) error {
	now := j.d.o.Now()
	control, err := j.d.o.Store.Harnesses().Put(ctx, j.fence, j.facts, j.advanced, now)
	if err != nil {
		return err
	}
	j.control, j.stored, j.advanced, j.urgent = control, now, false, false
	return nil
}

// keep stores the facts when it is time to, else it only hears what people ask. A store that is away is
// borne: the harness goes on, and with a driver connected it is no orphan.
func (j *job) keep(ctx context.Context) error {
	j.idle()
	if j.urgent || j.d.o.Now().Sub(j.stored) >= factsEvery {
		return j.tolerate(ctx, j.put(ctx))
	}
	control, err := j.d.o.Store.Runs().Control(ctx, j.fence)
	if err == nil {
		j.control = control
	}
	return j.tolerate(ctx, err)
}

// beat stores the facts when it is time to.
func (j *job) beat(ctx context.Context) error {
	if j.d.o.Now().Sub(j.stored) < factsEvery {
		return nil
	}
	return j.put(ctx)
}

// tolerate drops an error of a store that is away.
func (j *job) tolerate(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, assay.ErrLost) || ctx.Err() != nil {
		return err
	}
	j.d.o.Log.Warn("store what a harness does", "run", j.run.ID.String(), "error", err)
	return nil
}

// idle says whether the harness has been silent for longer than its alarm.
func (j *job) idle() {
	alarm := j.def().IdleAlarm.Duration()
	idle := alarm > 0 && j.facts.ActiveAt != nil && j.d.o.Now().Sub(*j.facts.ActiveAt) > alarm
	if idle != j.facts.Idle {
		j.facts.Idle, j.urgent = idle, true
	}
}
