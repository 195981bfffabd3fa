package harness

import (
	"context"
	"fmt"
	"time"

	"assay/internal/assay"
	"assay/internal/harness/report"
	"assay/internal/harness/shim"
	"assay/internal/store"
)

// follow listens to a living shim until it is gone or this process stops. One that is silent for long is ended.
func (j *job) follow(ctx context.Context) error {
	if j.spoke.IsZero() {
		j.spoke = time.Now()
	}
	if silent := time.Since(j.spoke); silent > j.d.limits.stuck || j.control.Cancel && silent > 2*j.d.limits.silence+j.def().Grace.Duration() {
		j.spoke = time.Time{}
		return j.kill(fmt.Sprintf("it was silent for %s", silent.Round(time.Second)))
	}
	conn, err := shim.Dial(ctx, j.dir())
	if err != nil {
		return j.rest(ctx) // it ended between look and call, or it is too busy to answer
	}
	j.pause = 0
	statuses, done := make(chan shim.Status), make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		receive(conn, j.d.limits.silence, statuses, done)
	}()
	defer func() {
		conn.Close()
		close(done)
		<-gone
	}()
	tick := time.NewTicker(controlEvery)
	defer tick.Stop()
	for asked := (assay.RunControl{}); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case s, ok := <-statuses:
			if !ok {
				return j.rest(ctx)
			}
			j.spoke = time.Now()
			if err := j.observe(ctx, s); err != nil {
				return err
			}
		case <-tick.C:
		}
		if err := j.keep(ctx); err != nil {
			return err
		}
		if j.control.Cancel && (!asked.Cancel || j.control.Now && !asked.Now) {
			asked = j.control
			if err := j.stop(ctx, conn); err != nil {
				return err
			}
		}
	}
}

// rest keeps a look at the folder from being a busy loop. It is longer each time, until a shim answers.
func (j *job) rest(ctx context.Context) error {
	j.pause = min(max(startingEvery, 2*j.pause), controlEvery)
	t := time.NewTimer(j.pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return j.keep(ctx)
	}
}

// receive passes on what a shim says; it closes statuses when the shim is gone or silent.
func receive(conn *shim.Conn, silence time.Duration, statuses chan<- shim.Status, done <-chan struct{}) {
	defer close(statuses)
	for {
		s, err := conn.Next(time.Now().Add(silence))
		if err != nil {
			return
		}
		select {
		case statuses <- s:
		case <-done:
			return
		}
	}
}

// stop tells the harness to end. A shim that cannot be told is looked at again.
func (j *job) stop(ctx context.Context, conn *shim.Conn) error {
	ask := conn.Stop
	if j.control.Now {
		ask = conn.Kill
	}
	if err := ask(assay.ExitCancel); err != nil {
		return nil
	}
	return j.tolerate(ctx, j.enter(ctx, assay.PhaseStopping, cancelling))
}

const cancelling = "a cancel was asked for: the harness was told to end"

// observe takes a status into the facts.
func (j *job) observe(ctx context.Context, s shim.Status) error {
	phase, sentence := assay.PhaseExecuting, ""
	switch {
	case s.Stopping == assay.ExitTimeLimit:
		phase, sentence = assay.PhaseStopping, "the time limit is reached: the harness was told to end"
	case s.Stopping == assay.ExitOrphaned:
		phase, sentence = assay.PhaseStopping, "its shim was told to end, or no server came back in time: the harness was told to end"
	case s.Stopping != "":
		phase, sentence = assay.PhaseStopping, cancelling
	}
	if j.run.Phase == assay.PhaseStopping && phase == assay.PhaseExecuting {
		phase, sentence = j.run.Phase, j.run.Sentence // it has not heard yet
	}
	if err := j.tolerate(ctx, j.enter(ctx, phase, sentence)); err != nil {
		return err
	}
	if j.facts.PID != s.Harness.PID {
		j.facts.PID, j.urgent = s.Harness.PID, true
	}
	if j.facts.LaunchedAt == nil { // who launched it died before it could say so
		j.facts.LaunchedAt = &s.Began
	}
	if j.facts.ActiveAt == nil || s.ActiveAt.After(*j.facts.ActiveAt) {
		j.facts.ActiveAt, j.advanced = &s.ActiveAt, true
	}
	j.facts.LogBytes, j.facts.LogLines, j.facts.LogDropped = s.Log.Bytes, s.Log.Lines, s.Log.Dropped
	if s.Events > j.seen {
		return j.tolerate(ctx, j.events(ctx))
	}
	return nil
}

// events takes what was reported since the last look into the facts.
func (j *job) events(ctx context.Context) error {
	var points []store.Point
	before := j.seen
	err := shim.Events(j.dir(), j.seen, func(e report.Event) error {
		j.seen = e.N
		j.advanced, j.urgent = true, true
		switch {
		case e.Progress != nil:
			if !e.Progress.Guessed || j.facts.Progress == nil || j.facts.Progress.Guessed { // what is reported beats what is guessed
				j.facts.Progress = e.Progress
			}
		case e.Metric != nil:
			j.facts.Metrics = assay.NewestMetric(j.facts.Metrics, *e.Metric)
			points = append(points, store.Point{N: int64(j.facts.Launch-1)<<32 + e.N, Metric: *e.Metric})
		case e.Link != nil:
			j.facts.Links = assay.AddLink(j.facts.Links, *e.Link)
		case e.Experiment != "":
			j.facts.Experiment = e.Experiment
		}
		return nil
	})
	if err != nil {
		j.d.o.Log.Warn("read what a harness reported", "run", j.run.ID.String(), "error", err)
	}
	for len(points) > 0 {
		n := min(len(points), pointsBatch)
		if err := j.d.o.Store.Harnesses().AddPoints(ctx, j.run.ID, points[:n]); err != nil {
			j.seen = before // they are read and stored again
			return err
		}
		points = points[n:]
	}
	return nil
}

// pointsBatch bounds one transaction.
const pointsBatch = 1000
