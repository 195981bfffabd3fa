package grading

import (
	"encoding/json"
	"log/slog"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/store"
)

// Options are what planning and driving need from outside.
type Options struct {
	Store store.Store
	// Build makes a judge of a version, with the settings that a run was planned with.
	Build func(v assay.JudgeVersion, settings json.RawMessage) (judge.Judge, error)
	// Builtin knows the judges that need no apply; CodeNotFound when there is none of that name.
	Builtin func(name string) (assay.Judge, assay.JudgeVersion, error)
	Gate    *engine.Gate
	Now     func() time.Time
	Log     *slog.Logger
}

// Grader plans and drives grade and single runs. It implements engine.Planner and engine.Driver.
type Grader struct {
	o       Options
	reading chan struct{} // held while a body is read and unpacked
}

var (
	_ engine.Planner = (*Grader)(nil)
	_ engine.Driver  = (*Grader)(nil)
)

// readers bounds how many bodies are read at once: unpacking is work for the processor, and hundreds
// of calls that begin together would each want a connection of its own to the database.
const readers = 4

// New makes a Grader.
func New(o Options) *Grader {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Gate == nil {
		o.Gate = engine.NewGate()
	}
	return &Grader{o: o, reading: make(chan struct{}, readers)}
}
