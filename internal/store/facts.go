package store

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"assay/internal/assay"
)

// AcceptedSuite is a spec as Runs.Create stores it. Where there is no definition the version is a hash of
// the name, so that the cases of two runs of one name have one judge version.
func AcceptedSuite(s assay.SuiteSpec) assay.SuiteSpec {
	if s.Version == "" {
		sum := sha256.Sum256([]byte("external suite\x00" + s.Name))
		s.Version = assay.Hash(hex.EncodeToString(sum[:]))
	}
	return s
}

// RunJudges are the judges of n: those of its spec, or the suite.
func (n NewRun) RunJudges() []assay.RunJudge {
	if n.Suite == nil {
		return n.Spec.Judges
	}
	return []assay.RunJudge{{Name: n.Suite.Name, Version: n.Suite.Version}}
}

// Schedule is the one that n is started by, or for; "" is none.
func (n NewRun) Schedule() string {
	if n.Suite != nil {
		return n.Suite.Schedule
	}
	return n.Spec.Schedule
}

// Begins is how a new run stands. One that reports runs already.
func (n NewRun) Begins() assay.Run {
	run := assay.Run{State: assay.RunQueued, Reason: assay.ReasonAccepted}
	if n.Reporting {
		run = assay.Run{State: assay.RunRunning, Phase: assay.PhaseExecuting, Epoch: 1, StartedAt: &n.Now, HeartbeatAt: &n.Now}
	}
	return run
}

// FirstPhase is the phase of a run that is taken up for the first time.
func FirstPhase(kind assay.RunKind) assay.RunPhase {
	if kind == assay.RunSuite {
		return assay.PhaseStarting
	}
	return assay.PhasePlanning
}

// RefuseTakeUp says why nobody can take run up; nil where its state allows it.
func RefuseTakeUp(run assay.Run) error {
	switch {
	case run.State != assay.RunQueued && run.State != assay.RunRunning:
		return Refuse(run, "nobody can take it up")
	case run.Kind == assay.RunExternal:
		return Refuse(run, "it reports from elsewhere, and nobody can take it up")
	}
	return nil
}

// RefuseReport says why run takes no reports; nil where it does.
func RefuseReport(run assay.Run) error {
	if run.Kind != assay.RunExternal {
		return Refuse(run, "only external runs report, and it is of kind "+string(run.Kind))
	}
	return nil
}

// EncodeFacts is what is stored of facts; their times become UTC and whole microseconds.
func EncodeFacts(run assay.RunID, f assay.Harness) (string, error) {
	f.LaunchedAt, f.ActiveAt, f.LateAt = storedPtr(f.LaunchedAt), storedPtr(f.ActiveAt), storedPtr(f.LateAt)
	if f.Progress != nil {
		p := *f.Progress
		p.At = stored(p.At)
		f.Progress = &p
	}
	f.Metrics = slices.Clone(f.Metrics)
	for i := range f.Metrics {
		f.Metrics[i].At = stored(f.Metrics[i].At)
	}
	if f.Exit != nil {
		e := *f.Exit
		e.At = stored(e.At)
		f.Exit = &e
	}
	return Encode(f, "the facts of run "+run.String())
}

// EncodeTick is what is stored of a tick, with its times as in EncodeFacts.
func EncodeTick(t assay.Tick) (string, error) {
	t.At, t.DoneAt = stored(t.At), stored(t.DoneAt)
	return Encode(t, "the tick of a schedule")
}

// StartedBeside says that a tick which is not owed any more started a run of which its schedule's row, with
// its last tick, says nothing yet.
func StartedBeside(last *assay.Tick, t assay.Tick) bool {
	return t.Outcome == assay.TickStarted && (last == nil || last.At.Before(stored(t.At)) && last.Run != t.Run)
}

// stored is a time as a column would hold it.
func stored(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

func storedPtr(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	s := stored(*t)
	return &s
}
