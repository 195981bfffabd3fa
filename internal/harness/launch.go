package harness

import (
	"context"
	"errors"
	"fmt"

	"assay/internal/assay"
	"assay/internal/durable"
	"assay/internal/engine"
	"assay/internal/harness/define"
	"assay/internal/harness/shim"
	"assay/internal/logs"
	"assay/internal/store"
)

// launch starts the harness, or ends the run because it cannot be started.
func (j *job) launch(ctx context.Context) (done bool, err error) {
	if j.control.Cancel {
		return true, j.cancelled(ctx, "before it was started"+map[bool]string{true: " again"}[j.facts.Launch > 1])
	}
	if err := j.enter(ctx, assay.PhaseStarting, "its harness is being started"); err != nil {
		return false, err
	}
	order, err := j.order(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		return true, j.launchFailed(ctx, err)
	}
	// Before it is stored where the run is launched: see elsewhere.
	if err := (durable.Disk{}).MakeFolder(j.dir()); err != nil {
		return true, j.launchFailed(ctx, fmt.Errorf("make the launch's folder: %w", err))
	}
	// Under the fence: who lost the run meanwhile stops here.
	j.facts.Where = j.d.o.Where
	if err := j.put(ctx); err != nil {
		return false, err
	}
	if j.control.Cancel {
		return false, nil
	}
	err = j.begin(order)
	switch {
	case errors.Is(err, shim.ErrHeld):
		return false, nil // somebody was first: drive looks again
	case err != nil: // no harness was started
		return true, j.launchFailed(ctx, err)
	}
	now := j.d.o.Now()
	j.facts.LaunchedAt, j.facts.ActiveAt = &now, &now
	return false, j.tolerate(ctx, j.put(ctx))
}

// begin has the shim started.
func (j *job) begin(order shim.Order) error {
	if err := noteResults(j.dir(), *j.def()); err != nil {
		return err
	}
	return shim.Launch(j.d.o.Self, j.dir(), order)
}

// order says what the shim is to run. Its error is why the harness cannot be launched here.
func (j *job) order(ctx context.Context) (o shim.Order, err error) {
	def := j.def()
	if err := capable(*def, j.d.o.Capabilities); err != nil {
		return o, err
	}
	env, shown, secrets, err := define.Environ(ctx, *def, j.run.Suite.Params, j.d.o.LookupEnv)
	if err != nil {
		return o, err
	}
	j.facts.Env = shown
	if j.mask, err = logs.NewMasker(secrets); err != nil {
		return o, err
	}
	if err := define.Check(*def, j.d.o.LookupEnv); err != nil {
		return o, err
	}
	return shim.Order{
		Run: j.run.ID.String(), Launch: j.facts.Launch, LogDir: LogDir(j.d.o.Dir, j.run.ID),
		Argv: j.run.Suite.Argv, Cwd: def.Dir, Env: env, Secrets: secrets,
		TimeLimit: def.TimeLimit.Duration(), Grace: def.Grace.Duration(), OrphanGrace: def.OrphanGrace.Duration(),
		LogBytes: def.LogBytes, Experiment: def.Experiment,
	}, nil
}

// launchFailed ends a run whose harness could not be launched, with why.
func (j *job) launchFailed(ctx context.Context, why error) error {
	j.facts.Exit = &assay.Exit{Cause: assay.ExitLaunchFailed, Code: -1, Error: why.Error(), At: j.d.o.Now()}
	if err := j.put(ctx); err != nil {
		return err
	}
	return j.move(ctx, engine.EventFail, store.Change{
		Reason: assay.ReasonLaunchFailed, Phase: assay.PhaseFinishing, Sentence: fmt.Sprintf("could not be launched on %s: %s", j.d.o.Where, why),
	})
}
